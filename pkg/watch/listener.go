package watch

import (
	"errors"
	"io/fs"
	"slices"

	"github.com/fsnotify/fsnotify"
)

// listener hears of changes in the folders on the way to a file. It is used by
// one goroutine.
type listener struct {
	path string
	fs   *fsnotify.Watcher // nil: the system gives no watcher
	err  error             // why events are missing, if so
}

func listen(path string) *listener {
	l := &listener{path: path}
	l.fs, l.err = fsnotify.NewWatcher()
	if l.err != nil {
		l.fs = nil
	}
	return l
}

func (l *listener) events() <-chan fsnotify.Event {
	if l.fs == nil {
		return nil
	}
	return l.fs.Events
}

func (l *listener) errors() <-chan error {
	if l.fs == nil {
		return nil
	}
	return l.fs.Errors
}

// follow watches the folders that matter now. All of them are added each time:
// a folder that was replaced has a new inode under its old name, and adding
// what is there already costs one system call.
func (l *listener) follow() {
	if l.fs == nil {
		return
	}
	l.err = nil
	now := folders(l.path)
	for _, dir := range l.fs.WatchList() {
		if !slices.Contains(now, dir) {
			_ = l.fs.Remove(dir) // it may be gone
		}
	}
	for _, dir := range now {
		err := l.fs.Add(dir)
		if err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
			continue // gone again, or not ours to watch: the patrol notices
		}
		l.err = err
	}
}

func (l *listener) close() {
	if l.fs != nil {
		_ = l.fs.Close()
	}
}
