package watch

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// look is what was found at the path at one moment.
type look struct {
	kind Kind // Saved, Gone, TooLarge or Unreadable
	text []byte
	sum  string
	err  error
	held bool // a process has it open for writing

	stamp os.FileInfo // from before the read; nil where there was none
}

// take looks at the file. Only a regular file is read: opening a fifo would
// wait for a writer.
func take(path string) look {
	fi, err := os.Stat(path)
	if err != nil {
		return missing(err)
	}
	if !fi.Mode().IsRegular() {
		return look{kind: Unreadable, err: fmt.Errorf("%s is not a regular file (%s)", path, fi.Mode().Type())}
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return missing(err)
	}
	defer f.Close()
	if fi, err = f.Stat(); err != nil {
		return missing(err)
	}
	// Before the read: a writer that closes while we read must still count, as
	// what was read may lack its end.
	held := beingWritten(f)
	text, err := io.ReadAll(io.LimitReader(f, MaxSize+1))
	if err != nil {
		return look{kind: Unreadable, err: err}
	}
	sum := sha256.Sum256(text)
	l := look{kind: Saved, text: text, sum: hex.EncodeToString(sum[:]), held: held, stamp: fi}
	if len(text) > MaxSize {
		l.kind, l.text = TooLarge, nil
	}
	return l
}

func missing(err error) look {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return look{kind: Gone}
	}
	return look{kind: Unreadable, err: err}
}

// same tells whether two looks found the same.
func (l look) same(o look) bool {
	return l.kind == o.kind && l.sum == o.sum && fmt.Sprint(l.err) == fmt.Sprint(o.err)
}

// writtenWith tells whether nothing was written between two looks.
func (l look) writtenWith(o look) bool {
	if l.stamp == nil || o.stamp == nil {
		return l.stamp == nil && o.stamp == nil
	}
	return l.stamp.ModTime().Equal(o.stamp.ModTime())
}

// cutOff tells whether l looks like the beginning of a save whose end is still
// to come, or of a move.
func (l look) cutOff(before []byte) bool {
	switch l.kind {
	case Gone:
		return true
	case Saved:
		return len(l.text) == 0 || len(l.text) < len(before) && bytes.HasPrefix(before, l.text)
	}
	return false
}

// Read reads the file as the watcher does: a regular file, of MaxSize bytes at
// most; anything else is an error, at once.
func Read(path string) (text []byte, sha256 string, err error) {
	switch l := take(path); l.kind {
	case Saved:
		return l.text, l.sum, nil
	case TooLarge:
		return nil, "", fmt.Errorf("%s has more than %d MB", path, MaxSize>>20)
	case Gone:
		return nil, "", &fs.PathError{Op: "open", Path: path, Err: syscall.ENOENT}
	default:
		return nil, "", l.err
	}
}
