package journal

import (
	"bytes"
	"encoding/json"
	"io"
	"sync"
)

// LineSink writes each event as one JSON line with one Write, so that a reader
// at the other end of a pipe never sees two events mixed. It sets no Seq: the
// writer of the journal does that. Safe for concurrent use.
type LineSink struct {
	mu   sync.Mutex
	w    io.Writer
	err  error
	done chan struct{}
}

// NewLineSink makes a sink that writes to w. It never closes w.
func NewLineSink(w io.Writer) *LineSink {
	return &LineSink{w: w, done: make(chan struct{})}
}

// Emit writes the event. After the first failure nothing more is written:
// what follows a torn line could not be read.
func (s *LineSink) Emit(e Event) {
	if !e.Time.IsZero() {
		e.Time = e.Time.UTC().Round(0)
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	err := enc.Encode(e)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return
	}
	if err == nil {
		_, err = s.w.Write(buf.Bytes())
	}
	if err != nil {
		s.err = err
		close(s.done)
	}
}

// Err is the first error that kept an event from being written, or nil.
func (s *LineSink) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Done is closed at the first error: the reader has gone, and its owner ends.
func (s *LineSink) Done() <-chan struct{} { return s.done }
