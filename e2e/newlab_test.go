package e2e

import (
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lab/pkg/labtest"
	"lab/pkg/prove"
)

// What `lab dev new` writes is one folder, and a lab that lints clean and is
// proved on the real Envoy as it stands. The same lab with a check that always
// passes lints clean too, and is not proved.
func TestNewLab(t *testing.T) {
	t.Parallel()
	const good, lax = "99-good", "98-lax"
	l := labtest.New(t)
	l.OK("dev", "new", good)
	files := filesBelow(t, l.Wd)
	for _, f := range files {
		if !strings.HasPrefix(f, "labs/"+good+"/") {
			t.Errorf("%s is outside of the new lab's folder", f)
		}
	}
	refused(t, l, 3, "cli.lab-exists", "dev", "new", good)
	l.OK("dev", "new", lax)
	passAlways(t, filepath.Join(l.Wd, "labs", lax, "steps", "01-first.yaml"))

	compileIn(t, l, filesBelow(t, l.Wd))
	if r := l.OK("dev", "lint"); !strings.Contains(r.Out, good) || !strings.Contains(r.Out, lax) {
		t.Errorf("the new labs are not among those that were linted: %s", r.Out)
	}
	m := proof(t, l, good, 0)
	for kind, p := range map[string]prove.Pair{"accepted": m.Rows[0].Accepted, "wrong": m.Rows[0].Wrong} {
		n := len(slices.DeleteFunc(slices.Clone(files), func(f string) bool { return !strings.Contains(f, "/"+kind+"/") }))
		if n == 0 || p != (prove.Pair{Right: n, Of: n}) {
			t.Errorf("%s: %s as they must be, the folder has %d", kind, p, n)
		}
	}
	m = proof(t, l, lax, 1)
	if !slices.Contains(m.Unkilled, "first/accepted") || m.Rows[0].Wrong.Right != 0 || m.Rows[0].Other.Right != 0 {
		t.Errorf("a check that always passes is not found out:\n%s", m.Text())
	}
}

// passAlways spoils the check of a step.
func passAlways(t *testing.T, file string) {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text := string(raw)
	for _, c := range [][2]string{
		{"pass: size(right) > 0", "pass: size(right) >= 0"},
		{"when: size(right) == 0 && !settled", "when: size(right) < 0"},
	} {
		if !strings.Contains(text, c[0]) {
			t.Fatalf("%s has no %q", file, c[0])
		}
		text = strings.Replace(text, c[0], c[1], 1)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// filesBelow lists the files of a folder, from it.
func filesBelow(t *testing.T, dir string) (out []string) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			out = append(out, name)
		}
		return err
	})
	if err != nil || len(out) == 0 {
		t.Fatalf("no files in %s: %v", dir, err)
	}
	return out
}

// compileIn makes l.Bin a lab with these files of its working folder, as if
// they stood in the repository.
func compileIn(t *testing.T, l *labtest.Lab, files []string) {
	t.Helper()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	for _, f := range files {
		overlay.Replace[filepath.Join(root, f)] = filepath.Join(l.Wd, f)
	}
	raw, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	file := filepath.Join(home, "overlay.json")
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	l.Bin = filepath.Join(home, "lab")
	build := exec.CommandContext(t.Context(), "go", "build", "-overlay", file, "-o", l.Bin, "./cmd/lab")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
}

// proof is what `lab dev prove` finds. Its runs are below the working folder,
// where those that are left behind are found.
func proof(t *testing.T, l *labtest.Lab, lab string, code int) (m prove.Matrix) {
	t.Helper()
	l.Setenv("TMPDIR", l.Wd)
	cmd := l.Command("dev", "prove", lab, "-o", "json") // may take more than the minute of l.Run
	out, _ := cmd.Output()
	if err := json.Unmarshal(out, &m); err != nil || len(m.Rows) != 1 || cmd.ProcessState.ExitCode() != code {
		t.Fatalf("exit status %d, want %d; %v\n%s", cmd.ProcessState.ExitCode(), code, err, out)
	}
	return m
}
