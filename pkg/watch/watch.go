// Package watch tells when a file was saved: by write, by rename, or by a
// symlink that was swapped anywhere on the way to it. A save is reported once
// the content has settled, so that a half-written file is never seen.
//
// The package reads one file and looks at folders. It must not know what the
// file holds, and it writes nothing.
package watch

import (
	"context"
	"path/filepath"
	"time"
)

// MaxSize bounds the file in bytes; a larger one is reported, not read.
const MaxSize = 8 << 20

const (
	// quiet is how long the content must not change before it is believed.
	quiet = 8 * time.Millisecond
	// doubt is the same for content that looks cut off: empty, or the
	// beginning of what was there before. It is also how long a file must be
	// missing: many editors save by moving the old file away.
	doubt = 300 * time.Millisecond
	// patrol is how often the file is looked at where nothing is heard of it.
	patrol = 250 * time.Millisecond
	// poll is the same where the folder has proved to give no events.
	poll = 10 * time.Millisecond
	// heldFor is how long a settled file may be open for writing before that
	// is reported.
	heldFor = time.Second
)

// Kind says what an Event reports.
type Kind string

// The kinds of events.
const (
	Saved      Kind = "saved"      // settled content that differs from the one reported before
	Gone       Kind = "gone"       // the file or its folder is not there; Saved follows when it is back
	TooLarge   Kind = "too-large"  // more than MaxSize bytes
	Unreadable Kind = "unreadable" // Err says why
	Polling    Kind = "polling"    // the folder gives no events: from now on the file is polled
	Held       Kind = "held"       // settled, but a process has it open for writing; Saved follows
)

// Event is something that happened to the file.
type Event struct {
	Kind   Kind
	Text   []byte // of Saved
	SHA256 string // of Saved, in hex
	Err    error  // of Unreadable; of Polling where there was one
}

// File watches path until ctx ends; then it closes the channel. The first
// event is about what is there now. The file and its folder need not exist.
// The receiver may take its time: changes meanwhile lead to one event.
func File(ctx context.Context, path string) (<-chan Event, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	w := newWatcher(abs, listen(abs))
	go w.run(ctx)
	return w.out, nil
}
