package journal_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"lab/pkg/journal"
)

type countingWriter struct {
	strings.Builder
	writes int
}

func (c *countingWriter) Write(p []byte) (int, error) {
	c.writes++
	return c.Builder.Write(p)
}

func TestLineSinkWritesEachEventOnce(t *testing.T) {
	var w countingWriter
	s := journal.NewLineSink(&w)
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			s.Emit(journal.Event{Time: time.Unix(int64(i), 0), Source: journal.ControlPlane, Kind: journal.KindNote,
				Note: &journal.Note{Code: "n", Args: map[string]string{"i": fmt.Sprint(i), "raw": "<a>\n"}}})
		})
	}
	wg.Wait()
	seen := map[string]bool{}
	if _, err := journal.Read(strings.NewReader(w.String()), func(e journal.Event) error {
		seen[e.Note.Args["i"]] = true
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if len(seen) != 50 || w.writes != 50 {
		t.Fatalf("%d events in %d writes, want 50 in 50", len(seen), w.writes)
	}
	if s.Err() != nil {
		t.Fatal(s.Err())
	}
}

func TestLineSinkTellsThatTheReaderHasGone(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	s := journal.NewLineSink(w)
	s.Emit(journal.Event{Kind: journal.KindNote, Note: &journal.Note{Code: "first"}})
	select {
	case <-s.Done():
		t.Fatal("done while the reader is there")
	default:
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	s.Emit(journal.Event{Kind: journal.KindNote, Note: &journal.Note{Code: "second"}})
	select {
	case <-s.Done():
	default:
		t.Fatal("not done after the reader has gone")
	}
	if s.Err() == nil || errors.Is(s.Err(), io.EOF) {
		t.Fatalf("error %v, want the write's error", s.Err())
	}
	s.Emit(journal.Event{Kind: journal.KindNote}) // must not close Done twice
}
