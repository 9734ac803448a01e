package envoy

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"lab/pkg/problem"
	"lab/pkg/words"
)

const (
	said1400 = "#!/bin/sh\necho 'envoy  version: 9e558093/1.40.0/Clean/RELEASE/BoringSSL'\n"
	said1383 = "#!/bin/sh\necho 'envoy  version: 9e558093/1.38.3/Clean/RELEASE/BoringSSL'\n"
)

// testFinder is a finder of an empty cache on which nothing can be found.
func testFinder(t *testing.T) *finder {
	t.Helper()
	f, err := newFinder(Options{CacheDir: filepath.Join(t.TempDir(), "cache")})
	if err != nil {
		t.Fatal(err)
	}
	f.lookPath = func(string) (string, error) { return "", exec.ErrNotFound }
	f.archiveURL = "http://127.0.0.1:1/envoy-versions.json" // refuses
	return f
}

// wantProblem fails unless err is the problem with this code, and the code has
// its words and fills them.
func wantProblem(t *testing.T, err error, code string) *problem.Problem {
	t.Helper()
	var p *problem.Problem
	if !errors.As(err, &p) || p.Code != code {
		t.Fatalf("error %v (%+v); want problem %s", err, p, code)
	}
	for _, lang := range words.Languages {
		w := words.For(lang)
		for _, s := range []string{p.What(w), p.Fix(w), w.T("problem."+code+".page", nil)} {
			if s == "" || strings.Contains(s, "<no value>") || strings.HasPrefix(s, "<problem.") {
				t.Errorf("%s words of %s: %q", lang, code, s)
			}
		}
	}
	return p
}

// wantNothingLeft fails when the cache holds anything but lock files.
func wantNothingLeft(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".lock") {
			t.Errorf("left in the cache: %s", e.Name())
		}
	}
}

