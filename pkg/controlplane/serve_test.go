package controlplane_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"lab/pkg/controlplane"
	"lab/pkg/journal"
	"lab/pkg/xds/xdstest"
)

// No goroutine outlives the control planes that the tests ran.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// plane is a running control plane, its file, and what it journaled.
type plane struct {
	t     testing.TB
	dir   string
	sink  *xdstest.Sink
	addr  string
	stop  func()
	ended chan error
}

func (p *plane) file() string { return filepath.Join(p.dir, "snapshot.yaml") }

// run serves the file in dir until stop or the end of the test.
func run(t testing.TB, dir, listen string) *plane {
	t.Helper()
	p := &plane{t: t, dir: dir, sink: xdstest.NewSink(), ended: make(chan error, 1)}
	r, w := io.Pipe()
	read := make(chan struct{})
	go func() {
		defer close(read)
		in := bufio.NewReader(r)
		for {
			line, err := in.ReadBytes('\n')
			var e journal.Event
			if err != nil || json.Unmarshal(line, &e) != nil {
				return
			}
			p.sink.Emit(e)
		}
	}()
	ctx, cancel := context.WithCancel(context.Background())
	ready := make(chan string, 1)
	go func() {
		p.ended <- controlplane.Serve(ctx, controlplane.Config{
			SnapshotFile: p.file(), Listen: listen, StateFile: filepath.Join(dir, "state.json"), FirstVersion: 41,
			Sink: journal.NewLineSink(w), Now: time.Now, Ready: func(a string) { ready <- a },
		})
		_ = w.Close()
		close(p.ended)
	}()
	p.stop = func() { cancel(); <-read }
	t.Cleanup(func() {
		p.stop()
		if err := <-p.ended; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	select {
	case p.addr = <-ready:
	case err := <-p.ended:
		t.Fatalf("Serve ended: %v", err)
	case <-time.After(xdstest.Patience):
		t.Fatal("not ready")
	}
	return p
}

func (p *plane) save(text string) (mark int) {
	p.t.Helper()
	mark = p.sink.Len()
	if err := os.WriteFile(p.file(), []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
	return mark
}

// start writes the file and serves it.
func start(t testing.TB, text string) *plane {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "snapshot.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return run(t, dir, "127.0.0.1:0")
}

func (p *plane) loaded(mark int, version string) *journal.Snapshot {
	p.t.Helper()
	return p.sink.Wait(p.t, mark, "the load of version "+version, func(e journal.Event) bool {
		return e.Kind == journal.KindSnapshotLoaded && e.Snapshot.Version == version
	}).Snapshot
}

func (p *plane) refused(mark int, code string) journal.Problem {
	p.t.Helper()
	s := p.sink.Wait(p.t, mark, "the refusal "+code, func(e journal.Event) bool {
		return e.Kind == journal.KindSnapshotRefused && slices.ContainsFunc(e.Snapshot.Problems,
			func(j journal.Problem) bool { return code == "" || j.Code == code })
	}).Snapshot
	return s.Problems[len(s.Problems)-1]
}

// text is a snapshot file with one cluster; version "" leaves the line out.
func text(version string, timeout string, more ...string) string {
	head := ""
	if version != "" {
		head = fmt.Sprintf("version_info: %q\n", version)
	}
	return head + strings.Join(more, "") + "resources:\n" +
		"- \"@type\": type.googleapis.com/envoy.config.cluster.v3.Cluster\n" +
		"  name: a\n  connect_timeout: " + timeout + "\n  type: STATIC\n"
}

func TestVersionsCountWhenTheContentChanges(t *testing.T) {
	p := start(t, text("", "1s"))
	first := p.loaded(0, "41")
	if first.Explicit || len(first.Resources) != 1 || first.Resources[0].Body["connect_timeout"] != "1s" {
		t.Errorf("first %+v", *first)
	}
	mark := p.save(text("", "1s", "# a comment\n"))
	same := p.loaded(mark, "41")
	if same.Resources[0].Body != nil {
		t.Error("the body stands twice in the journal")
	}
	p.loaded(p.save(text("", "2s")), "42")
	p.loaded(p.save(text("other", "2s")), "other")
	p.loaded(p.save(text("", "3s")), "43")
	p.loaded(p.save(text("other", "2s")), "other") // a rollback
}

func TestSameVersionOtherContentIsRefused(t *testing.T) {
	p := start(t, text("1", "1s"))
	p.loaded(0, "1")
	j := p.refused(p.save("# first\n"+text("1", "2s")), "xds.same-version")
	if j.Args["Version"] != "1" || j.Line != 2 || j.Source != `version_info: "1"` || j.Text == "" {
		t.Errorf("problem %+v", j)
	}
	p.loaded(p.save(text("2", "2s")), "2")
	p.loaded(p.save(text("1", "1s")), "1")
}

func TestBadFileAtStartServesNothingAndWaits(t *testing.T) {
	p := start(t, "resources: [\n")
	if j := p.refused(0, ""); j.Line == 0 || j.Text == "" {
		t.Errorf("problem %+v", j)
	}
	p.loaded(p.save(text("", "1s")), "41")
}

func TestRestartKeepsTheVersion(t *testing.T) {
	p := start(t, text("", "1s"))
	p.loaded(0, "41")
	p.loaded(p.save(text("", "2s")), "42")
	p.stop()
	q := run(t, p.dir, "127.0.0.1:0")
	if s := q.loaded(0, "42"); s.Resources[0].Body == nil {
		t.Error("no body in the first load of a process")
	}
	q.loaded(q.save(text("", "3s")), "43")
	raw, err := os.ReadFile(filepath.Join(p.dir, "state.json"))
	fi, err2 := os.Stat(filepath.Join(p.dir, "state.json"))
	if err != nil || err2 != nil || fi.Mode().Perm() != 0o600 || !regexp.MustCompile(`"43"`).Match(raw) {
		t.Errorf("state %s, mode %v (%v %v)", raw, fi.Mode(), err, err2)
	}
}

func TestDamagedStateStartsAnewAndSaysSo(t *testing.T) {
	for _, bad := range []string{"", "{", `{"format_version":99}`, "\x00\xff", `[]`} {
		t.Run(bad, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range map[string]string{"state.json": bad, "snapshot.yaml": text("", "1s")} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			p := run(t, dir, "127.0.0.1:0")
			p.loaded(0, "41")
			p.sink.Wait(t, 0, "the note", func(e journal.Event) bool { return e.Note != nil })
		})
	}
}

func TestUnreadJournalEndsIt(t *testing.T) {
	dir := t.TempDir()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	_ = r.Close()
	done := make(chan error, 1)
	go func() {
		done <- controlplane.Serve(t.Context(), controlplane.Config{
			SnapshotFile: filepath.Join(dir, "snapshot.yaml"), Listen: "127.0.0.1:0",
			Sink: journal.NewLineSink(w), Now: time.Now, Ready: func(string) {}})
	}()
	if err := os.WriteFile(filepath.Join(dir, "snapshot.yaml"), []byte(text("", "1s")), 0o600); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-done:
		if err == nil {
			t.Error("it ended without an error")
		}
	case <-time.After(xdstest.Patience):
		t.Fatal("it goes on though nobody reads its events")
	}
}

func TestAddressesThatAreRefused(t *testing.T) {
	for _, addr := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:0", "example.com:80", "nonsense", "127.0.0.1:99999"} {
		err := controlplane.Serve(t.Context(), controlplane.Config{SnapshotFile: filepath.Join(t.TempDir(), "s"), Listen: addr,
			Sink: journal.NewLineSink(io.Discard), Now: time.Now, Ready: func(string) { t.Errorf("%s: served", addr) }})
		if err == nil {
			t.Errorf("%s: no error", addr)
		}
	}
}
