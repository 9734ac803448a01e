package watch

import (
	"context"
	"os"
	"time"
)

const (
	// spacing keeps a noisy neighbour file from making us read all the time.
	spacing = 2 * time.Millisecond
	// tick is above the resolution of file times: a time stamp that is
	// younger than this at a look does not tell a later write apart.
	tick = 50 * time.Millisecond
)

// watcher turns noise about a file into events. All of it runs in one
// goroutine.
type watcher struct {
	path string
	hear *listener
	now  func() time.Time
	out  chan Event

	reported look      // what the receiver knows; at first its kind is ""
	inForce  []byte    // text of the last Saved
	seen     look      // the last look
	since    time.Time // when seen was first seen like this
	lastLook time.Time
	pending  bool // seen differs from reported and has to settle
	heard    bool // an event came since the last look
	silent   bool // the last change came without an event, so far
	heldTold bool
	polling  bool
}

func newWatcher(path string, hear *listener) *watcher {
	return &watcher{path: path, hear: hear, now: time.Now, out: make(chan Event)}
}

func (w *watcher) run(ctx context.Context) {
	defer close(w.out)
	defer w.hear.close()
	alarm := time.NewTimer(0)
	defer alarm.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.hear.errors(): // events were lost
			w.listen(alarm)
			continue
		case <-w.hear.events():
			w.silent = false
			w.listen(alarm)
			continue
		case <-alarm.C:
		}
		for _, e := range w.look() {
			select {
			case w.out <- e:
			case <-ctx.Done():
				return
			}
		}
		alarm.Reset(w.next())
	}
}

// listen makes the next look a full one, and soon.
func (w *watcher) listen(alarm *time.Timer) {
	w.heard = true
	soon := spacing - w.now().Sub(w.lastLook)
	if w.pending {
		soon = min(soon, w.next())
	}
	alarm.Reset(soon)
}

// look looks at the file and gives what there is to report.
func (w *watcher) look() (out []Event) {
	w.hear.follow() // before the look: what changes after it is heard
	if err := w.hear.err; err != nil && !w.polling {
		w.polling = true
		out = append(out, Event{Kind: Polling, Err: err})
	}
	w.lastLook = w.now()
	if !w.pending && !w.heard && w.untouched() {
		return append(out, w.suspect()...)
	}
	l := take(w.path)
	if !w.pending && !w.heard && w.reported.kind != "" && !l.same(w.reported) {
		w.silent = true
	}
	w.heard = false
	if !l.same(w.seen) || !l.writtenWith(w.seen) {
		w.since = w.lastLook
	}
	w.seen = l
	return append(out, w.settle()...)
}

// settle reports what was seen if it is new and will not change any more.
func (w *watcher) settle() []Event {
	w.pending = !w.seen.same(w.reported)
	age := w.lastLook.Sub(w.since)
	if !w.pending || age < w.wait() {
		return nil
	}
	if w.seen.held {
		if age < heldFor || w.heldTold {
			return nil
		}
		w.heldTold = true
		return []Event{{Kind: Held}}
	}
	w.reported, w.pending, w.heldTold = w.seen, false, false
	if w.seen.kind == Saved {
		w.inForce = w.seen.text
	}
	return []Event{{Kind: w.seen.kind, Text: w.seen.text, SHA256: w.seen.sum, Err: w.seen.err}}
}

// wait is how long what was seen must stay as it is.
func (w *watcher) wait() time.Duration {
	if w.seen.cutOff(w.inForce) {
		return doubt
	}
	return quiet
}

// suspect finds a folder that gives no events: the last change was noticed by
// patrol, and by the next one nothing was heard of it.
func (w *watcher) suspect() []Event {
	if !w.silent || w.polling {
		return nil
	}
	w.polling = true
	return []Event{{Kind: Polling}}
}

// next is the time until the next look.
func (w *watcher) next() time.Duration {
	if w.pending {
		return max(w.wait()-w.now().Sub(w.since), spacing)
	}
	if w.polling {
		return poll
	}
	return patrol
}

// untouched tells from the file's time and size that a full look would find
// what the last one found.
func (w *watcher) untouched() bool {
	fi, err := os.Stat(w.path)
	if err != nil || w.seen.stamp == nil {
		return err != nil && w.reported.kind == Gone
	}
	return os.SameFile(fi, w.seen.stamp) && fi.Size() == w.seen.stamp.Size() &&
		fi.ModTime().Equal(w.seen.stamp.ModTime()) && w.lastLook.Sub(fi.ModTime()).Abs() > tick
}
