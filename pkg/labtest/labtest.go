// Package labtest runs lab in tests as a person would: the real command line,
// real processes and the real Envoy, each run in a folder of its own, with
// nothing shared but the Envoy binary.
//
// A test binary becomes lab when it is called by that name (Main), so no test
// depends on something that was built before.
package labtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"lab/envoy"
	"lab/pkg/journal"
	"lab/pkg/report"
)

// Main is a TestMain: it runs lab when the binary is called lab, else the
// tests.
func Main(m *testing.M, lab func(args []string) int) {
	if filepath.Base(os.Args[0]) == "lab" {
		os.Exit(lab(os.Args))
	}
	os.Exit(m.Run())
}

// Lab is a place to run lab in: a working folder, and homes of its own.
type Lab struct {
	t   testing.TB
	Bin string // lab itself
	Wd  string
	env []string
}

// Envoy is the path of the real Envoy: LAB_TEST_ENVOY, or where lab finds it.
func Envoy(t testing.TB) string {
	t.Helper()
	if p := os.Getenv("LAB_TEST_ENVOY"); p != "" {
		return p
	}
	b, err := envoy.Find(t.Context(), envoy.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return b.Path
}

// New makes a place whose run, if any, is stopped when the test ends. The test
// fails when a process of it is left.
func New(t testing.TB) *Lab {
	t.Helper()
	home := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	l := &Lab{t: t, Bin: filepath.Join(home, "bin", "lab"), Wd: filepath.Join(home, "wd")}
	for _, d := range []string{filepath.Dir(l.Bin), l.Wd} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(self, l.Bin); err != nil {
		if out, err := exec.Command("cp", self, l.Bin).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	l.env = append(os.Environ(), "LAB_ENVOY="+Envoy(t), "LAB_LANG=en", "NO_COLOR=1",
		"XDG_STATE_HOME="+filepath.Join(home, "state"), "XDG_RUNTIME_DIR="+shortDir(t))
	t.Cleanup(func() { l.cleanUp() })
	return l
}

// shortDir is a folder whose name leaves room for a socket's.
func shortDir(t testing.TB) string {
	d, err := os.MkdirTemp("", "lt")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(d) })
	return d
}

// Setenv sets a variable for what comes.
func (l *Lab) Setenv(name, value string) { l.env = append(l.env, name+"="+value) }

// Result is what a command did.
type Result struct {
	Code     int
	Out, Err string
	Took     time.Duration
}

// Command is lab with its working folder and homes, for what Run cannot do.
func (l *Lab) Command(args ...string) *exec.Cmd {
	cmd := exec.Command(l.Bin, args...)
	cmd.Dir, cmd.Env = l.Wd, l.env
	return cmd
}

// Run runs lab and returns what it did. A command that takes a minute fails
// the test.
func (l *Lab) Run(args ...string) Result {
	l.t.Helper()
	return l.Begin(args...).Wait()
}

// Running is a command that has yet to end.
type Running struct {
	l        *Lab
	cmd      *exec.Cmd
	out, err bytes.Buffer
	started  time.Time
	late     *time.Timer
}

// Begin starts lab and does not wait for it; Wait has to be called.
func (l *Lab) Begin(args ...string) *Running {
	l.t.Helper()
	return l.BeginCommand(l.Command(args...))
}

// BeginCommand is Begin for a command that a test has changed.
func (l *Lab) BeginCommand(cmd *exec.Cmd) *Running {
	l.t.Helper()
	r := &Running{l: l, cmd: cmd, started: time.Now()}
	cmd.Stdout, cmd.Stderr = &r.out, &r.err
	if err := cmd.Start(); err != nil {
		l.t.Fatal(err)
	}
	r.late = time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	return r
}

// Signal sends it a signal; one that has ended does not mind.
func (r *Running) Signal(sig os.Signal) { _ = r.cmd.Process.Signal(sig) }

// Wait waits for its end.
func (r *Running) Wait() Result {
	r.l.t.Helper()
	err := r.cmd.Wait()
	if !r.late.Stop() {
		r.l.t.Fatalf("%s: no end after a minute\n%s%s", strings.Join(r.cmd.Args, " "), r.out.String(), r.err.String())
	}
	var ee *exec.ExitError
	if err != nil && !errors.As(err, &ee) {
		r.l.t.Fatal(err)
	}
	return Result{r.cmd.ProcessState.ExitCode(), r.out.String(), r.err.String(), time.Since(r.started)}
}

