package envoy

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// shmDir is where Linux shows the shared memory of shm_open(3). Other systems
// show it nowhere, so there nothing can be looked up or removed.
const shmDir = "/dev/shm"

// Envoy multiplies a base id by ten and keeps it in 32 bits. Small ids are the
// ones that people choose by hand.
const (
	minBaseID = 1_000_000
	maxBaseID = 400_000_000
)

// PickBaseID chooses a base id whose shared memory is not there, so that two
// runs on one machine do not take each other for parent and child.
func PickBaseID(rnd *rand.Rand) (int, error) { return pickBaseID(rnd, shmDir) }

func pickBaseID(rnd *rand.Rand, dir string) (int, error) {
	for range 100 {
		id := minBaseID + rnd.IntN(maxBaseID-minBaseID)
		if _, err := os.Lstat(shmFile(dir, id)); errors.Is(err, fs.ErrNotExist) {
			return id, nil
		}
	}
	return 0, fmt.Errorf("no free base id among 100 tried: see %s", dir)
}

// CleanShm removes the shared memory that an Envoy of this base id left
// behind. No Envoy with the id may be running. What is not a plain file of
// this user is left alone and reported.
func CleanShm(baseID int) error { return cleanShm(shmDir, baseID) }

func cleanShm(dir string, baseID int) error {
	file := shmFile(dir, baseID)
	info, err := os.Lstat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.Mode().IsRegular() || int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("%s is not a plain file of this user: left alone", file)
	}
	return os.Remove(file)
}

// shmFile names the file of a base id: Envoy appends a digit of its own.
func shmFile(dir string, baseID int) string {
	return filepath.Join(dir, fmt.Sprintf("envoy_shared_memory_%d0", baseID))
}

// holder tells which process runs with the base id ("pid 4711 (envoy -c …)"),
// other than the one that found it taken, or "" when /proc does not show it.
func holder(baseID, except int) string {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline") // the pattern is well formed
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			continue // ended, or another user's
		}
		argv := strings.Split(string(bytes.TrimRight(raw, "\x00")), "\x00")
		pid := filepath.Base(filepath.Dir(f))
		if pid != strconv.Itoa(except) && hasBaseID(argv, strconv.Itoa(baseID)) {
			return fmt.Sprintf("pid %s (%s)", pid, strings.Join(argv, " "))
		}
	}
	return ""
}

func hasBaseID(argv []string, id string) bool {
	for i, a := range argv {
		if a == "--base-id="+id || a == "--base-id" && i+1 < len(argv) && argv[i+1] == id {
			return true
		}
	}
	return false
}
