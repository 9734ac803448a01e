package bench

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"

	"lab/pkg/labtest"
	"lab/pkg/session"
)

const saves = 100

// BenchmarkSave measures from the rename of a changed file to the ACK of what
// changed in it, an endpoint, as the control plane saw it. In turns with each
// save a bare server gets the same change by SetSnapshot.
func BenchmarkSave(b *testing.B) {
	l := newLab(b)
	_, binary := cached(b)
	x := newTexts(b)
	sets := []func(string) string{without, none}
	s := newBare(b)
	s.push(b, "0", x.set(b, none))
	stop := startEnvoy(b, binary, s.addr)
	defer stop()
	s.acked(b, "0")
	l.OK("start", "08-xds")
	first := original(b, l)
	memory := []string{resident(b, l, "after the start")}
	f := follow(b, l)
	var toACK, toAll, read, send, answer, bareACK, bareAll sample
	for i := range saves {
		edit := sets[i%2]
		text := edit(first)
		f.drain()
		at := save(b, l, text)
		t := f.trip(text, fmt.Sprintf("the four ACKs of save %d", i+1), all)
		toACK, toAll = append(toACK, t.acked["EDS"].Sub(at)), append(toAll, latest(t.acked).Sub(at))
		read, send = append(read, t.read.Sub(at)), append(send, t.sent["EDS"].Sub(t.read))
		answer = append(answer, t.acked["EDS"].Sub(t.sent["EDS"]))

		version := strconv.Itoa(i + 1)
		at = s.push(b, version, x.set(b, edit))
		acks := s.acked(b, version)
		bareACK, bareAll = append(bareACK, acks[resource.EndpointType].Sub(at)), append(bareAll, latest(acks).Sub(at))
	}
	memory = append(memory, resident(b, l, fmt.Sprintf("after %d saves", saves)))
	table(b, append([]string{heading, row("save to the ACK of EDS", toACK), row("  until the file was read and settled", read),
		row("  until EDS was sent, CDS before it", send), row("  until EDS was acknowledged", answer),
		row("save to the ACK of all four types", toAll),
		row("bare: SetSnapshot to the ACK of EDS", bareACK), row("bare: to the ACK of all four types", bareAll)}, memory...)...)
	b.ReportMetric(ms(toACK.median()), "p50-ms")
	b.ReportMetric(float64(toACK.median())/float64(bareACK.median()), "ratio")
	limit(b, "save to ACK", ms(toACK.at(0.99)), 50, "p99-ms")
}

// resident says how much memory the parts of a run hold (proc_pid_status(5),
// VmRSS and RssAnon: the rest is the program's own file).
func resident(b *testing.B, l *labtest.Lab, when string) string {
	b.Helper()
	run, err := session.Folder{Dir: l.Dir()}.Load()
	if err != nil {
		b.Fatal(err)
	}
	line := "memory " + when + ", MB resident (of it anonymous):"
	for _, role := range []string{"session", "control-plane", "envoy"} {
		status := fmt.Sprintf("/proc/%d/status", run.Pids[role].Pid)
		line += fmt.Sprintf("  %s %d (%d)", role, megabytes(field(status, "VmRSS")), megabytes(field(status, "RssAnon")))
	}
	return line
}

func megabytes(kB string) int {
	var n int
	_, _ = fmt.Sscanf(kB, "%d kB", &n) // 0 where the system does not tell
	return n >> 10
}
