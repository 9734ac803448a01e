package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"lab/pkg/journal"
	"lab/pkg/labtest"
)

// started lists the epochs of Envoy that were started in the run, in order.
func started(l *labtest.Lab) []int {
	var epochs []int
	for _, e := range l.Events() {
		if e.Kind == journal.KindProcess && e.Process.Role == "envoy" && e.Process.State == "started" {
			epochs = append(epochs, e.Process.Epoch)
		}
	}
	return epochs
}

func exited(pid int) func(journal.Event) bool {
	return func(e journal.Event) bool {
		return e.Kind == journal.KindProcess && e.Process.State == "exited" && e.Process.Pid == pid
	}
}

// answers tells whether a request through Envoy gets an answer of an upstream.
func answers(t *testing.T, l *labtest.Lab) bool {
	t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	r, err := client.Get("http://" + addresses(load(t, l.Dir()))["http"])
	if err != nil {
		return false
	}
	_ = r.Body.Close()
	return r.StatusCode == http.StatusOK
}

// Two epochs run for a while, told apart; the old one ends by itself, and no
// request is lost.
func TestHotRestart(t *testing.T) {
	t.Parallel()
	l := labtest.New(t)
	l.OK("start", "08-xds")
	old := serving(t, l).Envoy
	l.OK("envoy", "hot-restart")
	st := serving(t, l)
	if st.Envoy.Epoch != 1 || st.Envoy.Pid == old.Pid || st.Envoy.Admin == old.Admin {
		t.Errorf("serving: %+v, was %+v", st.Envoy, old)
	}
	if len(st.Envoy.Others) != 1 || st.Envoy.Others[0].Pid != old.Pid || st.Envoy.Others[0].Epoch != 0 {
		t.Errorf("others: %+v", st.Envoy.Others)
	}
	refused(t, l, 3, "session.hot-restart-draining", "envoy", "hot-restart")
	end := l.Event("the old epoch to end", exited(old.Pid)).Process
	if end.Exit != 0 || end.Signal != "" || end.By != "" {
		t.Errorf("the old epoch ended by %+v", end)
	}
	l.OK("envoy", "hot-restart")
	if st := serving(t, l); st.Envoy.Epoch != 2 {
		t.Errorf("epoch %d, want 2", st.Envoy.Epoch)
	}
	for _, e := range l.Events() {
		if e.Kind == journal.KindProbe && e.Probe.Failed > 0 {
			t.Errorf("failed requests: %+v", e.Probe)
		}
	}
	l.OK("envoy", "restart") // with an epoch that drains
	if st := serving(t, l); st.Envoy.Epoch != 0 || len(st.Envoy.Others) != 0 {
		t.Errorf("after a cold restart: %+v", st.Envoy)
	}
	stopped(t, l, l.Dir())
}

// What is known to end in an outage is refused before anything starts.
func TestHotRestartRefused(t *testing.T) {
	for code, spoil := range map[string]func(*testing.T, *labtest.Lab){
		"session.hot-restart-no-parent":        func(t *testing.T, l *labtest.Lab) { kill(t, l, "envoy") },
		"session.hot-restart-no-control-plane": func(_ *testing.T, l *labtest.Lab) { l.OK("control-plane", "kill") },
		"session.hot-restart-parent-not-live": func(t *testing.T, l *labtest.Lab) {
			if err := syscall.Kill(pidOf(l, "envoy"), syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
		},
		"session.hot-restart-rejected": func(_ *testing.T, l *labtest.Lab) {
			l.Edit("connect_timeout: 1s", "connect_timeout: 0s")
			l.Await("CDS to be rejected", func() bool { return len(l.Status().Rejected) > 0 })
		},
		"envoy.bootstrap": func(t *testing.T, l *labtest.Lab) {
			if err := os.WriteFile(filepath.Join(l.Dir(), ".lab", "bootstrap.json"), []byte(`{"nosuch": 1}`), 0o600); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			l := labtest.New(t)
			l.OK("start", "08-xds")
			serving(t, l)
			spoil(t, l)
			refused(t, l, 3, code, "envoy", "hot-restart")
			if got := started(l); len(got) != 1 {
				t.Errorf("started epochs %v, want the first alone", got)
			}
			stopped(t, l, l.Dir())
		})
	}
}

// A new epoch that fails never takes the old one along.
func TestHotRestartFails(t *testing.T) {
	t.Parallel()
	l := labtest.New(t)
	l.OK("start", "08-xds")
	old := serving(t, l).Envoy
	cp := pidOf(l, "control-plane")
	if err := syscall.Kill(cp, syscall.SIGSTOP); err != nil { // it accepts, and says nothing
		t.Fatal(err)
	}
	r := l.Begin("envoy", "hot-restart", "-o", "json")
	l.Await("epoch 1 to start", func() bool { return len(started(l)) == 2 })
	if err := syscall.Kill(cp, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	done := r.Wait()
	if code := refusal(t, done); code != "session.hot-restart-failed" {
		t.Errorf("code %s", code)
	}
	if st := l.Status(); st.Envoy.Pid != old.Pid || st.Envoy.Epoch != 0 || len(st.Envoy.Others) != 0 {
		t.Errorf("serving: %+v", st.Envoy)
	}
	if !answers(t, l) {
		t.Error("the old epoch does not serve")
	}
	l.OK("control-plane", "start")
	refused(t, l, 3, "session.hot-restart-spoiled", "envoy", "hot-restart")
	l.OK("envoy", "restart")
	serving(t, l)
	l.OK("envoy", "hot-restart")
	stopped(t, l, l.Dir())
}

// Whichever is killed while the old epoch drains: it is told, and lab start
// goes on.
func TestKillInHotRestart(t *testing.T) {
	for part, command := range map[string]string{"new": "envoy restart", "old": "", "session": ""} {
		t.Run(part, func(t *testing.T) {
			t.Parallel()
			l := labtest.New(t)
			l.OK("start", "08-xds")
			old := serving(t, l).Envoy
			l.OK("envoy", "hot-restart")
			pid := map[string]int{"new": l.Status().Envoy.Pid, "old": old.Pid, "session": pidOf(l, "session")}[part]
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			if part == "session" {
				refused(t, l, 3, "session.dead", "status")
			} else {
				l.Event("its end", exited(pid))
				st := l.Status()
				if part == "old" {
					refused(t, l, 3, "session.hot-restart-orphaned", "envoy", "hot-restart")
				}
				if command == "" && len(st.Down) != 0 || command != "" && (len(st.Down) != 1 || st.Down[0].Command != command) {
					t.Errorf("down: %+v", st.Down)
				}
			}
			l.OK("start", "08-xds")
			serving(t, l)
			if n := strings.Count(strings.Join(l.Processes(), "\n"), "--base-id"); n != 1 {
				t.Errorf("%d Envoys run, want 1", n)
			}
			stopped(t, l, l.Dir())
		})
	}
}
