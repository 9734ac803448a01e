package bench

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"lab/pkg/journal"
	"lab/pkg/labtest"
)

// recording is what a step is made of: two saves with all that they led to,
// and then traffic alone, as a real run journaled them.
type recording struct {
	head  []journal.Event // up to the opening of the step
	block []journal.Event
	span  time.Duration // of a block
}

// blockSize is the events of a block. At the lab's rate of about twenty events
// a second, two saves in a block are one save every thirteen seconds.
const blockSize = 500

// record runs the step endpoint-removal: an endpoint goes and comes back. The
// seconds of traffic behind that are repeated until the block is full. The run
// is stopped in the end.
func record(b *testing.B, l *labtest.Lab) recording {
	b.Helper()
	l.OK("start", "08-xds")
	l.OK("goto", "endpoint-removal")
	first := original(b, l)
	head := l.Events()
	f := follow(b, l)
	for i, text := range []string{without(first), first} {
		save(b, l, text)
		f.until("Envoy's hosts after a save", func(e journal.Event) bool {
			return e.Hosts != nil && e.Hosts.Cluster == "orders" && len(e.Hosts.Hosts) == 2+i
		})
	}
	f.collect(3 * time.Second)
	r := recording{head: head, block: l.Events()[len(head):]}
	l.OK("stop")
	r.fill()
	return r
}

// fill repeats the traffic at the end of the block.
func (r *recording) fill() {
	var quiet []journal.Event
	for i := len(r.block) - 1; i >= 0 && (r.block[i].Probe != nil || r.block[i].Hit != nil); i-- {
		quiet = append([]journal.Event{r.block[i]}, quiet...)
	}
	span := quiet[len(quiet)-1].Time.Sub(quiet[0].Time) + 50*time.Millisecond
	for n := 0; len(r.block) < blockSize; n++ {
		e := quiet[n%len(quiet)]
		r.block = append(r.block, later(e, time.Duration(n/len(quiet)+1)*span))
	}
	r.span = r.block[blockSize-1].Time.Sub(r.block[0].Time) + 50*time.Millisecond
}

// write makes a journal of the run: its head, so many events before the step
// was begun again, and so many in it. The last event is a moment old.
func (r *recording) write(b *testing.B, l *labtest.Lab, before, within int) {
	b.Helper()
	f, err := os.Create(filepath.Join(l.Dir(), ".lab", "journal.jsonl"))
	if err != nil {
		b.Fatal(err)
	}
	out := bufio.NewWriterSize(f, 1<<20)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	var seq int64
	put := func(e journal.Event) {
		seq++
		e.Seq = seq
		if err := enc.Encode(e); err != nil {
			b.Fatal(err)
		}
	}
	whole := r.span * time.Duration((before+within)/blockSize+1)
	shift := time.Since(r.block[0].Time) - whole
	for _, e := range r.head {
		put(later(e, shift))
	}
	opened := r.head[len(r.head)-1]
	for _, e := range r.head {
		if e.Step != nil && e.Step.State == "opened" {
			opened = e
		}
	}
	for i := range before + within {
		if i == before && before > 0 {
			put(later(opened, shift+r.span*time.Duration(i/blockSize)))
		}
		e := r.block[i%blockSize]
		put(later(numbered(e, i/blockSize), shift+r.span*time.Duration(i/blockSize)))
	}
	if err := out.Flush(); err != nil {
		b.Fatal(err)
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
}

// later moves an event in time. Payloads are copied before they are changed.
func later(e journal.Event, d time.Duration) journal.Event {
	e.Time = e.Time.Add(d)
	if e.Hit != nil {
		h := *e.Hit
		h.Last = h.Last.Add(d)
		e.Hit = &h
	}
	if e.Probe != nil {
		p := *e.Probe
		p.From, p.To = p.From.Add(d), p.To.Add(d)
		p.Groups = append([]journal.ProbeGroup(nil), p.Groups...)
		for i := range p.Groups {
			p.Groups[i].Last = p.Groups[i].Last.Add(d)
		}
		e.Probe = &p
	}
	return e
}

// numbered gives the versions and nonces of block n their turn: a block has two
// saves, so two versions and two nonces of each type.
func numbered(e journal.Event, n int) journal.Event {
	up := func(s string) string {
		v, err := strconv.Atoi(s)
		if err != nil {
			return s
		}
		return strconv.Itoa(v + 2*n)
	}
	nonce := func(s string) string {
		v, err := strconv.Atoi(s)
		if err != nil {
			return s
		}
		return strconv.Itoa(v + 8*n) // one count for the four types of a stream
	}
	switch {
	case e.Snapshot != nil:
		s := *e.Snapshot
		s.Version = up(s.Version)
		if n > 0 { // a content stands in the journal once
			s.Resources = append([]journal.Resource(nil), s.Resources...)
			for i := range s.Resources {
				s.Resources[i].Body = nil
			}
		}
		e.Snapshot = &s
	case e.Request != nil:
		q := *e.Request
		q.Version, q.Nonce = up(q.Version), nonce(q.Nonce)
		e.Request = &q
	case e.Response != nil:
		p := *e.Response
		p.Version, p.Nonce = up(p.Version), nonce(p.Nonce)
		e.Response = &p
	}
	return e
}