func script(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFindRefusesUnusableBinary(t *testing.T) {
	t.Parallel()
	plain := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(plain, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	other := map[string]string{"amd64": "\xb7\x00", "arm64": "\x3e\x00"}[runtime.GOARCH] // e_machine of the other one
	elf := "\x7fELF\x02\x01\x01" + strings.Repeat("\x00", 9) + "\x02\x00" + other + "\x01\x00\x00\x00" + strings.Repeat("\x00", 28) +
		"\x40\x00\x38\x00\x00\x00\x40\x00\x00\x00\x00\x00"
	for name, c := range map[string]struct{ path, code string }{
		"no file":        {filepath.Join(t.TempDir(), "nosuch"), "envoy.no-file"},
		"folder":         {t.TempDir(), "envoy.not-executable"},
		"no permission":  {plain, "envoy.not-executable"},
		"another tool":   {script(t, "envoy", "#!/bin/sh\necho hello\n"), "envoy.not-envoy"},
		"no program":     {script(t, "envoy", "\x00\x01garbage"), "envoy.not-envoy"},
		"wrong arch":     {script(t, "envoy", elf), "envoy.wrong-arch"},
		"missing loader": {script(t, "envoy", "#!/nonexistent/ld-linux.so\n"), "envoy.old-glibc"},
		"old glibc": {script(t, "envoy", "#!/bin/sh\necho \"envoy: /lib/libc.so.6: version \\`GLIBC_2.99' not found\" >&2\nexit 1\n"),
			"envoy.old-glibc"},
		"empty": {script(t, "envoy", ""), "envoy.not-envoy"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := testFinder(t)
			f.Want = c.path
			_, err := f.find(t.Context())
			p := wantProblem(t, err, c.code)
			if name == "old glibc" && p.Args["Needed"] != "2.99" {
				t.Errorf("needed %v", p.Args["Needed"])
			}
			if name == "wrong arch" && (p.Args["Needed"] != runtime.GOARCH || p.Args["Found"] == runtime.GOARCH) {
				t.Errorf("args %v", p.Args)
			}
		})
	}
}

func TestFindOrder(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	f := testFinder(t)
	path := script(t, "envoy", said1383)
	f.lookPath = func(string) (string, error) { return path, nil }

	b, err := f.find(ctx)
	if err != nil || b.From != FromPath || b.Version != "1.38.3" || b.Path != path {
		t.Fatalf("any supported version on PATH will do: %+v, %v", b, err)
	}
	fill(t, f, "1.40.0", said1400)
	if b, err = f.find(ctx); err != nil || b.From != FromCache || b.Version != "1.40.0" {
		t.Fatalf("the cache goes before PATH: %+v, %v", b, err)
	}
	f.Want = "v1.38.3"
	if b, err = f.find(ctx); err != nil || b.From != FromPath {
		t.Fatalf("the wanted version is on PATH: %+v, %v", b, err)
	}
	f.Want = path
	if b, err = f.find(ctx); err != nil || b.From != FromFlag || len(b.SHA256) != 64 {
		t.Fatalf("a path: %+v, %v", b, err)
	}
	f.Want = "1.12.0"
	_, err = f.find(ctx)
	p := wantProblem(t, err, "envoy.unsupported-version")
	if s := p.Error(); !strings.Contains(s, "1.36.4, 1.37.0, 1.38.3, 1.39.3, 1.40.0") || p.Exit != problem.Usage {
		t.Errorf("%d %s", p.Exit, s)
	}
}

// fill puts a binary into the cache as a fetch does.
func fill(t *testing.T, f *finder, version, text string) {
	t.Helper()
	if err := os.MkdirAll(f.CacheDir, 0o700); err != nil {
		t.Fatal(err)
	}
	tmp := filepath.Join(f.CacheDir, "tmp")
	if err := os.Mkdir(tmp, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(tmp, "envoy"), []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	sum, err := hashFile(filepath.Join(tmp, "envoy"))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.install(tmp, version, sum); err != nil {
		t.Fatal(err)
	}
}

func TestCacheNoticesDamage(t *testing.T) {
	t.Parallel()
	f := testFinder(t)
	fill(t, f, "1.40.0", said1400)
	binary := filepath.Join(f.dir("1.40.0"), "envoy")
	if b := f.cached("1.40.0"); b == nil || b.Path != binary {
		t.Fatalf("cached: %+v", b)
	}
	touched := time.Now().Add(time.Hour)
	if err := os.Chtimes(binary, touched, touched); err != nil {
		t.Fatal(err)
	}
	if f.cached("1.40.0") == nil {
		t.Error("another time with the same content is not trusted")
	}
	if err := os.WriteFile(binary, []byte(said1383), 0o700); err != nil {
		t.Fatal(err)
	}
	if b := f.cached("1.40.0"); b != nil {
		t.Errorf("changed content of the same size is trusted: %+v", b)
	}
	fill(t, f, "1.40.0", said1400) // replaces the damaged one
	if f.cached("1.40.0") == nil {
		t.Error("not replaced")
	}
	record := filepath.Join(f.dir("1.40.0"), "envoy.json")
	for _, bad := range []string{"", "{", `{"version":"1.38.3"}`} {
		if err := os.WriteFile(record, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if b := f.cached("1.40.0"); b != nil {
			t.Errorf("record %q is trusted: %+v", bad, b)
		}
	}
}

func TestDoctorNamesWhatIsMissing(t *testing.T) {
	t.Parallel()
	f := testFinder(t)
	f.lookPath = func(name string) (string, error) {
		if name == "apt-get" {
			return "/usr/bin/apt-get", nil
		}
		return "", exec.ErrNotFound
	}
	f.free = func(string) (int64, error) { return 1 << 20, nil }
	got := levels(t, f.doctor(t.Context()))
	for code, want := range map[string]Level{"envoy-fetch": Note, "pip": Bad, "disk": Bad, "shm": OK} {
		if got[code].Level != want {
			t.Errorf("%s: %q, want %q", code, got[code].Level, want)
		}
	}
	if fix := got["pip"].Fix(words.English()); fix != "sudo apt-get install -y python3-pip" {
		t.Errorf("pip fix %q", fix)
	}

	f.free = func(string) (int64, error) { return 1 << 40, nil }
	if got := levels(t, f.doctor(t.Context())); got["cache"].Level != OK {
		t.Errorf("with room: %v", got)
	}
	fill(t, f, "1.40.0", said1400)
	if got := levels(t, f.doctor(t.Context())); got["envoy"].Level != OK || len(got) != 2 {
		t.Errorf("with a cached Envoy: %v", got)
	}
	f.Want = "/nonexistent/envoy"
	if got := levels(t, f.doctor(t.Context())); got["envoy"].Level != Bad || got["envoy"].Problem.Code != "envoy.no-file" {
		t.Errorf("with a wrong path: %v", got)
	}
	if f := shmFinding("/nonexistent"); f.Level != Bad {
		t.Errorf("no shared memory: %v", f)
	}
}

// levels maps the findings by code and checks that each has its words.
func levels(t *testing.T, findings []Finding) map[string]Finding {
	t.Helper()
	out := map[string]Finding{}
	for _, f := range findings {
		out[f.Code] = f
		for _, lang := range words.Languages {
			w := words.For(lang)
			for _, s := range []string{f.What(w), f.Fix(w)} {
				if strings.HasPrefix(s, "<doctor") || strings.Contains(s, "<no value>") {
					t.Errorf("%s words: %s", lang, s)
				}
			}
			if f.What(w) == "" || f.Level == Bad && f.Fix(w) == "" {
				t.Errorf("%s words of %s are missing", lang, f.Code)
			}
		}
	}
	return out
}

// testEnvoy is the Envoy that the tests run: LAB_TEST_ENVOY (path or version),
// or what lab itself would use.
func testEnvoy(t *testing.T) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	b, err := Find(ctx, Options{Want: os.Getenv("LAB_TEST_ENVOY")})
	if err != nil {
		t.Fatalf("no Envoy to test with: %v", err)
	}
	return b.Path
}
