package e2e

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"lab/pkg/journal"
	"lab/pkg/labtest"
)

// withMounts runs the rest of a test in a process with mounts of its own, as
// root of a user namespace where it is not root: nothing of them is left on
// the machine, however the test ends. It gives false in the outer process.
func withMounts(t *testing.T) bool {
	t.Helper()
	const inside = "LAB_TEST_MOUNTS"
	if os.Getenv(inside) != "" {
		if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
			t.Fatal(err)
		}
		return true
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v", "-test.count=1", "-test.timeout=2m")
	cmd.Env = append(os.Environ(), inside+"=1", "LAB_TEST_ENVOY="+labtest.Envoy(t))
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	if os.Getuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	return false
}

// small puts the working folder on a file system of that size.
func small(t *testing.T, l *labtest.Lab, size string) {
	t.Helper()
	mount(t, "tmpfs", l.Wd, "tmpfs", 0, "size="+size)
	unmountAtEnd(t, l)
}

func resize(t *testing.T, l *labtest.Lab, size string) {
	t.Helper()
	mount(t, "tmpfs", l.Wd, "tmpfs", syscall.MS_REMOUNT, "size="+size)
}

func mount(t *testing.T, source, target, kind string, flags uintptr, options string) {
	t.Helper()
	if err := syscall.Mount(source, target, kind, flags, options); err != nil {
		t.Fatalf("mount %s: %v", target, err)
	}
}

// unmountAtEnd comes before the place cleans up, so it stops what runs there.
func unmountAtEnd(t *testing.T, l *labtest.Lab) {
	t.Cleanup(func() {
		l.Run("stop", "--dir", l.Dir())
		if err := syscall.Unmount(l.Wd, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
}

// fill takes all space that is left, and gives it back.
func fill(t *testing.T, dir string) (giveBack func()) {
	t.Helper()
	name := filepath.Join(dir, "filler")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	block := make([]byte, 1<<20)
	for len(block) > 0 {
		if _, err := f.Write(block); errors.Is(err, syscall.ENOSPC) {
			block = block[:len(block)/2]
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
}

// A disk that is full before the start: told, nothing half-written, and the
// start works when there is space.
func TestFullDiskBeforeStart(t *testing.T) {
	t.Parallel()
	if !withMounts(t) {
		return
	}
	l := labtest.New(t)
	small(t, l, "16k")
	for _, size := range []string{"16k", "1m"} { // too small for run.json; for the program
		resize(t, l, size)
		giveBack := func() {}
		if size == "16k" {
			giveBack = fill(t, l.Wd)
		}
		r := l.Want(3, "start", "08-xds", "-o", "json")
		if code := refusal(t, r); code != "session.unwritable" || !strings.Contains(r.Out, "no space left") {
			t.Errorf("%s: %s", size, r.Out)
		}
		giveBack()
		halves(t, l)
	}
	resize(t, l, "400m")
	l.OK("start", "08-xds")
	serving(t, l)
	stopped(t, l, l.Dir())
}

// halves wants no file that was begun and not finished, and no process.
func halves(t *testing.T, l *labtest.Lab) {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(l.Dir(), ".lab", "*.*.*"))
	more, _ := filepath.Glob(filepath.Join(l.Dir(), ".lab", "lab*"))
	own, _ := filepath.Glob(filepath.Join(l.Dir(), "*.*.*"))
	for _, f := range append(append(files, more...), own...) {
		if filepath.Base(f) != "lab" {
			t.Errorf("half-written: %s", f)
		}
	}
	for _, p := range l.Processes() {
		t.Errorf("left: %s", p)
	}
}

// The disk fills up while the run is on: what cannot be recorded is refused,
// files stay whole, traffic goes on, and with space the run goes on as well. A
// grade says that it cannot tell, since evidence is missing.
func TestFullDiskInRun(t *testing.T) {
	t.Parallel()
	if !withMounts(t) {
		return
	}
	l := labtest.New(t)
	small(t, l, "400m")
	l.OK("start", "08-xds")
	l.OK("goto", "endpoint-removal")
	serving(t, l)
	giveBack := fill(t, l.Wd)
	before, err := os.ReadFile(l.File())
	if err != nil {
		t.Fatal(err)
	}
	l.Await("a full disk to be told", func() bool { return l.Run("hint").Code == 3 })
	for _, args := range [][]string{
		{"check", "--wait", "100ms"}, {"hint"}, {"goto", "nack"}, {"reset"}, {"upstream", "set", "orders-1", "delay=1s"},
		{"control-plane", "restart"}, {"envoy", "restart"}, {"start", "08-xds"},
	} {
		refused(t, l, 3, "session.unwritable", args...)
	}
	kill(t, l, "control-plane")
	refused(t, l, 3, "session.unwritable", "start", "08-xds")
	if after, err := os.ReadFile(l.File()); err != nil || string(after) != string(before) {
		t.Errorf("the learner's file was changed: %v\n%s", err, after)
	}
	if r := l.OK("send", "-n", "10", "-o", "json"); document(t, r)["failed"] != float64(0) {
		t.Errorf("requests failed\n%s", r.Out)
	}
	document(t, l.OK("status", "-o", "json"))
	giveBack()
	l.Event("the note of what was lost", func(e journal.Event) bool { return e.Note != nil && e.Note.Code == "lost" })
	document(t, l.Want(2, "check", "-o", "json", "--wait", "100ms"))
	l.OK("start", "08-xds")
	l.OK("reset")
	serving(t, l)
	document(t, l.Want(1, "check", "-o", "json", "--wait", "100ms"))
	stopped(t, l, l.Dir())
	halves := l.Events() // readable as a whole
	if halves[len(halves)-1].Process == nil {
		t.Errorf("the journal ends with %+v", halves[len(halves)-1])
	}
}

// The disk is full when the run is stopped.
func TestStopOnFullDisk(t *testing.T) {
	t.Parallel()
	if !withMounts(t) {
		return
	}
	l := labtest.New(t)
	small(t, l, "400m")
	l.OK("start", "08-xds")
	giveBack := fill(t, l.Wd)
	stopped(t, l, l.Dir())
	l.OK("stop")
	giveBack()
	l.OK("start")
	serving(t, l)
	stopped(t, l, l.Dir())
}

// A folder on a read-only file system.
func TestReadOnlyFolder(t *testing.T) {
	t.Parallel()
	if !withMounts(t) {
		return
	}
	l := labtest.New(t)
	l.OK("start", "08-xds")
	l.OK("stop")
	mount(t, l.Wd, l.Wd, "", syscall.MS_BIND, "")
	unmountAtEnd(t, l)
	mount(t, "", l.Wd, "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY, "")
	for _, args := range [][]string{{"start"}, {"start", "08-xds", "--dir", filepath.Join(l.Wd, "new")}} {
		r := l.Want(3, append(args, "-o", "json")...)
		if code := refusal(t, r); code != "session.unwritable" || !strings.Contains(r.Out, "read-only") {
			t.Errorf("%q: %s", args, r.Out)
		}
	}
	refused(t, l, 3, "session.stopped", "status", "--dir", l.Dir())
	document(t, l.OK("stop", "-o", "json", "--dir", l.Dir()))
	nothingLeft(t, l, load(t, l.Dir()))
}
