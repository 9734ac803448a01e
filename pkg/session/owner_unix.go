//go:build unix

package session

import (
	"os"
	"syscall"

	"lab/pkg/problem"
)

// ownedByUs refuses a folder that another user made before us under the name
// we would use, or that others may enter.
func ownedByUs(dir string) error {
	st, err := os.Lstat(dir)
	if err != nil {
		return writeProblem(dir, err)
	}
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !st.IsDir() || st.Mode().Perm()&0o077 != 0 || (ok && int(sys.Uid) != os.Getuid()) {
		return problem.New("session.socket-folder", problem.Args{"Dir": dir})
	}
	return nil
}
