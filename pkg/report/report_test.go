package report

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"lab/checks"
	"lab/pkg/journal"
	"lab/pkg/problem"
	"lab/pkg/term/text"
	"lab/pkg/words"
)

func plain(lang string) Style { return Style{Words: words.For(lang), Width: 80, Lab: "lab"} }

// poison appends to every string in v what must not reach a terminal.
func poison(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		if v.CanSet() {
			v.SetString(v.String() + "\x1b]0;x\x07\u202e\r\xff")
		}
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			poison(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			poison(v.Index(i))
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			e := reflect.New(v.Type().Elem()).Elem()
			e.Set(v.MapIndex(k))
			poison(e)
			v.SetMapIndex(k, e)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				poison(v.Field(i))
			}
		}
	default:
	}
}

// Names, versions, error texts and answers are written by learners and peers.
// None of them reaches the terminal as more than text.
func TestNothingHostileIsPrinted(t *testing.T) {
	var out bytes.Buffer
	s := plain("en")
	events := conversation()
	for i := range events {
		kind := events[i].Kind
		class := ""
		if r := events[i].Request; r != nil {
			class = r.Class
		}
		poison(reflect.ValueOf(&events[i]))
		if events[i].Kind = kind; class != "" && i%2 == 0 {
			events[i].Request.Class = class // of a known class more is said
		}
	}
	if err := Journal(&out, events, Filter{All: true}, false, s); err != nil {
		t.Fatal(err)
	}
	st := statuses()["rejected"]
	st.Down = statuses()["down"].Down
	st.Refused = &RefusedFile{File: "f"}
	poison(reflect.ValueOf(&st))
	out.WriteString(ShowStatus(st, s))
	for _, make := range reports() {
		r := make()
		poison(reflect.ValueOf(&r))
		Cite(&r, events, s)
		out.WriteString(Check(r, s) + Why(r, numbered(events), s))
	}
	for _, p := range problems() {
		poison(reflect.ValueOf(&p.Args))
		poison(reflect.ValueOf(p.Place))
		out.WriteString(Problem(p, s))
	}
	for n, line := range strings.Split(out.String(), "\n") {
		if text.Clean(line) != line {
			t.Errorf("line %d: %q", n, line)
		}
	}
	if !strings.Contains(out.String(), `\x1b]0;x\x07\u202e`) {
		t.Error("nothing of the poison is to be seen: is it shown at all?")
	}
}

// A probe line is written when its run of equal windows ends, not before, and
// everything that came in is in some line.
func TestTellerSumsUpProbes(t *testing.T) {
	var out bytes.Buffer
	teller := NewTeller(&out, Filter{All: true}, false, plain("en"))
	tell := func(sent, failed int) {
		t.Helper()
		p := &journal.Probe{Name: "steady", From: noon, To: noon.Add(time.Second), Sent: sent, Failed: failed}
		if failed > 0 {
			p.Groups = append(p.Groups, journal.ProbeGroup{Status: 503, Count: failed})
		}
		p.Groups = append(p.Groups, journal.ProbeGroup{Status: 200, Count: sent - failed})
		if err := teller.Tell(journal.Event{Kind: journal.KindProbe, Probe: p}); err != nil {
			t.Fatal(err)
		}
	}
	for range 100 {
		tell(3, 0)
	}
	if out.Len() > 0 {
		t.Errorf("a line for windows that may go on: %q", out.String())
	}
	tell(3, 1)
	if got := out.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "300 requests") {
		t.Errorf("after the first failure: %q", got)
	}
	out.Reset()
	if err := teller.Flush(); err != nil || !strings.Contains(out.String(), "1 of 3 requests failed") {
		t.Errorf("after Flush: %q, %v", out.String(), err)
	}
	out.Reset()
	if err := teller.Flush(); err != nil || out.Len() > 0 {
		t.Errorf("a second Flush says %q", out.String())
	}
}

// A caller's events stay as they are.
func TestTellerKeepsEvents(t *testing.T) {
	events := conversation()
	if err := Journal(&bytes.Buffer{}, events, Filter{}, false, plain("en")); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(events, conversation()) {
		t.Error("events were changed")
	}
}

func TestJournalAsJSON(t *testing.T) {
	var out bytes.Buffer
	if err := Journal(&out, conversation(), Filter{Type: "eds"}, true, plain("en")); err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(out.String()) {
		var e journal.Event
		if err := json.Unmarshal([]byte(line), &e); err != nil || e.Request == nil || e.Request.Type != "EDS" {
			t.Errorf("%v: %s", err, line)
		}
		n++
	}
	if n != 3 {
		t.Errorf("%d lines, want the 3 about EDS", n)
	}
}

// A nonce means nothing outside its stream and process: the second control
// plane's nonce 1 is not the first one's.
func TestNoncesBelongToAStream(t *testing.T) {
	s := plain("en")
	story := NewStory(s)
	story.Learn(journal.Event{Response: &journal.Response{Pid: 1, Stream: 1, Type: "CDS", Version: "1", Nonce: "1"}})
	nack := func(pid int) string {
		return story.Sentence(journal.Event{Request: &journal.Request{Pid: pid, Stream: 1, Type: "CDS", Class: journal.Nack, Nonce: "1"}})
	}
	if got := nack(1); !strings.Contains(got, "version 1 of CDS") {
		t.Error(got)
	}
	if got := nack(2); strings.Contains(got, "version 1") {
		t.Errorf("another process's version: %s", got)
	}
}

func TestCite(t *testing.T) {
	r := checks.Report{Checks: []checks.Result{{Evidence: []checks.Item{{Event: 24}, {Event: 999}}}}}
	Cite(&r, conversation(), plain("en"))
	want := "Envoy refuses version 2 of CDS, answers response 5, and still runs version 1."
	if got := r.Checks[0].Evidence; got[0].Text != want || got[1].Text != "" {
		t.Errorf("%+v", got)
	}
}

func TestJSON(t *testing.T) {
	var out bytes.Buffer
	if err := JSON(&out, NewError(problem.New("color-mode", problem.Args{"Value": "<a>"}), words.For("zh"))); err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Version int
		Error   struct{ Code, Text, Fix string }
	}
	dec := json.NewDecoder(&out)
	if err := dec.Decode(&doc); err != nil {
		t.Fatal(err)
	}
	if doc.Version != 1 || doc.Error.Code != "color-mode" || !strings.Contains(doc.Error.Text, "<a>") || doc.Error.Fix == "" {
		t.Errorf("%+v", doc)
	}
	if dec.More() {
		t.Error("more than one document")
	}
}

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0.0 s", 400 * time.Millisecond: "0.4 s", 12 * time.Second: "12 s",
		190 * time.Second: "3 m 10 s", 2*time.Hour + 5*time.Minute: "2 h 5 m",
	} {
		if got := plain("en").duration(d); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
}

func TestZone(t *testing.T) {
	s := plain("en")
	s.Zone = time.FixedZone("", 8*3600)
	if got := s.clock(noon); got != "20:00:00.000" {
		t.Error(got)
	}
}

func BenchmarkJournal10000(b *testing.B) {
	var events []journal.Event
	for len(events) < 10000 {
		events = append(events, conversation()...)
	}
	for b.Loop() {
		if err := Journal(&bytes.Buffer{}, events, Filter{}, false, plain("en")); err != nil {
			b.Fatal(err)
		}
	}
}
