package watch

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

const patience = 20 * time.Second

// eye is a watched file.
type eye struct {
	t    testing.TB
	path string
	out  <-chan Event
}

func open(t testing.TB, path string) *eye {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	out, err := File(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		for range out {
		}
		if _, bench := t.(*testing.B); !bench { // those run beside their parent
			goleak.VerifyNone(t)
		}
	})
	return &eye{t, path, out}
}

// saved watches a new file with a text.
func saved(t testing.TB, text string) *eye {
	t.Helper()
	path := filepath.Join(t.TempDir(), "lab", "snapshot.yaml")
	mkdir(t, filepath.Dir(path))
	write(t, path, text)
	e := open(t, path)
	e.want(text)
	return e
}

func (e *eye) next(what string) Event {
	e.t.Helper()
	select {
	case v := <-e.out:
		return v
	case <-time.After(patience):
		e.t.Fatalf("waited %v for %s", patience, what)
		return Event{}
	}
}

// want takes the next event, which must be the save of text.
func (e *eye) want(text string) {
	e.t.Helper()
	if v := e.next("the save of " + brief(text)); v.Kind != Saved || string(v.Text) != text {
		e.t.Fatalf("got %s %s (%v), want %s", v.Kind, brief(string(v.Text)), v.Err, brief(text))
	}
}

func (e *eye) wantKind(k Kind) Event {
	e.t.Helper()
	v := e.next(string(k))
	if v.Kind != k {
		e.t.Fatalf("got %s %s, want %s", v.Kind, brief(string(v.Text)), k)
	}
	return v
}

