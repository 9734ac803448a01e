package e2e

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lab/pkg/labtest"
)

// The learner's folder is deleted while the run is on: each command says so,
// stop works from anywhere, and a start in its place is a new run.
func TestFolderDeleted(t *testing.T) {
	t.Parallel()
	l := labtest.New(t)
	l.OK("start", "08-xds")
	run := load(t, l.Dir())
	if err := os.RemoveAll(l.Dir()); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"status", "check", "answer", "hint"} {
		refused(t, l, 3, "session.folder-gone", name)
	}
	l.OK("start", "08-xds")
	again := load(t, l.Dir())
	if again.ID == run.ID {
		t.Error("the deleted run came back")
	}
	if err := os.RemoveAll(l.Dir()); err != nil {
		t.Fatal(err)
	}
	if r := fromNowhere(l, "stop", "-o", "json"); r.Code != 0 || document(t, r)["was"] != "stray" {
		t.Errorf("stop: %d %s%s", r.Code, r.Out, r.Err)
	}
	nothingLeft(t, l, run)
	nothingLeft(t, l, again)
	refused(t, l, 3, "session.no-run", "stop")
}

// fromNowhere runs lab in a working folder that was deleted.
func fromNowhere(l *labtest.Lab, args ...string) labtest.Result {
	cmd := l.Command(args...)
	cmd.Args = append([]string{"sh", "-c", `mkdir "$1" && cd "$1" && rmdir "$1" && shift && exec "$@"`, "sh",
		filepath.Join(l.Wd, "nowhere"), l.Bin}, args...)
	cmd.Path = "/bin/sh"
	return l.BeginCommand(cmd).Wait()
}

// The folder is moved while the run is on: told in both places. After a stop
// it is started where it is now, with everything that was done.
func TestFolderMoved(t *testing.T) {
	t.Parallel()
	l := labtest.New(t)
	l.OK("start", "08-xds")
	l.OK("goto", "endpoint-removal")
	moved := filepath.Join(l.Wd, "elsewhere")
	run := load(t, l.Dir())
	if err := os.Rename(l.Dir(), moved); err != nil {
		t.Fatal(err)
	}
	refused(t, l, 3, "session.folder-gone", "status")
	refused(t, l, 3, "session.folder-gone", "status", "--dir", moved)
	refused(t, l, 3, "session.folder-gone", "start", "--dir", moved)
	stopped(t, l, moved)
	l.OK("start", "--dir", moved)
	st := serving(t, l)
	if st.Step != "endpoint-removal" || st.Dir != moved {
		t.Errorf("step %s in %s", st.Step, st.Dir)
	}
	samePorts(t, run, load(t, moved))
	stopped(t, l, moved)
}

// A working folder that was deleted: commands about the last active run work,
// and one that needs the folder says what is wrong.
func TestDeletedWorkingFolder(t *testing.T) {
	t.Parallel()
	l := labtest.New(t)
	l.OK("start", "08-xds")
	dir := l.Dir()
	if r := fromNowhere(l, "status", "-o", "json"); r.Code != 0 || document(t, r)["dir"] != dir {
		t.Errorf("status: %d %s%s", r.Code, r.Out, r.Err)
	}
	if r := fromNowhere(l, "start", "08-xds", "-o", "json"); r.Code != 3 || refusal(t, r) != "session.unreadable" {
		t.Errorf("start: %d %s%s", r.Code, r.Out, r.Err)
	}
	if r := fromNowhere(l, "stop", "-o", "json"); r.Code != 0 {
		t.Errorf("stop: %d %s%s", r.Code, r.Out, r.Err)
	}
	nothingLeft(t, l, load(t, dir))
}

