package snapshot

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

const clusterHead = "- \"@type\": type.googleapis.com/envoy.config.cluster.v3.Cluster\n  name: "

// clusters is a valid file of n clusters, of about 530 bytes each.
func clusters(n int) []byte {
	var b bytes.Buffer
	b.WriteString("version_info: \"1\"\nresources:\n")
	for i := range n {
		fmt.Fprintf(&b, `%sc%d
  connect_timeout: 0.25s
  type: STATIC
  lb_policy: LEAST_REQUEST
  circuit_breakers:
    thresholds:
    - {priority: DEFAULT, max_connections: 100, max_requests: 200, max_retries: 3}
  outlier_detection: {consecutive_5xx: 3, base_ejection_time: 30s, max_ejection_percent: 50}
  load_assignment:
    cluster_name: c%d
    endpoints:
    - lb_endpoints:
      - endpoint: {address: {socket_address: {address: 127.0.0.1, port_value: %d}}}
      - endpoint: {address: {socket_address: {address: 127.0.0.2, port_value: 8080}}}
`, clusterHead, i, i, 1024+i%60000)
	}
	return b.Bytes()
}

// TestHostile gives files that are made to hurt. Each is refused, within a time
// and a memory that leave room for a slow machine under load.
func TestHostile(t *testing.T) {
	garbage := make([]byte, 5<<20)
	rand.NewChaCha8([32]byte{1}).Read(garbage)
	printable := bytes.Map(func(r rune) rune { return ' ' + r%95 }, []byte(strings.ToValidUTF8(string(garbage), "~")))
	bomb := "a: &a0 [x]\n"
	for i := range 30 {
		bomb += fmt.Sprintf("b%d: &a%d [*a%d, *a%d, *a%d, *a%d]\n", i, i+1, i, i, i, i)
	}
	many := "resources:\n"
	for i := range 2000 {
		many += clusterHead + fmt.Sprintf("c%d\n  x%d: 5\n", i, i)
	}
	for name, text := range map[string]string{
		"garbage":          string(garbage),
		"printable":        string(printable),
		"too large":        strings.Repeat(" ", maxBytes+1),
		"newlines":         strings.Repeat("\n", maxBytes),
		"dashes":           strings.Repeat("- ", 100_000),
		"documents":        strings.Repeat("---\n", 500_000) + "a: b\n",
		"brackets":         strings.Repeat("[", 1_000_000),
		"braces":           "resources: " + strings.Repeat("{a: ", 200_000),
		"deep keys":        strings.Repeat("a: ", 100_000),
		"equal keys":       strings.Repeat("resources: []\n", 200_000),
		"quotes":           strings.Repeat("\"", 2_000_001),
		"anchors":          "resources:\n" + strings.Repeat("- &a x\n", 300_000),
		"bomb":             "resources:\n" + clusterHead + "a\n  metadata: {filter_metadata: {x: {" + strings.ReplaceAll(strings.TrimSpace(bomb), "\n", ", ") + "}}}\n",
		"bomb in a list":   "version_info: &v [*v]\nresources: [" + strings.Repeat("*v, ", 1000) + "]\n",
		"null bomb":        "resources:\n" + clusterHead + "a\n  health_checks: &h [" + strings.Repeat("~, ", 20000) + "]\n  circuit_breakers: {thresholds: [" + strings.Repeat("*h, ", 20000) + "]}\n",
		"key bomb":         "resources:\n" + clusterHead + "a\n  metadata: {filter_metadata: {x: {k: &k {" + strings.Repeat("a: 1, ", 20000) + "}, l: [" + strings.Repeat("*k, ", 20000) + "]}}}\n",
		"self":             "resources: &r [*r]\n",
		"self in mapping":  "resources: &r\n- {\"@type\": x, a: *r}\n",
		"self in Struct":   "resources:\n" + clusterHead + "a\n  metadata: {filter_metadata: {x: &x {a: *x}}}\n",
		"many errors":      many,
		"many warnings":    "resources:\n" + clusterHead + "a\n" + strings.Repeat("  lb_policy: RANDOM\n", 60) + "  conect: 1\n",
		"long line":        "resources: \"" + strings.Repeat("x", 7<<20) + "\n",
		"long key":         strings.Repeat("k", 3<<20) + ": 1\n",
		"long enum":        "resources:\n" + clusterHead + "a\n  lb_policy: " + strings.Repeat("R", 1<<20) + "\n",
		"long type":        "resources:\n- \"@type\": a/envoy." + strings.Repeat("R", 1<<20) + "\n",
		"comments":         strings.Repeat("# c\n", 1_000_000),
		"deep block":       deepBlock(2000),
		"tab":              "resources:\n\t- a\n",
		"NUL":              "resources: [\x00]\n",
		"UTF-16, half":     "\xff\xfea\x00b",
		"UTF-16 surrogate": "\xff\xfe\x00\xd8a\x00",
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := time.Now()
			set, list := Load("snapshot.yaml", []byte(text))
			took := time.Since(start)
			runtime.ReadMemStats(&after)
			if set != nil || len(list.Errors()) == 0 {
				t.Error("accepted")
			}
			if len(list) > 2*maxProblems+1 {
				t.Errorf("%d problems", len(list))
			}
			for _, p := range list {
				if n := len(p.Error()) + len(p.Place.Source); n > 4000 {
					t.Errorf("a problem of %d bytes: %s", n, p.Code)
				}
			}
			allocated := (after.TotalAlloc - before.TotalAlloc) >> 20
			t.Logf("%v, %d MB allocated: %s", took, allocated, list[0].Code)
			if took > 30*time.Second {
				t.Errorf("took %v", took)
			}
			if allocated > 2000 {
				t.Errorf("allocated %d MB", allocated)
			}
		})
	}
}

