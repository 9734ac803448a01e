package watch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// half opens the file as an editor does, writes the first half, and gives a
// func that writes the rest and closes.
func half(t testing.TB, path, text string) (finish func()) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0o600)
	must(t, err)
	_, err = f.WriteString(text[:len(text)/2])
	must(t, err)
	return func() {
		_, err := f.WriteString(text[len(text)/2:])
		must(t, err)
		must(t, f.Close())
	}
}

// A save that takes its time is not believed before the file is closed,
// however long it stays as it is.
func TestHalfWrittenSaveIsNotBelieved(t *testing.T) {
	e := saved(t, "one: 1\n")
	finish := half(t, e.path, "something else: 2\n")
	e.wantKind(Held) // a second later, and no Saved before it
	finish()
	e.want("something else: 2\n")
}

// The beginning of the text in force is believed later than other text: where
// nothing tells that the file is open, it may be a save under way.
func TestCutOffTextIsDoubted(t *testing.T) {
	for _, c := range []struct {
		text string
		want time.Duration
	}{{"one: 1\n", doubt}, {"", doubt}, {"two: 2\n", quiet}} {
		t.Run(c.text, func(t *testing.T) {
			e := saved(t, "one: 1\ntwo: 2\n")
			from := time.Now()
			write(t, e.path, c.text)
			e.want(c.text)
			if took := time.Since(from); took < c.want || c.want == quiet && took > doubt {
				t.Errorf("believed after %v", took)
			}
		})
	}
}

// A truncation that is followed by the text, each by a process of its own.
func TestEmptyThenFullIsOneSave(t *testing.T) {
	e := saved(t, "one")
	write(t, e.path, "")
	write(t, e.path, "two")
	e.want("two")
}

// Every Saved is one of the texts that were written whole.
func TestManySavesAreAllWhole(t *testing.T) {
	e := saved(t, text(0))
	stop := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := 1; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			f, err := os.OpenFile(e.path, os.O_WRONLY|os.O_TRUNC, 0o600)
			if err != nil {
				return
			}
			for part := range slices.Chunk([]byte(text(i%9)), 500) {
				_, _ = f.Write(part)
			}
			_ = f.Close()
			if i%20 == 0 { // pauses, so that some saves settle
				<-time.After(15 * time.Millisecond)
			}
		}
	}()
	for range 10 {
		v := e.wantKind(Saved)
		whole := false
		for i := range 9 {
			whole = whole || string(v.Text) == text(i)
		}
		if !whole {
			t.Errorf("half a save: %s", brief(string(v.Text)))
		}
	}
	close(stop)
	<-done
}

func text(i int) string { return strings.Repeat(string(rune('a'+i))+": line\n", 200) }

// A comment beside the file, or a save of the same text, is no news.
func TestNoiseIsNoNews(t *testing.T) {
	e := saved(t, "one")
	for i := range 200 {
		write(t, filepath.Join(filepath.Dir(e.path), "other"), strings.Repeat("x", i))
		write(t, e.path, "one")
	}
	write(t, e.path, "two")
	e.want("two")
}

// A folder that gives no events is polled from the first change on, and that
// is said. The clock is the test's own.
func TestDeafFolderIsPolled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "snapshot.yaml")
	write(t, path, "one")
	w := newWatcher(path, &listener{path: path})
	clock := time.Now()
	w.now = func() time.Time { return clock }
	after := func(d time.Duration, want ...Kind) {
		t.Helper()
		clock = clock.Add(d)
		var got []Kind
		for _, e := range w.look() {
			got = append(got, e.Kind)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	}
	after(0)
	after(quiet, Saved)
	if w.next() != patrol {
		t.Errorf("the next look is in %v, want %v", w.next(), patrol)
	}
	write(t, path, "two")
	after(patrol)
	after(quiet, Saved)
	after(patrol, Polling)
	if w.next() != poll {
		t.Errorf("the next look is in %v, want %v", w.next(), poll)
	}
	write(t, path, "three")
	after(poll)
	after(quiet, Saved)
	after(patrol)
}

// Without a watcher at all the same holds from the start, with the reason.
func TestNoWatcherIsPolling(t *testing.T) {
	path := filepath.Join(t.TempDir(), "snapshot.yaml")
	w := newWatcher(path, &listener{path: path, err: errors.New("too many open files")})
	if got := w.look(); len(got) != 1 || got[0].Kind != Polling || got[0].Err == nil {
		t.Errorf("got %v", got)
	}
}

func BenchmarkSaveToEvent(b *testing.B) {
	e := saved(b, "start")
	var all []time.Duration
	for i := range b.N {
		from := time.Now()
		write(b, e.path, fmt.Sprintf("version: %d\n%s", i, strings.Repeat("line\n", 500)))
		e.wantKind(Saved)
		all = append(all, time.Since(from))
	}
	report(b, all)
}

func report(b *testing.B, all []time.Duration) {
	slices.Sort(all)
	b.ReportMetric(float64(all[len(all)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(all[len(all)*99/100].Microseconds())/1000, "p99-ms")
}
