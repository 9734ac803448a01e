package bundle

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"lab/pkg/curriculum"
	"lab/pkg/journal"
	"lab/pkg/problem"
)

func lab(t testing.TB) *curriculum.Lab {
	t.Helper()
	l, err := curriculum.Find("08-xds")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// journalText is a run in which the first step is graded twice.
func journalText(t testing.TB) []byte {
	t.Helper()
	at := time.Unix(1_700_000_000, 0).UTC()
	l := lab(t)
	events := []journal.Event{
		{Kind: journal.KindRun, Run: &journal.Run{FormatVersion: 1, Lab: l.ID, Seed: 7, Params: l.Params(7)}},
		{Kind: journal.KindStep, Step: &journal.Step{ID: "connect", State: "opened"}},
		{Kind: journal.KindCheck, Check: &journal.Check{Step: "connect", Verdict: "cannot tell", Through: 2, At: at}},
		{Kind: journal.KindAnswer, Answer: &journal.Answer{Step: "connect", Question: "first-type", Value: "CDS"}},
		{Kind: journal.KindCheck, Check: &journal.Check{Step: "connect", Verdict: "cannot tell", Through: 3, At: at.Add(time.Second)}},
	}
	var out []byte
	for i, e := range events {
		e.Seq, e.Time, e.Source = int64(i)+1, at, journal.Session
		raw, err := line(e)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, raw...)
	}
	return out
}

func sealed(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	if _, err := Write(&b, lab(t), bytes.NewReader(journalText(t))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func read(b []byte) (Result, error) { return Read(bytes.NewReader(b), curriculum.Find) }

func refused(t *testing.T, b []byte, why string) {
	t.Helper()
	_, err := read(b)
	var p *problem.Problem
	if !errors.As(err, &p) || p.Code != "bundle.refused" {
		t.Fatalf("not refused: %v", err)
	}
	if s, _ := p.Args["Why"].(string); !strings.Contains(s, why) {
		t.Errorf("refused since %q, want %q", s, why)
	}
}

func TestSameVerdictsByteForByte(t *testing.T) {
	b := sealed(t)
	if !bytes.Equal(b, sealed(t)) {
		t.Error("two bundles of one journal differ")
	}
	res, err := read(b)
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Seal.Attempts) != 2 || res.Seal.Events != 5 || res.Changed {
		t.Errorf("%+v", res)
	}
	if a := res.Seal.Attempts; a[0].Chain == a[1].Chain || a[1].Step != "connect" {
		t.Errorf("%+v", a)
	}
}

// unpacked gives the lines of a bundle; pack makes one of them.
func unpacked(t *testing.T, b []byte) []string {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(raw), "\n")
	return lines[:len(lines)-1]
}

func pack(t *testing.T, lines []string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := io.WriteString(z, strings.Join(lines, "")); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestChangedBundlesAreRefused(t *testing.T) {
	lines := unpacked(t, sealed(t))
	change := func(i int, old, with string) []byte {
		out := append([]string(nil), lines...)
		out[i] = strings.Replace(out[i], old, with, 1)
		if out[i] == lines[i] {
			t.Fatalf("%q is not in line %d", old, i)
		}
		return pack(t, out)
	}
	refused(t, change(4, `"CDS"`, `"EDS"`), "changed after")
	refused(t, change(0, `"seed":7`, `"seed":8`), "changed after")
	refused(t, change(6, `"cannot tell"`, `"passed"`), "not those")
	refused(t, change(1, `"seq":1`, `"seq":9`), "stands where")
	refused(t, change(3, `"through":2`, `"through":8`), "out of order")
	refused(t, change(0, `"bundle":1`, `"bundle":2`), "format")
	refused(t, pack(t, append(append([]string(nil), lines[:3]...), lines[4:]...)), "stands where")
	refused(t, pack(t, lines[:6]), "cut off")
	refused(t, pack(t, append(append([]string(nil), lines...), "{}\n")), "behind its seal")
	refused(t, []byte("no gzip"), "no bundle")
	refused(t, pack(t, []string{"{}\n"}), "no bundle")
}

// A bundle cut at any byte is refused.
func TestCutBundlesAreRefused(t *testing.T) {
	whole := sealed(t)
	for n := range len(whole) {
		if _, err := read(whole[:n]); err == nil {
			t.Fatalf("cut at byte %d of %d: graded", n, len(whole))
		}
	}
}

// zeros gives spaces without end: the payload of a bomb.
type spaces struct{}

func (spaces) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

func TestBombsAreRefused(t *testing.T) {
	bomb := func(unit string, n int64) []byte {
		var b bytes.Buffer
		z, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(z, unpacked(t, sealed(t))[0])
		if unit == "" {
			_, err = io.CopyN(z, spaces{}, n)
		} else {
			for range n {
				_, err = io.WriteString(z, unit)
			}
		}
		if err = errors.Join(err, z.Close()); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	refused(t, bomb("", journal.MaxLine+1<<20), "damaged") // one line without an end
	e, err := json.Marshal(journal.Event{Seq: 1, Kind: "note", Note: &journal.Note{}})
	if err != nil {
		t.Fatal(err)
	}
	refused(t, bomb(string(e)+"\n", 1000), "stands where") // repeats itself
}

func FuzzRead(f *testing.F) {
	f.Add(sealed(f))
	f.Fuzz(func(_ *testing.T, b []byte) { _, _ = read(b) }) // must not panic
}