// OK runs lab and fails the test when its status is not 0.
func (l *Lab) OK(args ...string) Result {
	l.t.Helper()
	return l.Want(0, args...)
}

// Want runs lab and fails the test when its status is another one.
func (l *Lab) Want(code int, args ...string) Result {
	l.t.Helper()
	r := l.Run(args...)
	if r.Code != code {
		l.t.Fatalf("lab %s: exit status %d, want %d\n%s%s\n%s", strings.Join(args, " "), r.Code, code, r.Out, r.Err, l.logs())
	}
	return r
}

func (l *Lab) logs() string {
	raw, _ := os.ReadFile(filepath.Join(l.Dir(), ".lab", "log", "session.log"))
	return string(raw)
}

// Dir is the learner's folder of 08-xds.
func (l *Lab) Dir() string { return filepath.Join(l.Wd, "08-xds") }

// File is the learner's snapshot.yaml.
func (l *Lab) File() string { return filepath.Join(l.Dir(), "snapshot.yaml") }

// Edit changes the file as an editor does that writes it in place.
func (l *Lab) Edit(old, with string) {
	l.t.Helper()
	raw, err := os.ReadFile(l.File())
	if err != nil {
		l.t.Fatal(err)
	}
	if !strings.Contains(string(raw), old) {
		l.t.Fatalf("%q is not in the file:\n%s", old, raw)
	}
	if err := os.WriteFile(l.File(), []byte(strings.Replace(string(raw), old, with, 1)), 0o600); err != nil {
		l.t.Fatal(err)
	}
}

// Status is lab status -o json.
func (l *Lab) Status() report.Status {
	l.t.Helper()
	var st report.Status
	r := l.OK("status", "-o", "json")
	if err := json.Unmarshal([]byte(r.Out), &st); err != nil {
		l.t.Fatalf("%v\n%s", err, r.Out)
	}
	return st
}

// Events is the journal.
func (l *Lab) Events() []journal.Event {
	l.t.Helper()
	events, _, err := journal.ReadFile(filepath.Join(l.Dir(), ".lab", "journal.jsonl"))
	if err != nil {
		l.t.Fatal(err)
	}
	return events
}

// Await waits until cond holds, and fails the test with what it waited for
// after half a minute.
func (l *Lab) Await(what string, cond func() bool) {
	l.t.Helper()
	deadline := time.After(30 * time.Second)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-tick.C:
		case <-deadline:
			l.t.Fatalf("waited 30 s for: %s", what)
		}
	}
}

// Event waits for an event in the journal.
func (l *Lab) Event(what string, is func(journal.Event) bool) journal.Event {
	l.t.Helper()
	var found journal.Event
	l.Await(what, func() bool {
		for _, e := range l.Events() {
			if is(e) {
				found = e
				return true
			}
		}
		return false
	})
	return found
}

// Processes are those that were started from this place.
func (l *Lab) Processes() []string {
	return processesWith(l.Wd)
}

// processesWith lists the processes whose command line has the text.
func processesWith(text string) []string {
	var out []string
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range files {
		raw, err := os.ReadFile(f)
		line := strings.ReplaceAll(string(raw), "\x00", " ")
		if err == nil && strings.Contains(line, text) {
			out = append(out, filepath.Base(filepath.Dir(f))+" "+line)
		}
	}
	return out
}

// cleanUp stops what runs and complains about what a stop left.
func (l *Lab) cleanUp() {
	if _, err := os.Stat(filepath.Join(l.Dir(), ".lab", "run.json")); err == nil {
		if r := l.Run("stop", "--dir", l.Dir()); r.Code != 0 {
			l.t.Errorf("lab stop: %d %s%s", r.Code, r.Out, r.Err)
		}
	}
	for _, p := range l.Processes() {
		l.t.Errorf("left behind: %s", p)
		word, _, _ := strings.Cut(p, " ")
		if pid, err := strconv.Atoi(word); err == nil {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}
