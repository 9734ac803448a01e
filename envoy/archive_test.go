package envoy

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/ulikunitz/xz/v2"
)

const tarballName = "envoy-v1.40.0.tar.xz"

// tarXZ packs files the way the archived releases are packed.
func tarXZ(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var buf bytes.Buffer
	z, err := xz.NewWriter(&buf)
	if err != nil {
		t.Fatal(err)
	}
	w := tar.NewWriter(z)
	for name, text := range files {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(text)), Typeflag: tar.TypeReg}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// archiveFinder has no pip, and an archive that serves these bytes under a
// list with this hash.
func archiveFinder(t *testing.T, version string, served []byte, size int, sum string) *finder {
	t.Helper()
	f := testFinder(t)
	mux := http.NewServeMux()
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	mux.HandleFunc("/envoy-versions.json", func(rw http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(rw).Encode(map[string]any{
			"versions": map[string]any{version: map[string]any{
				"releaseDate": "2026-10-01",
				"tarballs":    map[string]string{f.platform: srv.URL + "/" + tarballName},
			}},
			"sha256sums": map[string]string{tarballName: sum},
		})
	})
	mux.HandleFunc("/"+tarballName, func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Length", strconv.Itoa(size))
		_, _ = rw.Write(served)
	})
	f.archiveURL = srv.URL + "/envoy-versions.json"
	return f
}

func TestFetchOverArchive(t *testing.T) {
	t.Parallel()
	raw := tarXZ(t, map[string]string{
		"envoy-v1.40.0/bin/envoy": said1400,
		"README":                  "no folder",
	})
	f := archiveFinder(t, "1.40.0", raw, len(raw), sumOf(raw))
	b, err := f.find(t.Context())
	if err != nil || b.From != FromArchive || b.Version != "1.40.0" || b.SHA256 != sumOf([]byte(said1400)) {
		t.Fatalf("%+v, %v", b, err)
	}
	var names []string
	_ = filepath.WalkDir(filepath.Dir(f.CacheDir), func(path string, d os.DirEntry, _ error) error {
		if d != nil && !d.IsDir() && filepath.Ext(path) != ".lock" {
			names = append(names, d.Name())
		}
		return nil
	})
	if len(names) != 2 || names[0] != "envoy" || names[1] != "envoy.json" {
		t.Errorf("in the cache: %v", names)
	}
	if b, err := f.find(t.Context()); err != nil || b.From != FromCache {
		t.Errorf("second: %+v, %v", b, err)
	}
}

func TestArchiveFailures(t *testing.T) {
	t.Parallel()
	raw := tarXZ(t, map[string]string{"envoy-v1.40.0/bin/envoy": said1400})
	other := tarXZ(t, map[string]string{"envoy-v1.40.0/bin/envoy": said1383})
	empty := tarXZ(t, map[string]string{"envoy-v1.40.0/bin/other": said1400})
	hostile := tarXZ(t, map[string]string{
		"envoy-v1.40.0/bin/envoy":          said1400,
		"envoy-v1.40.0/../../../../escape": "evil",
	})
	for name, c := range map[string]struct {
		version string
		served  []byte
		size    int
		sum     string
		code    string
	}{
		"wrong hash":        {"1.40.0", other, len(other), sumOf(raw), "envoy.wrong-hash"},
		"no hash published": {"1.40.0", raw, len(raw), "", "envoy.no-python"},
		"half download":     {"1.40.0", raw[:len(raw)/2], len(raw), sumOf(raw), "envoy.no-python"},
		"not listed":        {"1.39.9", raw, len(raw), sumOf(raw), "envoy.no-python"},
		"leads outside":     {"1.40.0", hostile, len(hostile), sumOf(hostile), "envoy.no-python"},
		"no envoy in it":    {"1.40.0", empty, len(empty), sumOf(empty), "envoy.no-python"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := archiveFinder(t, c.version, c.served, c.size, c.sum)
			b, err := f.find(t.Context())
			if err == nil {
				t.Fatalf("found %+v", b)
			}
			p := wantProblem(t, err, c.code)
			if c.code == "envoy.no-python" && p.Args["Archive"] == "" {
				t.Errorf("the archive's reason is missing: %v", p.Args)
			}
			t.Log(p)
			wantNothingLeft(t, f.CacheDir)
		})
	}
}
