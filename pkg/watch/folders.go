package watch

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxLinks is how many symlinks are followed on the way to the file.
const maxLinks = 40

// folders gives the folders in which something can happen that changes what an
// absolute path leads to: those that hold the file or a symlink on the way,
// the parent of the file's folder (it may be moved or deleted), and where the
// way ends too early, the last folder that exists.
func folders(path string) []string {
	at, rest := "/", split(path)
	var out []string
	for links := 0; len(rest) > 0; {
		next := filepath.Join(at, rest[0])
		rest = rest[1:]
		fi, err := os.Lstat(next)
		if err != nil {
			out = append(out, at)
			break
		}
		if fi.Mode()&os.ModeSymlink != 0 {
			out = append(out, at)
			target, err := os.Readlink(next)
			if links++; err != nil || links > maxLinks {
				break
			}
			if filepath.IsAbs(target) {
				at = "/"
			}
			rest = append(split(target), rest...)
			continue
		}
		if len(rest) == 0 {
			out = append(out, at, filepath.Dir(at))
		}
		at = next
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// split gives the parts of a path; ".." stays, as a symlink may stand before
// it.
func split(path string) (parts []string) {
	for _, p := range strings.Split(path, "/") {
		if p != "" && p != "." {
			parts = append(parts, p)
		}
	}
	return parts
}
