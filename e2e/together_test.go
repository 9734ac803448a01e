package e2e

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"lab/pkg/labtest"
)

// Two runs on one machine, in two folders, started at once: neither is in the
// other's way, and the end of one does not touch the other.
func TestTwoRuns(t *testing.T) {
	t.Parallel()
	l := labtest.New(t)
	a, b := filepath.Join(l.Wd, "a"), filepath.Join(l.Wd, "b")
	one, two := l.Begin("start", "08-xds", "--dir", a), l.Begin("start", "08-xds", "--dir", b)
	for _, r := range []labtest.Result{one.Wait(), two.Wait()} {
		if r.Code != 0 {
			t.Errorf("start: %d\n%s%s", r.Code, r.Out, r.Err)
		}
	}
	runA, runB := load(t, a), load(t, b)
	taken := map[string]string{}
	for name, addr := range addresses(runA) {
		taken[addr] = name
	}
	for name, addr := range addresses(runB) {
		if other := taken[addr]; other != "" {
			t.Errorf("%s of one run and %s of the other are both %s", other, name, addr)
		}
	}
	l.OK("stop", "--dir", a)
	for name, addr := range addresses(runB) {
		c, err := net.DialTimeout("tcp", addr, time.Second)
		if err != nil {
			t.Errorf("%s of the other run: %v", name, err)
			continue
		}
		_ = c.Close()
	}
	stopped(t, l, b)
	nothingLeft(t, l, runA)
}

// Two starts of one folder at the same moment: one starts, the other waits and
// finds it running.
func TestStartTwiceAtOnce(t *testing.T) {
	t.Parallel()
	l := labtest.New(t)
	var starts []*labtest.Running
	for range 3 {
		starts = append(starts, l.Begin("start", "08-xds", "-o", "json"))
	}
	for _, s := range starts {
		if r := s.Wait(); r.Code != 0 {
			t.Errorf("start: %d\n%s%s", r.Code, r.Out, r.Err)
		} else if doc := document(t, r); doc["id"] != "connect" {
			t.Errorf("start printed %v", doc)
		}
	}
	sessions := 0
	for _, p := range l.Processes() {
		if strings.Contains(p, " session serve ") {
			sessions++
		}
	}
	if sessions != 1 {
		t.Errorf("%d sessions", sessions)
	}
	stopped(t, l, l.Dir())
}

