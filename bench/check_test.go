package bench

import (
	"fmt"
	"os"
	"testing"
	"time"

	"lab/pkg/journal"
	"lab/pkg/labtest"
)

const gradings = 15

// BenchmarkCheck measures `lab check` from the command to its end, over
// journals that a real run's events were multiplied to: with 10,000 events in
// the step, with a million before them, and with a million in the step. The
// check does not wait for evidence that comes by itself (--wait 1ms), and is
// answered "not yet". `lab version`, in turns, tells what starting a program costs.
func BenchmarkCheck(b *testing.B) {
	l := newLab(b)
	r := record(b, l)
	lines := []string{heading}
	for _, size := range []struct {
		name           string
		before, within int
	}{
		{"10,000 events in the step", 0, 10_000},
		{"1,000,000 before, 10,000 in the step", 1_000_000, 10_000},
		{"1,000,000 in the step", 0, 1_000_000},
	} {
		r.write(b, l, size.before, size.within)
		started := timed(b, l, 0, "start")
		f, probes := follow(b, l), 0
		f.until("requests through Envoy: without any a check cannot tell", func(e journal.Event) bool {
			if e.Probe != nil {
				probes++
			}
			return probes == 2
		})
		var check, version sample
		for range gradings {
			check = append(check, timed(b, l, 1, "check", "--wait", "1ms"))
			version = append(version, timed(b, l, 0, "version"))
		}
		lines = append(lines, "", size.name, row("  lab check", check), row("  lab version", version),
			fmt.Sprintf("  journal %d MB, lab start over it %.1f s", journalSize(b, l)>>20, started.Seconds()),
			"  "+resident(b, l, "of the run"))
		if size.before == 0 && size.within == 10_000 {
			b.ReportMetric(float64(check.median())/float64(version.median()), "ratio")
			limit(b, "lab check", ms(check.median()), 150, "check-ms")
		}
		l.OK("stop")
	}
	table(b, lines...)
}

// timed runs lab without the patience of a test and wants an exit status.
func timed(b *testing.B, l *labtest.Lab, code int, args ...string) time.Duration {
	b.Helper()
	cmd := l.Command(args...)
	from := time.Now()
	out, err := cmd.CombinedOutput()
	took := time.Since(from)
	if cmd.ProcessState.ExitCode() != code {
		b.Fatalf("lab %v: %v, want status %d\n%s", args, err, code, out)
	}
	return took
}

func journalSize(b *testing.B, l *labtest.Lab) int64 {
	b.Helper()
	info, err := os.Stat(l.Dir() + "/.lab/journal.jsonl")
	if err != nil {
		b.Fatal(err)
	}
	return info.Size()
}
