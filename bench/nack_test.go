package bench

import (
	"fmt"
	"testing"
	"time"

	"lab/pkg/journal"
)

const (
	refusals = 3
	silence  = 3 * time.Second // how long a rejected version must stay quiet
)

// BenchmarkNACK counts how often a version that Envoy rejected was sent, and
// rejected, in the seconds after; then it measures how soon the repair was
// acknowledged. The bare server, which has no such repair, is counted for a second.
func BenchmarkNACK(b *testing.B) {
	l := newLab(b)
	_, binary := cached(b)
	l.OK("start", "08-xds")
	first := original(b, l)
	f := follow(b, l)
	var rejected, repaired sample
	var responses, nacks int
	for range refusals {
		f.drain()
		at := save(b, l, refused(first))
		t := f.trip(refused(first), "the NACK of CDS", func(t *trip) bool { return !t.nacked["CDS"].IsZero() })
		rejected = append(rejected, t.nacked["CDS"].Sub(at))
		sent, again := 1, 1
		for _, e := range f.collect(silence) {
			switch {
			case e.Response != nil && e.Response.Type == "CDS" && e.Response.Version == t.version:
				sent++
			case e.Request != nil && e.Request.Type == "CDS" && e.Request.Class == journal.Nack:
				again++
			}
		}
		responses, nacks = max(responses, sent), max(nacks, again)
		at = save(b, l, first)
		t = f.trip(first, "the ACK of the repair", func(t *trip) bool { return !t.acked["CDS"].IsZero() })
		repaired = append(repaired, t.acked["CDS"].Sub(at))
	}
	storm := bareStorm(b, binary)
	table(b, heading, row("save to the NACK of CDS", rejected), row("save of the repair to the ACK of CDS", repaired),
		fmt.Sprintf("of one rejected version in %v, at most: %d response(s), %d NACK(s)", silence, responses, nacks),
		fmt.Sprintf("bare go-control-plane: %d NACKs in a second", storm))
	b.ReportMetric(float64(storm), "bare-NACKs/s")
	b.ReportMetric(ms(repaired.median()), "repair-ms")
	limit(b, "responses of a rejected version", float64(responses), 1, "responses")
	limit(b, "NACKs of a rejected version", float64(nacks), 1, "NACKs")
}

// bareStorm counts the NACKs of a second that a bare server gets.
func bareStorm(b *testing.B, binary string) (n int) {
	b.Helper()
	x := newTexts(b)
	s := newBare(b)
	s.push(b, "1", x.set(b, none))
	stop := startEnvoy(b, binary, s.addr)
	defer stop()
	s.acked(b, "1")
	s.push(b, "2", x.set(b, refused))
	end := time.After(time.Second)
	for {
		select {
		case a := <-s.answers:
			if a.nack {
				n++
			}
		case <-end:
			return n
		}
	}
}