func brief(s string) string {
	if len(s) > 40 {
		return fmt.Sprintf("%q... (%d bytes)", s[:40], len(s))
	}
	return fmt.Sprintf("%q", s)
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func mkdir(t testing.TB, path string) {
	t.Helper()
	if err := os.MkdirAll(path, 0o700); err != nil {
		t.Fatal(err)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestSaveByWrite(t *testing.T) {
	e := saved(t, "one")
	write(t, e.path, "two")
	e.want("two")
	write(t, e.path, "one")
	e.want("one")
}

func TestSaveByRename(t *testing.T) {
	e := saved(t, "one")
	for i := range 3 {
		text := fmt.Sprint("renamed ", i)
		write(t, e.path+".tmp", text)
		must(t, os.Rename(e.path+".tmp", e.path))
		e.want(text)
	}
}

// An editor that moves the old file away and writes a new one.
func TestSaveWithBackup(t *testing.T) {
	e := saved(t, "one")
	must(t, os.Rename(e.path, e.path+"~"))
	write(t, e.path, "two")
	e.want("two")
}

func TestSaveBySymlinkSwap(t *testing.T) {
	dir := t.TempDir()
	for _, v := range []string{"v1", "v2"} {
		mkdir(t, filepath.Join(dir, v))
		write(t, filepath.Join(dir, v, "snapshot.yaml"), v)
	}
	must(t, os.Symlink("v1", filepath.Join(dir, "..data")))
	must(t, os.Symlink("..data/snapshot.yaml", filepath.Join(dir, "snapshot.yaml")))
	swap := func(to string) {
		must(t, os.Symlink(to, filepath.Join(dir, "tmp")))
		must(t, os.Rename(filepath.Join(dir, "tmp"), filepath.Join(dir, "..data")))
	}
	e := open(t, filepath.Join(dir, "snapshot.yaml"))
	e.want("v1")
	swap("v2")
	e.want("v2")
	swap(filepath.Join(dir, "v1")) // an absolute one
	e.want("v1")
	write(t, filepath.Join(dir, "v1", "snapshot.yaml"), "v1 edited")
	e.want("v1 edited")
}

func TestSaveBySwapOfAParentFolder(t *testing.T) {
	dir := t.TempDir()
	for _, v := range []string{"v1", "v2"} {
		mkdir(t, filepath.Join(dir, v, "deep", "er"))
		write(t, filepath.Join(dir, v, "deep", "er", "snapshot.yaml"), v)
	}
	must(t, os.Symlink("v1", filepath.Join(dir, "current")))
	e := open(t, filepath.Join(dir, "current", "deep", "er", "snapshot.yaml"))
	e.want("v1")
	must(t, os.Symlink("v2", filepath.Join(dir, "tmp")))
	must(t, os.Rename(filepath.Join(dir, "tmp"), filepath.Join(dir, "current")))
	e.want("v2")
}

// The swaps above are heard, not found by patrol.
func TestFoldersOfASymlinkedPath(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	mkdir(t, filepath.Join(dir, "a", "v1", "deep"))
	write(t, filepath.Join(dir, "a", "v1", "deep", "f"), "")
	must(t, os.Symlink("a/v1", filepath.Join(dir, "current")))
	must(t, os.Symlink("loop", filepath.Join(dir, "loop")))
	for path, want := range map[string][]string{
		"current/deep/f":         {"", "a/v1", "a/v1/deep"},
		"current/deep/../deep/f": {"", "a/v1", "a/v1/deep"},
		"current/none/f":         {"", "a/v1"},
		"loop/f":                 {""},
	} {
		var full []string
		for _, w := range want {
			full = append(full, filepath.Join(dir, w))
		}
		if got := folders(dir + "/" + path); !slices.Equal(got, full) {
			t.Errorf("%s: %v, want %v", path, got, full)
		}
	}
}

func TestFileGoneAndBack(t *testing.T) {
	e := saved(t, "one")
	must(t, os.Remove(e.path))
	e.wantKind(Gone)
	write(t, e.path, "one") // the same text is news after it was gone
	e.want("one")
}

func TestFolderDeletedAndBack(t *testing.T) {
	e := saved(t, "one")
	must(t, os.RemoveAll(filepath.Dir(e.path)))
	e.wantKind(Gone)
	mkdir(t, filepath.Dir(e.path))
	write(t, e.path, "two")
	e.want("two")
	write(t, e.path, "three") // the new folder is watched
	e.want("three")
}

func TestFolderMovedAndBack(t *testing.T) {
	e := saved(t, "one")
	dir := filepath.Dir(e.path)
	must(t, os.Rename(dir, dir+".moved"))
	e.wantKind(Gone)
	write(t, filepath.Join(dir+".moved", "snapshot.yaml"), "elsewhere")
	must(t, os.Rename(dir+".moved", dir))
	e.want("elsewhere")
	write(t, e.path, "two")
	e.want("two")
}

// No folder that is watched for its own sake changes here.
func TestGrandparentMovedAndBack(t *testing.T) {
	top := t.TempDir()
	path := filepath.Join(top, "a", "b", "c", "snapshot.yaml")
	mkdir(t, filepath.Dir(path))
	write(t, path, "one")
	e := open(t, path)
	e.want("one")
	must(t, os.Rename(filepath.Join(top, "a"), filepath.Join(top, "z")))
	e.wantKind(Gone)
	mkdir(t, filepath.Dir(path))
	write(t, path, "two")
	e.want("two")
}

func TestFileThatIsNotThereYet(t *testing.T) {
	e := open(t, filepath.Join(t.TempDir(), "not", "yet", "snapshot.yaml"))
	e.wantKind(Gone)
	mkdir(t, filepath.Dir(e.path))
	write(t, e.path, "one")
	e.want("one")
}

func TestUnreadable(t *testing.T) {
	e := saved(t, "one")
	must(t, os.Remove(e.path))
	mkdir(t, e.path)
	if v := e.wantKind(Unreadable); v.Err == nil || !strings.Contains(v.Err.Error(), "regular") {
		t.Errorf("error %v", v.Err)
	}
	must(t, os.Remove(e.path))
	write(t, e.path, "two")
	e.want("two")
}

func TestTooLarge(t *testing.T) {
	e := saved(t, "one")
	big := bytes.Repeat([]byte("x"), MaxSize+1)
	write(t, e.path, string(big))
	if v := e.wantKind(TooLarge); v.Text != nil {
		t.Errorf("%d bytes were kept", len(v.Text))
	}
	write(t, e.path, string(big[1:]))
	e.want(string(big[1:]))
}
