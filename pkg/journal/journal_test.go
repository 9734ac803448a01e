package journal

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func at(s int) time.Time { return time.Unix(int64(1_700_000_000+s), 0).UTC() }

func note(i int) Event {
	return Event{Source: Session, Kind: KindNote, Note: &Note{Code: fmt.Sprintf("n%d", i)}}
}

func open(t *testing.T, path string, replay func(Event)) *Writer {
	t.Helper()
	w, err := Open(path, func() time.Time { return at(0) }, replay)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestWriterNumbersAndReplays(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	w := open(t, path, nil)
	var seen []Event
	cancel := w.Subscribe(func(e Event) { seen = append(seen, e) })
	w.Emit(note(1))
	w.Emit(note(2))
	cancel()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	var replayed []Event
	w = open(t, path, func(e Event) { replayed = append(replayed, e) })
	defer w.Close()
	if d := cmp.Diff(seen, replayed); d != "" {
		t.Error(d)
	}
	w.Emit(note(3))
	if w.Seq() != 3 {
		t.Error("seq", w.Seq())
	}
	if st, _ := os.Stat(path); st.Mode().Perm() != 0o600 {
		t.Error("mode", st.Mode())
	}
}

// A journal cut at any byte opens again: whole events stay, the torn one is
// dropped and noted, and numbering goes on without a gap.
func TestCutAtAnyByte(t *testing.T) {
	dir := t.TempDir()
	w := open(t, filepath.Join(dir, "j"), nil)
	for i := range 3 {
		w.Emit(note(i))
	}
	w.Close()
	whole, err := os.ReadFile(filepath.Join(dir, "j"))
	if err != nil {
		t.Fatal(err)
	}
	for cut := range len(whole) + 1 {
		path := filepath.Join(dir, fmt.Sprint("cut", cut))
		if err := os.WriteFile(path, whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		lines := strings.Count(string(whole[:cut]), "\n")
		torn := cut > 0 && whole[cut-1] != '\n'
		w := open(t, path, nil)
		w.Emit(note(9))
		w.Close()
		events, left, err := ReadFile(path)
		if err != nil || left {
			t.Fatal(cut, err, left)
		}
		want := lines + 1
		if torn {
			want++
		}
		if len(events) != want || events[len(events)-1].Seq != int64(want) {
			t.Fatalf("cut at %d: %d events, want %d", cut, len(events), want)
		}
		if torn && events[lines].Note.Code != "torn-line" {
			t.Fatalf("cut at %d: torn line is not noted", cut)
		}
	}
}

func TestBadLineInTheMiddleIsRefused(t *testing.T) {
	_, err := Read(strings.NewReader("{}\nnonsense\n{}\n"), func(Event) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Error(err)
	}
}

// A fold may count on the payload that a kind names.
func TestEventWithoutItsPayloadIsRefused(t *testing.T) {
	_, err := Read(strings.NewReader(`{"seq":1,"kind":"step"}`+"\n{}\n"), func(Event) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "line 1") {
		t.Error(err)
	}
}

func TestNewerFormatIsRefused(t *testing.T) {
	_, err := Read(strings.NewReader(`{"kind":"run","run":{"format_version":99}}`+"\n"), func(Event) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "newer") {
		t.Error(err)
	}
}

type list []Event

func (l *list) Emit(e Event) { *l = append(*l, e) }

func TestForwardNotesATornLine(t *testing.T) {
	var l list
	in := `{"source":"control-plane","kind":"note","note":{"code":"a"}}` + "\n" + `{"source":"cont`
	if err := Forward(io.LimitReader(strings.NewReader(in), 1<<20), &l); err != nil {
		t.Fatal(err)
	}
	if len(l) != 2 || l[0].Note.Code != "a" || l[1].Note.Code != "torn-line" {
		t.Errorf("%+v", l)
	}
}

// A full disk loses events, not the journal: when it takes bytes again, the
// journal goes on whole and says how many are missing.
func TestFullDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	w := open(t, path, nil)
	w.Emit(note(1))
	good := w.f
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	w.f = full
	w.Emit(note(2))
	if err := w.Add(note(3)); err == nil {
		t.Error("Add hides that the event was not stored")
	}
	if w.Err() == nil || w.Seq() != 1 {
		t.Error("a full disk went unnoticed", w.Err(), w.Seq())
	}
	w.f = good
	w.Emit(note(4))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	events, torn, err := ReadFile(path)
	if err != nil || torn || len(events) != 3 {
		t.Fatal(events, torn, err)
	}
	if n := events[1].Note; n.Code != "lost" || n.Args["events"] != "2" {
		t.Errorf("%+v", n)
	}
}