// A port of a stopped run that another program took meanwhile is named, and
// nothing of the run is changed or left.
func TestPortTaken(t *testing.T) {
	t.Parallel()
	l := labtest.New(t)
	l.OK("start", "08-xds")
	stopped(t, l, l.Dir())
	run := load(t, l.Dir())
	for name, addr := range addresses(run) {
		if name == "page" { // nothing else names it: TestPagePortTaken
			continue
		}
		other, err := net.Listen("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		r := l.Want(3, "start", "08-xds", "-o", "json")
		_, port, _ := net.SplitHostPort(addr)
		if refusal(t, r); !strings.Contains(r.Out, port) {
			t.Errorf("%s taken: the port %s is not named\n%s", name, port, r.Out)
		}
		if left := l.Processes(); len(left) > 0 {
			t.Errorf("%s taken: left %q", name, left)
		}
		if err := other.Close(); err != nil {
			t.Fatal(err)
		}
	}
	l.OK("start", "08-xds")
	serving(t, l)
	samePorts(t, run, load(t, l.Dir()))
	stopped(t, l, l.Dir())
}

// Checks that are asked for at once wait for each other, and each is told.
func TestCheckWhileChecking(t *testing.T) {
	t.Parallel()
	l := labtest.New(t)
	l.OK("start", "08-xds")
	var checks []*labtest.Running
	for range 3 {
		checks = append(checks, l.Begin("check", "-o", "json", "--wait", "200ms"))
	}
	for _, c := range checks {
		r := c.Wait()
		if doc := document(t, r); r.Code != 1 || doc["verdict"] != "not yet" {
			t.Errorf("%d\n%s%s", r.Code, r.Out, r.Err)
		}
	}
}

// A run that is stopped while a check waits ends at once; the check says so.
func TestStopWhileChecking(t *testing.T) {
	t.Parallel()
	l := labtest.New(t)
	l.OK("start", "08-xds")
	l.OK("goto", "endpoint-removal")
	c := l.Begin("check", "-o", "json")
	moment(chance(t), 300*time.Millisecond)
	stopped(t, l, l.Dir())
	switch r := c.Wait(); r.Code {
	case 1, 2: // it was done before
		document(t, r)
	case 3:
		if code := refusal(t, r); code != "session.stopped" && code != "session.dead" && code != "session.silent" {
			t.Errorf("check ended with %s", code)
		}
	default:
		t.Errorf("%d\n%s%s", r.Code, r.Out, r.Err)
	}
}

// Stop ends a start that is under way, and a move.
func TestStopInStartAndMove(t *testing.T) {
	t.Parallel()
	rnd := chance(t)
	l := labtest.New(t)
	s := l.Begin("start", "08-xds", "-o", "json")
	l.Await("the session to start", func() bool { return pidOf(l, "session") != 0 })
	moment(rnd, 400*time.Millisecond)
	stopped(t, l, l.Dir())
	if r := s.Wait(); r.Code == 3 {
		refusal(t, r)
	} else if r.Code != 0 {
		t.Errorf("start: %d\n%s%s", r.Code, r.Out, r.Err)
	}
	l.OK("start")
	m := l.Begin("goto", "repair", "-o", "json")
	moment(rnd, 600*time.Millisecond)
	stopped(t, l, l.Dir())
	if r := m.Wait(); r.Code == 3 {
		refusal(t, r)
	} else if r.Code != 0 {
		t.Errorf("goto: %d\n%s%s", r.Code, r.Out, r.Err)
	}
}

func TestStopTwice(t *testing.T) {
	t.Parallel()
	l := labtest.New(t)
	l.OK("start", "08-xds")
	run := load(t, l.Dir())
	one, two := l.Begin("stop", "-o", "json"), l.Begin("stop", "-o", "json")
	for _, r := range []labtest.Result{one.Wait(), two.Wait(), l.Run("stop", "-o", "json")} {
		if document(t, r); r.Code != 0 {
			t.Errorf("stop: %d\n%s%s", r.Code, r.Out, r.Err)
		}
	}
	nothingLeft(t, l, run)
	refused(t, l, 3, "session.stopped", "status")
}

// Ctrl-C in a start takes back what was started, whenever it comes.
func TestInterruptedStart(t *testing.T) {
	t.Parallel()
	rnd := chance(t)
	l := labtest.New(t)
	for range 6 {
		s := l.Begin("start", "08-xds", "-o", "json")
		moment(rnd, 700*time.Millisecond)
		s.Signal(os.Interrupt)
		switch r := s.Wait(); r.Code {
		case 0: // it came too late
			document(t, r)
			stopped(t, l, l.Dir())
		case 130:
			if code := refusal(t, r); code != "cli.interrupted" {
				t.Errorf("code %s", code)
			}
			if left := l.Processes(); len(left) > 0 {
				t.Errorf("left %q", left)
			}
		case -1: // before it listened to signals
		default:
			t.Errorf("%d\n%s%s", r.Code, r.Out, r.Err)
		}
	}
	l.OK("start", "08-xds")
	stopped(t, l, l.Dir())
}

// The start is killed, not the session: the run comes up all the same.
func TestStartKilled(t *testing.T) {
	t.Parallel()
	l := labtest.New(t)
	s := l.Begin("start", "08-xds")
	l.Await("the session to start", func() bool { return pidOf(l, "session") != 0 })
	s.Signal(syscall.SIGKILL)
	s.Wait()
	l.OK("start", "08-xds")
	serving(t, l)
	stopped(t, l, l.Dir())
}