func deepBlock(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return b.String()
}

// TestMutations changes valid files at random: Load must neither panic nor give
// a set together with errors, nor a set that does not encode again.
func TestMutations(t *testing.T) {
	var seeds [][]byte
	for _, c := range corpus(t) {
		seeds = append(seeds, c.yaml)
	}
	pieces := []string{"\t", "\n", "  ", "- ", ": ", "{", "}", "[", "]", "\"", "'", "&a ", "*a", "!x ", "|", ">", "#", "%", "---\n",
		"null", "no", "1e9", "-", "0x", "@type", "\u2028", "中", "\xff", "\x00", ",", "?", "resources:", "version_info:"}
	rapid.Check(t, func(t *rapid.T) {
		text := bytes.Clone(rapid.SampledFrom(seeds).Draw(t, "seed"))
		for range rapid.IntRange(0, 4).Draw(t, "changes") {
			if len(text) == 0 {
				break
			}
			i := rapid.IntRange(0, len(text)-1).Draw(t, "at")
			switch rapid.IntRange(0, 2).Draw(t, "how") {
			case 0:
				text = append(text[:i:i], append([]byte(rapid.SampledFrom(pieces).Draw(t, "piece")), text[i:]...)...)
			case 1:
				text = append(text[:i:i], text[min(len(text), i+rapid.IntRange(1, 8).Draw(t, "cut")):]...)
			case 2:
				text[i] = rapid.Byte().Draw(t, "byte")
			}
		}
		check(t, text)
	})
}

// check holds what is true of every input.
func check(t interface{ Fatalf(string, ...any) }, text []byte) {
	set, list := Load("snapshot.yaml", text)
	if (set == nil) != (len(list.Errors()) > 0) {
		t.Fatalf("set: %v, errors: %v", set != nil, list.Err())
	}
	for _, p := range list {
		if p.Place == nil || p.Place.File != "snapshot.yaml" {
			t.Fatalf("no place: %v", p)
		}
	}
	if set == nil {
		return
	}
	set.ContentHash()
	for _, r := range set.Resources {
		if _, err := r.Body(); err != nil {
			t.Fatalf("%v", err)
		}
		if set.Find(r.Type, r.Name) == nil {
			t.Fatalf("%s %q is not found", r.Type, r.Name)
		}
	}
}

func FuzzLoad(f *testing.F) {
	for _, c := range corpus(f) {
		f.Add(c.yaml)
	}
	f.Fuzz(func(t *testing.T, text []byte) { check(t, text) })
}

func BenchmarkLoad1000(b *testing.B) {
	text := clusters(1000)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if set, list := Load("snapshot.yaml", text); set == nil {
			b.Fatal(list.Err())
		}
	}
}
