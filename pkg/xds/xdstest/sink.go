// Package xdstest helps the tests of the ADS server and of the control plane:
// a journal in memory, resources, and a real Envoy. Nothing else may import it.
package xdstest

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"lab/pkg/journal"
)

// Patience is how long a test waits for something that must happen.
const Patience = 20 * time.Second

// Sink keeps events and numbers them.
type Sink struct {
	mu     sync.Mutex
	events []journal.Event
	more   chan struct{}
}

// NewSink makes an empty sink.
func NewSink() *Sink { return &Sink{more: make(chan struct{})} }

// Emit is part of journal.Sink.
func (s *Sink) Emit(e journal.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e.Seq = int64(len(s.events)) + 1
	s.events = append(s.events, e)
	close(s.more)
	s.more = make(chan struct{})
}

// Len is the number of events so far: a mark for After.
func (s *Sink) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.events)
}

// After gives the events behind a mark.
func (s *Sink) After(mark int) []journal.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]journal.Event(nil), s.events[mark:]...)
}

// Wait gives the first event behind mark that match accepts, and fails the
// test with what it waited for when none comes.
func (s *Sink) Wait(t testing.TB, mark int, what string, match func(journal.Event) bool) journal.Event {
	t.Helper()
	deadline := time.After(Patience)
	for at := mark; ; {
		s.mu.Lock()
		all, more := s.events, s.more
		s.mu.Unlock()
		for ; at < len(all); at++ {
			if match(all[at]) {
				return all[at]
			}
		}
		select {
		case <-more:
		case <-deadline:
			t.Fatalf("waited %v for %s; the journal since then:\n%s", Patience, what, Text(all[mark:]))
		}
	}
}

// Text shows events, one a line.
func Text(events []journal.Event) string {
	var b strings.Builder
	for _, e := range events {
		raw, _ := json.Marshal(e)
		b.Write(append(raw, '\n'))
	}
	return b.String()
}

// Request matches a request of a type and class.
func Request(typ, class string) func(journal.Event) bool {
	return func(e journal.Event) bool {
		return e.Request != nil && e.Request.Type == typ && e.Request.Class == class
	}
}

// Acked matches the ACK of a version.
func Acked(typ, version string) func(journal.Event) bool {
	return func(e journal.Event) bool { return Request(typ, journal.Ack)(e) && e.Request.Version == version }
}

// Sent matches a response of a type and version.
func Sent(typ, version string) func(journal.Event) bool {
	return func(e journal.Event) bool {
		return e.Response != nil && e.Response.Type == typ && e.Response.Version == version
	}
}

// Withheld matches a withheld answer.
func Withheld(typ, reason string) func(journal.Event) bool {
	return func(e journal.Event) bool {
		return e.Withheld != nil && e.Withheld.Type == typ && e.Withheld.Reason == reason
	}
}

// Count counts the events that match.
func Count(events []journal.Event, match func(journal.Event) bool) (n int) {
	for _, e := range events {
		if match(e) {
			n++
		}
	}
	return n
}
