package e2e

import (
	"slices"
	"testing"
	"time"

	"lab/pkg/labtest"
	"lab/pkg/report"
	"lab/pkg/session"
)

var parts = []string{"session", "control-plane", "envoy"}

// What a part is killed in the middle of.
var moments = map[string]func(t *testing.T, l *labtest.Lab, part string){
	"idle": func(t *testing.T, l *labtest.Lab, part string) {
		moment(chance(t), 300*time.Millisecond)
		kill(t, l, part)
	},
	"check": func(t *testing.T, l *labtest.Lab, part string) {
		r := l.Begin("check", "-o", "json")
		moment(chance(t), 500*time.Millisecond)
		kill(t, l, part)
		switch done := r.Wait(); done.Code {
		case 1, 2:
			document(t, done)
		case 3:
			if code := refusal(t, done); code != "session.dead" {
				t.Errorf("check ended with %s", code)
			}
		default:
			t.Errorf("check: exit status %d\n%s%s", done.Code, done.Out, done.Err)
		}
	},
	"save": func(t *testing.T, l *labtest.Lab, part string) {
		l.Edit("connect_timeout: 1s", "connect_timeout: 2s")
		moment(chance(t), 100*time.Millisecond)
		kill(t, l, part)
	},
}

// A part that is killed at any moment of a run is told by the next command,
// and lab start goes on where the learner was.
func TestKill(t *testing.T) {
	for _, part := range parts {
		for name, killIn := range moments {
			t.Run(part+" in "+name, func(t *testing.T) {
				t.Parallel()
				l := labtest.New(t)
				l.OK("start", "08-xds")
				l.OK("goto", "endpoint-removal")
				before := serving(t, l)
				killIn(t, l, part)
				if part == "session" {
					refused(t, l, 3, "session.dead", "status")
					refused(t, l, 3, "session.dead", "check")
				} else {
					down(t, l, part)
				}
				resumed(t, l, before, name != "save")
				stopped(t, l, l.Dir())
			})
		}
	}
}

// down waits until status tells that the part is dead, of what, and which
// command brings it back.
func down(t *testing.T, l *labtest.Lab, part string) {
	t.Helper()
	var st report.Status
	l.Await("status to say that "+part+" is down", func() bool {
		st = l.Status()
		return len(st.Down) > 0
	})
	d := st.Down[0]
	if len(st.Down) != 1 || d.Part != part || d.Signal != "SIGKILL" || d.By != "" || d.Command == "" {
		t.Errorf("down: %+v", st.Down)
	}
	if part == "envoy" {
		document(t, l.Want(2, "check", "-o", "json", "--wait", "100ms"))
	}
}

// resumed wants lab start to bring back the same run, at the same version where
// the file is the same.
func resumed(t *testing.T, l *labtest.Lab, before report.Status, sameFile bool) {
	t.Helper()
	run := load(t, l.Dir())
	l.OK("start", "08-xds")
	after := serving(t, l)
	if after.Step != before.Step {
		t.Errorf("step %s, was %s", after.Step, before.Step)
	}
	if !slices.Equal(after.Steps, before.Steps) {
		t.Errorf("steps %v, were %v", after.Steps, before.Steps)
	}
	samePorts(t, run, load(t, l.Dir()))
	if had, has := before.Types["CDS"].Acked, after.Types["CDS"].Acked; had != has && sameFile {
		t.Errorf("version %s of an unchanged file, was %s", has, had)
	}
}

func samePorts(t *testing.T, before, after *session.Run) {
	t.Helper()
	was, is := addresses(before), addresses(after)
	for name, addr := range was {
		if is[name] != addr {
			t.Errorf("%s is at %s, was at %s", name, is[name], addr)
		}
	}
	if before.ID != after.ID || before.Seed != after.Seed || before.BaseID != after.BaseID {
		t.Errorf("another run: %+v, was %+v", after, before)
	}
}

// A part that is killed while the run starts: start either says so and leaves
// nothing that runs, or was done before. Another start goes on.
func TestKillInStart(t *testing.T) {
	for _, part := range parts {
		t.Run(part, func(t *testing.T) {
			t.Parallel()
			l := labtest.New(t)
			r := l.Begin("start", "08-xds", "-o", "json")
			l.Await(part+" to start", func() bool { return pidOf(l, part) != 0 })
			moment(chance(t), 150*time.Millisecond)
			kill(t, l, part)
			done := r.Wait()
			switch {
			case done.Code == 0: // it was up already
			case done.Code == 3 && part == "session":
				if code := refusal(t, done); code != "session.died" && code != "session.dead" {
					t.Errorf("start ended with %s", code)
				}
			case done.Code == 3:
				refusal(t, done)
				if left := l.Processes(); len(left) > 0 {
					t.Errorf("a failed start left %q", left)
				}
			default:
				t.Errorf("start: exit status %d\n%s%s", done.Code, done.Out, done.Err)
			}
			if done.Took > 20*time.Second {
				t.Errorf("start took %s to tell", done.Took)
			}
			l.OK("start", "08-xds")
			serving(t, l)
			stopped(t, l, l.Dir())
		})
	}
}
