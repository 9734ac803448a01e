// Package bench measures what a learner waits for: a start, a save, a check, a
// repair. It runs the real command line and the real Envoy, and beside each
// number, in turns, a bare Envoy with a bare go-control-plane server in this
// process, so that a ratio says more than the machine does.
//
// What is right and wrong is tested elsewhere; a benchmark here fails only
// where a number is above its limit. It must not change the product to be
// measured: it reads journals and clocks.
package bench

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"lab/envoy"
	"lab/pkg/cli"
	"lab/pkg/labtest"
)

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) != "lab" && strings.Contains(strings.Join(os.Args, " "), "-test.bench") {
		machine()
	}
	labtest.Main(m, cli.Main)
}

// machine says what the numbers were had on.
func machine() {
	version, err := envoy.DefaultVersion()
	if err != nil {
		version = err.Error()
	}
	fmt.Printf("%s, %d cores (%s), %s, Envoy %s, %s, load %s\n", runtime.GOOS+"/"+runtime.GOARCH, runtime.NumCPU(),
		field("/proc/cpuinfo", "model name"), runtime.Version(), version, time.Now().Format(time.DateOnly), load())
}

// field is a value of a file of lines "NAME: VALUE", "" where there is none.
func field(file, name string) string {
	raw, _ := os.ReadFile(file) // only Linux has these files
	for line := range strings.Lines(string(raw)) {
		if key, value, _ := strings.Cut(line, ":"); strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// load is how many processes wanted to run in the last minute (proc(5)).
func load() string {
	raw, _ := os.ReadFile("/proc/loadavg")
	one, _, _ := strings.Cut(string(raw), " ")
	return cmp.Or(one, "unknown")
}

// cached is the version and the path of the Envoy in the cache, which is
// fetched first where there is none.
func cached(b *testing.B) (version, path string) {
	b.Helper()
	version, err := envoy.DefaultVersion()
	if err != nil {
		b.Fatal(err)
	}
	found, err := envoy.Find(b.Context(), envoy.Options{Want: version})
	if err != nil {
		b.Fatal(err)
	}
	return version, found.Path
}

// newLab is a lab whose Envoy comes from the cache, as for a learner: a path
// in LAB_ENVOY would be hashed and asked for its version at each start.
func newLab(b *testing.B) *labtest.Lab {
	b.Helper()
	version, _ := cached(b)
	l := labtest.New(b)
	l.Setenv("LAB_ENVOY", version)
	l.Setenv("LAB_LANG", "") // as most people have it
	return l
}

// sample is durations of the same thing.
type sample []time.Duration

// at gives the value below which a share of the sample lies (nearest rank).
func (s sample) at(share float64) time.Duration {
	sorted := slices.Sorted(slices.Values(s))
	return sorted[max(0, min(len(sorted)-1, int(share*float64(len(sorted))+0.999999)-1))]
}

func (s sample) median() time.Duration { return s.at(0.5) }

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// row is one line of a table: what was measured, in milliseconds.
func row(name string, s sample) string {
	return fmt.Sprintf("%-40s %8.1f %8.1f %8.1f %8.1f   n=%d", name,
		ms(slices.Min(s)), ms(s.median()), ms(s.at(0.99)), ms(slices.Max(s)), len(s))
}

const heading = "ms                                            min   median      p99      max"

// table prints lines and says under which load they were had. The log of a
// benchmark would be cut after ten lines.
func table(b *testing.B, lines ...string) {
	b.Helper()
	fmt.Printf("\n\n%s (load %s)\n%s\n\n", b.Name(), load(), strings.Join(lines, "\n"))
	b.ReportMetric(0, "ns/op") // of a whole benchmark: it means nothing
}

// limit fails the benchmark where a number is above what was promised.
func limit(b *testing.B, what string, got, most float64, unit string) {
	b.Helper()
	b.ReportMetric(got, unit)
	if got > most {
		b.Errorf("%s: %.1f %s, at most %g was promised", what, got, unit, most)
	}
}
