package envoy

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// record is envoy.json beside a cached binary. A binary whose size and time of
// change are the recorded ones is taken without hashing it again: that takes
// about a third of a second, longer than Envoy's own start, and who can set
// the time of a file in this 0700 folder can change the record as well. Where
// they differ the hash decides.
type record struct {
	Version string `json:"version"`
	SHA256  string `json:"sha256"`
	Size    int64  `json:"size"`     // bytes
	MtimeNS int64  `json:"mtime_ns"` // since the Unix epoch
}

// dir is the folder of a version in the cache.
func (f *finder) dir(version string) string {
	return filepath.Join(f.CacheDir, version+"-"+strings.ReplaceAll(f.platform, "/", "-"))
}

// cached gives the cached binary of a version, or nil where there is none that
// can be trusted.
func (f *finder) cached(version string) *Binary {
	dir := f.dir(version)
	raw, err := os.ReadFile(filepath.Join(dir, "envoy.json"))
	if err != nil {
		return nil
	}
	var r record
	if json.Unmarshal(raw, &r) != nil || r.Version != version {
		return nil
	}
	binary := filepath.Join(dir, "envoy")
	info, err := os.Lstat(binary)
	if err != nil || !info.Mode().IsRegular() || info.Mode()&0o100 == 0 || info.Size() != r.Size {
		return nil
	}
	if info.ModTime().UnixNano() != r.MtimeNS {
		if sum, err := hashFile(binary); err != nil || sum != r.SHA256 {
			return nil
		}
	}
	return &Binary{Path: binary, Version: version, SHA256: r.SHA256, From: FromCache}
}

// install moves the binary in tmp, whose hash is known, into the cache. The
// folder appears whole or not at all.
func (f *finder) install(tmp, version, sum string) error {
	binary := filepath.Join(tmp, "envoy")
	info, err := os.Stat(binary)
	if err != nil {
		return err
	}
	raw, err := json.Marshal(record{
		Version: version, SHA256: sum, Size: info.Size(), MtimeNS: info.ModTime().UnixNano(),
	})
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(tmp, "envoy.json"), raw, 0o600); err != nil {
		return err
	}
	for _, p := range []string{binary, filepath.Join(tmp, "envoy.json"), tmp} {
		if err := syncPath(p); err != nil {
			return err
		}
	}
	// What is there was found to be damaged, or it would have been taken.
	if err := os.RemoveAll(f.dir(version)); err != nil {
		return err
	}
	if err := os.Rename(tmp, f.dir(version)); err != nil {
		return err
	}
	return syncPath(f.CacheDir)
}

// syncPath makes a file or folder survive a power cut.
func syncPath(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	return f.Sync()
}

func hashFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
