package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"time"
)

// Writer appends events to one file and numbers them. It is the file's only
// writer; whoever opens it must hold the run's lock. Safe for concurrent use.
type Writer struct {
	mu   sync.Mutex
	f    *os.File
	seq  int64
	end  int64 // bytes that whole events take
	lost int   // events that the disk did not take since the last stored one
	now  func() time.Time
	err  error
	subs map[int]func(Event)
	next int
}

// Open opens or creates the file for appending, after the last whole event in
// it. A torn last line is cut off and noted in the journal. Each earlier event
// is given to replay, in order, before Open returns.
func Open(path string, now func() time.Time, replay func(Event)) (*Writer, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	w := &Writer{f: f, now: now, subs: map[int]func(Event){}}
	torn, err := w.recover(replay)
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if torn > 0 {
		w.Emit(Event{Source: Session, Kind: KindNote,
			Note: &Note{Code: "torn-line", Args: map[string]string{"bytes": fmt.Sprint(torn)}}})
	}
	return w, nil
}

// recover reads what is there, cuts a torn end and leaves the offset behind it.
func (w *Writer) recover(replay func(Event)) (torn int64, err error) {
	end, err := w.f.Seek(0, io.SeekEnd)
	if err != nil {
		return 0, err
	}
	if _, err := w.f.Seek(0, io.SeekStart); err != nil {
		return 0, err
	}
	whole, err := Read(w.f, func(e Event) error {
		w.seq = e.Seq
		if replay != nil {
			replay(e)
		}
		return nil
	})
	if err != nil && !errors.As(err, new(*TornError)) {
		return 0, err
	}
	if whole < end {
		if err := w.f.Truncate(whole); err != nil {
			return 0, err
		}
	}
	w.end = whole
	return end - whole, nil
}

// Emit numbers, times (where Time is zero) and stores an event, then hands it
// to the subscribers. An event that the disk does not take is lost; the next
// one that it takes is preceded by a note that says how many were, so that a
// verdict can tell missing evidence from missing acts.
func (w *Writer) Emit(e Event) { _ = w.Add(e) } // Err keeps it

// Add is Emit for an event that must not be lost in silence: it gives what
// kept the event from being stored. Nobody was told of such an event.
func (w *Writer) Add(e Event) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if errors.Is(w.err, os.ErrClosed) {
		return w.err
	}
	if w.lost > 0 {
		note := Event{Source: Session, Kind: KindNote,
			Note: &Note{Code: "lost", Args: map[string]string{"events": strconv.Itoa(w.lost)}}}
		if w.err = w.store(note); w.err != nil {
			w.lost++
			return w.err
		}
		w.lost = 0
	}
	if w.err = w.store(e); w.err != nil {
		w.lost++
	}
	return w.err
}

func (w *Writer) store(e Event) error {
	e.Seq = w.seq + 1
	if e.Time.IsZero() {
		e.Time = w.now()
	}
	e.Time = e.Time.UTC().Round(0)
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(e); err != nil {
		return err
	}
	if _, err := w.f.WriteAt(buf.Bytes(), w.end); err != nil {
		return errors.Join(err, w.f.Truncate(w.end))
	}
	w.seq = e.Seq
	w.end += int64(buf.Len())
	for _, fn := range w.subs {
		fn(e)
	}
	return nil
}

// Subscribe calls fn with each event from now on, under the writer's lock: fn
// must return at once and must not emit. The returned func ends it.
func (w *Writer) Subscribe(fn func(Event)) (cancel func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	id := w.next
	w.next++
	w.subs[id] = fn
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.subs, id)
	}
}

// Err is what kept the last event from being stored, or nil.
func (w *Writer) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// Seq is the number of the last stored event.
func (w *Writer) Seq() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seq
}

// Close closes the file. Events that come later are dropped.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.err = os.ErrClosed
	return w.f.Close()
}