// run.json that no lab wrote is refused by each command, and nothing that it
// names is touched. A session that runs is stopped all the same.
func TestRunFileDamaged(t *testing.T) {
	t.Parallel()
	l := labtest.New(t)
	l.OK("start", "08-xds")
	file := filepath.Join(l.Dir(), ".lab", "run.json")
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	precious := filepath.Join(l.Wd, "precious")
	if err := os.WriteFile(precious, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	for text, code := range map[string]string{
		"":                                  "session.run-file",
		"null":                              "session.run-file",
		"{}":                                "session.run-file",
		string(whole[:len(whole)/2]):        "session.run-file",
		with(t, whole, "socket", precious):  "session.run-file",
		with(t, whole, "id", "../../x"):     "session.run-file",
		with(t, whole, "format_version", 2): "session.newer-format",
		with(t, whole, "ports", map[string]any{"http": -1}): "session.run-file",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"status", "check", "start", "journal"} {
			refused(t, l, 3, code, name, "--dir", l.Dir())
		}
	}
	document(t, l.OK("stop", "-o", "json", "--dir", l.Dir()))
	if err := os.WriteFile(file, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	nothingLeft(t, l, load(t, l.Dir()))
	if raw, err := os.ReadFile(precious); string(raw) != "mine" {
		t.Errorf("a file that run.json named: %q %v", raw, err)
	}
}

// with is run.json with another value.
func with(t *testing.T, raw []byte, key string, value any) string {
	t.Helper()
	var doc map[string]any
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	doc = maps.Clone(doc)
	doc[key] = value
	out, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// What a killed session leaves behind, and what somebody else put there, does
// not keep a start from working.
func TestStaleSocketAndLock(t *testing.T) {
	t.Parallel()
	l := labtest.New(t)
	l.OK("start", "08-xds")
	run := load(t, l.Dir())
	kill(t, l, "session")
	if err := os.Remove(run.Socket); err != nil {
		t.Errorf("a killed session leaves its socket: %v", err)
	}
	if err := os.WriteFile(run.Socket, []byte("no socket"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(l.Dir(), ".lab", "lock"), []byte("4711\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	refused(t, l, 3, "session.dead", "status")
	l.OK("start", "08-xds")
	serving(t, l)
	samePorts(t, run, load(t, l.Dir()))
	if err := os.Remove(run.Socket); err != nil { // a cleaner of temp folders does this
		t.Fatal(err)
	}
	refused(t, l, 3, "session.silent", "status")
	stopped(t, l, l.Dir())
}

// The lock file is deleted while the session runs: no second session starts.
func TestLockDeleted(t *testing.T) {
	t.Parallel()
	l := labtest.New(t)
	l.OK("start", "08-xds")
	pid := pidOf(l, "session")
	if err := os.Remove(filepath.Join(l.Dir(), ".lab", "lock")); err != nil {
		t.Fatal(err)
	}
	l.OK("start", "08-xds")
	if now := pidOf(l, "session"); now != pid {
		t.Errorf("session %d, was %d", now, pid)
	}
	stopped(t, l, l.Dir())
}

// A path under a file, and a file where the folder should be.
func TestNoFolder(t *testing.T) {
	t.Parallel()
	l := labtest.New(t)
	file := filepath.Join(l.Wd, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{file, filepath.Join(file, "x")} {
		r := l.Want(3, "start", "08-xds", "--dir", dir, "-o", "json")
		if code := refusal(t, r); code != "session.unwritable" && code != "session.unreadable" {
			t.Errorf("%s: %s\n%s", dir, code, r.Out)
		}
		if !strings.Contains(r.Out, "not a directory") {
			t.Errorf("the reason is missing: %s", r.Out)
		}
	}
	own := filepath.Join(l.Wd, "own")
	if err := os.Mkdir(own, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(own, "snapshot.yaml"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	refused(t, l, 3, "session.foreign-file", "start", "08-xds", "--dir", own)
	if left, _ := filepath.Glob(filepath.Join(own, ".*")); len(left) > 0 {
		t.Errorf("a refused start left %q", left)
	}
	if left := l.Processes(); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}
