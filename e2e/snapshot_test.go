package e2e

import (
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"testing"

	"lab/pkg/journal"
	"lab/pkg/labtest"
)

var portOf = regexp.MustCompile(`port_value: [0-9]+`)

// badFiles are edits of a good file that no control plane can send, or where
// that is in doubt.
var badFiles = map[string]func(good string) string{
	"0 bytes":       func(string) string { return "" },
	"5 MB garbage":  func(string) string { return garbage() },
	"5 MB one line": func(string) string { return strings.Repeat("x", 5<<20) },
	"2 documents":   func(good string) string { return good + "---\n" + good },
	"a tab":         func(good string) string { return strings.Replace(good, "    connect_timeout", "\tconnect_timeout", 1) },
	"huge port":     func(good string) string { return portOf.ReplaceAllString(good, "port_value: 99999999999") },
	"unknown @type": func(good string) string {
		return strings.Replace(good, "envoy.config.cluster.v3.Cluster", "envoy.config.cluster.v3.Clutser", 1)
	},
	"v2 type": func(good string) string {
		return strings.Replace(good, "type.googleapis.com/envoy.config.cluster.v3.Cluster", "type.googleapis.com/envoy.api.v2.Cluster", 1)
	},
	"unknown alias": func(good string) string {
		return strings.Replace(good, "connect_timeout: 1s", "connect_timeout: *never", 1)
	},
	"a billion aliases": func(string) string { return bomb() },
	"no UTF-8":          func(good string) string { return good + "# \xff\xfe\n" },
	"a NUL":             func(good string) string { return strings.Replace(good, "1s", "1\x00s", 1) },
	"cut in half":       func(good string) string { return good[:len(good)/2] },
}

func garbage() string {
	rnd := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // no secret
	b := make([]byte, 5<<20)
	for i := range b {
		b[i] = " \n\t:-{}[]&*!|>'\"%@`abcxyz019\x80\xff"[rnd.IntN(30)]
	}
	return string(b)
}

func bomb() string {
	var b strings.Builder
	b.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i < 10; i++ {
		p := string(rune('0' + i - 1))
		n := string(rune('0' + i))
		b.WriteString("a" + n + ": &a" + n + " [" + strings.Repeat("*a"+p+", ", 8) + "*a" + p + "]\n")
	}
	return b.String() + "resources: *a9\n"
}

// A file that cannot be sent is refused with its place, the last good one
// stays in force, and no request fails; the repair goes out.
func TestBadSnapshot(t *testing.T) {
	t.Parallel()
	l := labtest.New(t)
	l.OK("start", "08-xds")
	before := serving(t, l)
	raw, err := os.ReadFile(l.File())
	if err != nil {
		t.Fatal(err)
	}
	good := string(raw)
	version := before.Types["CDS"].Acked
	for name, edit := range badFiles {
		bad := edit(good)
		if bad == good {
			t.Fatalf("%s: the edit does not fit the lab's file any more", name)
		}
		from := last(l)
		write(t, l, bad)
		refusal := read(l, from, name)
		if refusal.Kind != journal.KindSnapshotRefused {
			t.Errorf("%s: %s", name, refusal.Kind)
			continue
		}
		p := refusal.Snapshot.Problems[0]
		if p.Code == "" || p.Text == "" || bad != "" && (p.Line == 0 || p.Col == 0) {
			t.Errorf("%s: no code, text or place: %+v", name, p)
		}
		if n := len(refusal.Snapshot.Problems); n > 1000 {
			t.Errorf("%s: %d problems", name, n)
		}
		st := l.Status()
		if st.Refused == nil || st.Refused.InForce != version || st.Refused.File != "snapshot.yaml" || bad != "" && st.Refused.Line == 0 {
			t.Errorf("%s: status says %+v", name, st.Refused)
		}
		if text := l.OK("status").Out; !strings.Contains(text, "snapshot.yaml") {
			t.Errorf("%s: status does not name the file:\n%s", name, text)
		}
		if !settled(st) || st.Types["CDS"].Acked != version {
			t.Errorf("%s: types %+v, version %s before", name, st.Types, version)
		}
		from = last(l)
		write(t, l, good)
		if e := read(l, from, "the repair of "+name); e.Kind != journal.KindSnapshotLoaded || e.Snapshot.Version != version {
			t.Errorf("%s: the same file as before is %s %s", name, e.Kind, e.Snapshot.Version)
		}
	}
	twoValues := strings.Replace(good, "connect_timeout: 1s", "connect_timeout: 1s\n    connect_timeout: 2s", 1)
	from := last(l)
	write(t, l, twoValues)
	loaded := read(l, from, "a repeated key")
	if p := loaded.Snapshot.Problems; loaded.Kind != journal.KindSnapshotLoaded || len(p) != 1 || !p[0].Warning || p[0].Line != 13 || p[0].Col != 5 {
		t.Errorf("a repeated key: %s %+v", loaded.Kind, p) // Envoy reads such a file: a warning is all it gets
	}
	from = last(l)
	write(t, l, strings.NewReplacer("name: orders\n", "name: &orders orders\n", "route: {cluster: orders}", "route: {cluster: *orders}").Replace(good))
	if e := read(l, from, "an alias"); e.Kind != journal.KindSnapshotLoaded || len(e.Snapshot.Problems) != 0 {
		t.Errorf("an alias: %s %+v", e.Kind, e.Snapshot.Problems)
	}
	serving(t, l)
	if r := l.OK("send", "-n", "20", "-o", "json"); document(t, r)["failed"] != float64(0) {
		t.Errorf("requests failed:\n%s", r.Out)
	}
	for _, e := range l.Events() {
		if e.Probe != nil && e.Probe.Failed > 0 {
			t.Errorf("requests failed: %+v", e.Probe)
		}
		if e.Kind == journal.KindRequest && e.Request.Class == journal.Nack {
			t.Errorf("a NACK: %+v", e.Request)
		}
	}
}

func write(t *testing.T, l *labtest.Lab, text string) {
	t.Helper()
	if err := os.WriteFile(l.File(), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func last(l *labtest.Lab) int64 {
	events := l.Events()
	return events[len(events)-1].Seq
}

// read waits until the control plane has read a file after an event.
func read(l *labtest.Lab, after int64, what string) journal.Event {
	return l.Event("the control plane to read "+what, func(e journal.Event) bool {
		return e.Seq > after && e.Snapshot != nil
	})
}
