package e2e

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"lab/pkg/journal"
	"lab/pkg/labtest"
)

// cutsInBeginning is how many lines of the beginning are cut at and beside
// their border; as many random cuts go to the rest.
const cutsInBeginning = 7

// A journal that ends at any byte: start goes on with what is whole, and the
// run works.
func TestJournalCut(t *testing.T) {
	for half := range 2 {
		t.Run([]string{"even", "odd"}[half], func(t *testing.T) {
			t.Parallel()
			rnd := chance(t)
			l := labtest.New(t)
			l.OK("start", "08-xds", "--seed", "7")
			l.OK("goto", "endpoint-removal")
			serving(t, l)
			l.OK("stop")
			file := filepath.Join(l.Dir(), ".lab", "journal.jsonl")
			whole, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			cuts := []int{0, 1, len(whole) - 1}
			for i, at := 0, 0; i < cutsInBeginning; i++ {
				at += bytes.IndexByte(whole[at:], '\n') + 1
				cuts = append(cuts, at-1, at, at+1)
			}
			for range cutsInBeginning * 2 {
				cuts = append(cuts, rnd.IntN(len(whole)))
			}
			for i, cut := range cuts {
				if i%2 == half {
					goesOnAfterCut(t, l, file, whole, cut)
				}
			}
		})
	}
}

func goesOnAfterCut(t *testing.T, l *labtest.Lab, file string, whole []byte, cut int) {
	t.Helper()
	if err := os.WriteFile(file, whole[:cut], 0o600); err != nil {
		t.Fatal(err)
	}
	if r := l.Run("start", "-o", "json"); r.Code != 0 {
		t.Errorf("cut at byte %d: start: %d\n%s%s", cut, r.Code, r.Out, r.Err)
		return
	}
	serving(t, l)
	if r := l.Run("check", "-o", "json", "--wait", "1ms"); r.Code > 2 {
		t.Errorf("cut at byte %d: check: %d\n%s%s", cut, r.Code, r.Out, r.Err)
	}
	events := l.Events()
	l.OK("stop")
	for i, e := range events {
		if e.Seq != int64(i+1) {
			t.Errorf("cut at byte %d: event %d has number %d", cut, i+1, e.Seq)
			break
		}
	}
	begins := slices.ContainsFunc(events, func(e journal.Event) bool { return e.Run != nil && e.Run.Seed == 7 })
	opened := slices.ContainsFunc(events, func(e journal.Event) bool { return e.Step != nil && e.Step.State == "opened" })
	torn := slices.ContainsFunc(events, func(e journal.Event) bool { return e.Note != nil && e.Note.Code == "torn-line" })
	if !begins || !opened || torn != (cut > 0 && whole[cut-1] != '\n') {
		t.Errorf("cut at byte %d: run %v, step opened %v, torn line noted %v", cut, begins, opened, torn)
	}
}

// A damaged line in the middle is no evidence: start refuses the journal and
// leaves it as it is, and nothing runs. Moved away, the run begins anew.
func TestJournalDamaged(t *testing.T) {
	t.Parallel()
	l := labtest.New(t)
	l.OK("start", "08-xds")
	l.OK("stop")
	file := filepath.Join(l.Dir(), ".lab", "journal.jsonl")
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(whole, []byte("\n"))
	for name, line := range map[string]string{
		"no JSON": "nonsense\n", "cut": string(lines[2][:len(lines[2])/2]) + "\n",
		"no payload": `{"seq":3,"kind":"step"}` + "\n", "another type": `{"seq":"3","kind":7}` + "\n",
		"NULs": string(make([]byte, 500)) + "\n", "newer": `{"seq":3,"kind":"run","run":{"format_version":2}}` + "\n",
	} {
		damaged := slices.Concat(bytes.Join(lines[:2], nil), []byte(line), bytes.Join(lines[3:], nil))
		if err := os.WriteFile(file, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		refused(t, l, 3, "session.journal", "start")
		refused(t, l, 3, "session.journal", "journal")
		if now, err := os.ReadFile(file); err != nil || !bytes.Equal(now, damaged) {
			t.Errorf("%s: a refused journal was changed (%v)", name, err)
		}
		if left := l.Processes(); len(left) > 0 {
			t.Errorf("%s: left %q", name, left)
		}
	}
	if err := os.Rename(file, file+".damaged"); err != nil {
		t.Fatal(err)
	}
	l.OK("start")
	if st := serving(t, l); st.Step != "connect" {
		t.Errorf("step %s", st.Step)
	}
	stopped(t, l, l.Dir())
}
