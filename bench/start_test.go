package bench

import (
	"fmt"
	"testing"
	"time"

	"lab/pkg/journal"
	"lab/pkg/session"
)

const pairs = 9

// BenchmarkStart compares `lab start`, from the command to the first 200
// through the Listener after it returned, with a bare server and Envoy on the
// same snapshot. The two take turns.
func BenchmarkStart(b *testing.B) {
	var lab, bare, quotient sample
	stages := make([]sample, len(stageNames))
	for range pairs {
		took, parts := labStart(b)
		alone := bareStart(b)
		lab, bare = append(lab, took), append(bare, alone)
		quotient = append(quotient, time.Duration(float64(took)/float64(alone)*float64(time.Millisecond)))
		for i, d := range parts {
			stages[i] = append(stages[i], d)
		}
	}
	lines := []string{heading, row("lab start, to the first 200", lab)}
	for i, name := range stageNames {
		lines = append(lines, row("  "+name, stages[i]))
	}
	lines = append(lines, row("bare go-control-plane and Envoy", bare), row("ratio of a pair (a number)", quotient))
	table(b, lines...)
	b.ReportMetric(ms(lab.median()), "lab-ms")
	b.ReportMetric(ms(bare.median()), "bare-ms")
	limit(b, "lab start", float64(lab.median())/float64(bare.median()), 5, "ratio")
}

// stageNames are the parts of a start, in order; each lasts until the moment
// that it names.
var stageNames = []string{"command, session: the journal begins", "control plane is started", "control plane listens",
	"Envoy is started", "Envoy opened its stream", "Envoy acknowledged LDS", "Envoy is LIVE", "the command returned", "200 through the Listener"}

// labStart starts and stops a run, and gives how long it took, whole and by
// stage.
func labStart(b *testing.B) (time.Duration, []time.Duration) {
	b.Helper()
	l := newLab(b)
	from := time.Now()
	l.OK("start", "08-xds")
	returned := time.Now()
	run, err := session.Folder{Dir: l.Dir()}.Load()
	if err != nil {
		b.Fatal(err)
	}
	serving(b, run.Ports["http"])
	end := time.Now()
	l.Event("the ACK of LDS", func(e journal.Event) bool { return stageOf(e) == 5 }) // it may be stored later than it came
	marks := make([]time.Time, len(stageNames))
	marks[len(marks)-2], marks[len(marks)-1] = returned, end
	for _, e := range l.Events() {
		if i := stageOf(e); i >= 0 && marks[i].IsZero() {
			marks[i] = e.Time
		}
	}
	l.OK("stop")
	parts := make([]time.Duration, len(marks))
	last := from
	for i, m := range marks {
		if m.IsZero() {
			b.Fatalf("the journal does not tell when: %s", stageNames[i])
		}
		parts[i] = m.Sub(last)
		last = m
	}
	return end.Sub(from), parts
}

// stageOf is the index of the stage that an event ends, -1 for others.
func stageOf(e journal.Event) int {
	name := fmt.Sprint(e.Kind)
	switch {
	case e.Process != nil:
		name += " " + e.Process.Role + " " + e.Process.State
	case e.Stream != nil:
		name += " " + e.Stream.State
	case e.Request != nil:
		name += " " + e.Request.Type + " " + e.Request.Class
	}
	switch name {
	case "run":
		return 0
	case "process control-plane started":
		return 1
	case "process control-plane ready":
		return 2
	case "process envoy started":
		return 3
	case "xds.stream opened":
		return 4
	case "xds.request LDS ack":
		return 5
	case "process envoy ready":
		return 6
	}
	return -1
}

func bareStart(b *testing.B) time.Duration {
	b.Helper()
	_, binary := cached(b)
	x := newTexts(b)
	set := x.set(b, none)
	from := time.Now()
	s := newBare(b)
	s.push(b, "1", set)
	stop := startEnvoy(b, binary, s.addr)
	defer stop()
	serving(b, x.port())
	return time.Since(from)
}
