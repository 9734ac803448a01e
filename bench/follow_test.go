package bench

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"lab/pkg/journal"
	"lab/pkg/labtest"
)

// follower reads a journal as it grows, from where it ends now, each event once.
// It asks every few milliseconds; what it measures are the times in the events.
type follower struct {
	b    *testing.B
	l    *labtest.Lab
	in   *bufio.Reader
	rest []byte // of a line that is not whole yet
}

func follow(b *testing.B, l *labtest.Lab) *follower {
	b.Helper()
	f, err := os.Open(filepath.Join(l.Dir(), ".lab", "journal.jsonl"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = f.Close() })
	if _, err := f.Seek(0, io.SeekEnd); err != nil {
		b.Fatal(err)
	}
	return &follower{b: b, l: l, in: bufio.NewReader(f)}
}

// next gives the next event, false where there is none yet.
func (f *follower) next() (e journal.Event, ok bool) {
	f.b.Helper()
	line, err := f.in.ReadBytes('\n')
	f.rest = append(f.rest, line...)
	if err != nil { // not there yet
		return e, false
	}
	if err := json.Unmarshal(f.rest, &e); err != nil {
		f.b.Fatal(err)
	}
	f.rest = nil
	return e, true
}

// until gives events to done until it says that it has seen enough, and fails
// after 20 s with what it waited for.
func (f *follower) until(what string, done func(journal.Event) bool) {
	f.b.Helper()
	late := time.After(20 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		for e, ok := f.next(); ok; e, ok = f.next() {
			if done(e) {
				return
			}
		}
		select {
		case <-tick.C:
		case <-late:
			f.b.Fatalf("waited 20 s for %s", what)
		}
	}
}

// drain forgets what is there.
func (f *follower) drain() {
	for _, ok := f.next(); ok; _, ok = f.next() {
	}
}

// collect gives the events of a span of time.
func (f *follower) collect(span time.Duration) (out []journal.Event) {
	end := time.After(span)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		for e, ok := f.next(); ok; e, ok = f.next() {
			out = append(out, e)
		}
		select {
		case <-tick.C:
		case <-end:
			return out
		}
	}
}

// save replaces the learner's file by rename and gives the moment of the
// rename.
func save(b *testing.B, l *labtest.Lab, text string) time.Time {
	b.Helper()
	tmp := l.File() + ".tmp"
	if err := os.WriteFile(tmp, []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}
	at := time.Now()
	if err := os.Rename(tmp, l.File()); err != nil {
		b.Fatal(err)
	}
	return at
}

func original(b *testing.B, l *labtest.Lab) string {
	b.Helper()
	raw, err := os.ReadFile(l.File())
	if err != nil {
		b.Fatal(err)
	}
	return string(raw)
}

// trip is what became of a save.
type trip struct {
	version string
	read    time.Time            // the control plane has read it
	sent    map[string]time.Time // by type, when the send had returned
	acked   map[string]time.Time
	nacked  map[string]time.Time
}

// trip follows a saved text until enough of it was answered.
func (f *follower) trip(text, what string, enough func(*trip) bool) *trip {
	f.b.Helper()
	sum := sha256.Sum256([]byte(text))
	want := hex.EncodeToString(sum[:])
	t := &trip{sent: map[string]time.Time{}, acked: map[string]time.Time{}, nacked: map[string]time.Time{}}
	nonces := map[string]bool{}
	f.until(what, func(e journal.Event) bool {
		switch {
		case e.Kind == journal.KindSnapshotLoaded && e.Snapshot.SHA256 == want && t.read.IsZero():
			t.version, t.read = e.Snapshot.Version, e.Time
		case e.Response != nil && e.Response.Version == t.version && t.version != "":
			t.sent[e.Response.Type] = e.Time
			nonces[e.Response.Type+e.Response.Nonce] = true
		case e.Request != nil && nonces[e.Request.Type+e.Request.Nonce] && e.Request.Class == journal.Nack:
			t.nacked[e.Request.Type] = e.Time
		case e.Request != nil && nonces[e.Request.Type+e.Request.Nonce]:
			t.acked[e.Request.Type] = e.Time
		}
		return enough(t)
	})
	return t
}

func all(t *trip) bool { return len(t.acked) == 4 }

// latest is the last moment of a map.
func latest(at map[string]time.Time) (last time.Time) {
	for _, t := range at {
		if t.After(last) {
			last = t
		}
	}
	return last
}
