package report

import (
	"encoding/json"
	"io"
	"strings"

	"lab/pkg/journal"
	"lab/pkg/term/text"
)

// Filter chooses what of a journal is told.
type Filter struct {
	Type string // "CDS": only what was said about this type
	Raw  bool   // events as JSON lines, as they are stored
	All  bool   // also requests that went well, every stat and checks
}

// Teller tells a journal line by line, as events come in. Requests that went
// alike are summed up in one line, which is written when something else happens
// or on Flush.
type Teller struct {
	w     io.Writer
	f     Filter
	raw   *json.Encoder
	s     Style
	story *Story
	alike probes
	ended accesses
}

// NewTeller writes to w. asJSON, like Filter.Raw, writes one event a line.
func NewTeller(w io.Writer, f Filter, asJSON bool, s Style) *Teller {
	t := &Teller{w: w, f: f, s: s, story: NewStory(s), ended: accesses{again: f.All}}
	if asJSON || f.Raw {
		t.raw = json.NewEncoder(w)
		t.raw.SetEscapeHTML(false)
	}
	return t
}

// Journal tells the events of a journal from the first on.
func Journal(w io.Writer, events []journal.Event, f Filter, asJSON bool, s Style) error {
	t := NewTeller(w, f, asJSON, s)
	for _, e := range events {
		if err := t.Tell(e); err != nil {
			return err
		}
	}
	return t.Flush()
}

// Tell takes the next event. Every event must come, also those that the filter
// leaves out: later ones are explained from them.
func (t *Teller) Tell(e journal.Event) error {
	if t.raw != nil {
		if t.f.Type != "" && !t.ofType(e) {
			return nil
		}
		return t.raw.Encode(e)
	}
	defer t.story.Learn(e)
	if !t.wanted(e) {
		return nil
	}
	add := t.held(e)
	if add != nil {
		if add(e) {
			return nil
		}
		err := t.Flush()
		add(e)
		return err
	}
	body := t.story.Sentence(e)
	if body == "" {
		return nil
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := io.WriteString(t.w, t.s.line(e, body))
	return err
}

// held is what sums up windows of requests that went alike, nil for another
// event.
func (t *Teller) held(e journal.Event) func(journal.Event) bool {
	switch {
	case e.Kind == journal.KindProbe && e.Probe.Name != slow:
		return t.alike.add
	case e.Kind == journal.KindAccess:
		if !t.f.All {
			a := *e.Access
			a.Groups = wrong(a.Groups)
			return func(e journal.Event) bool {
				e.Access = &a
				return t.ended.add(e)
			}
		}
		return t.ended.add
	}
	t.ended.key = "" // what happened since may be why
	return nil
}

// Flush writes what was held back to be summed up.
func (t *Teller) Flush() error {
	out := ""
	if e, ok := t.ended.sum(); ok {
		out = t.s.line(e, t.story.access(*e.Access))
	}
	if e, ok := t.alike.sum(); ok {
		line := t.s.line(e, t.story.probe(*e.Probe))
		out = line + out
	}
	_, err := io.WriteString(t.w, out)
	return err
}

func (t *Teller) ofType(e journal.Event) bool {
	got, ok := xdsType(e)
	return ok && strings.EqualFold(got, t.f.Type)
}

// wanted tells whether the filter lets an event through. With a type, streams
// stay: nonces are counted from their start.
func (t *Teller) wanted(e journal.Event) bool {
	if t.f.Type != "" {
		return t.ofType(e) || e.Kind == journal.KindStreamOpen
	}
	switch e.Kind {
	case journal.KindHit, journal.KindCheck:
		return t.f.All
	case journal.KindProbe:
		return t.f.All || e.Probe.Name == slow
	case journal.KindAccess:
		return t.f.All || len(wrong(e.Access.Groups)) > 0
	case journal.KindStats:
		return t.f.All || notable(e.Stats)
	default:
		return true
	}
}

// xdsType is the type that a message of the conversation is about.
func xdsType(e journal.Event) (string, bool) {
	switch {
	case e.Request != nil:
		return e.Request.Type, true
	case e.Response != nil:
		return e.Response.Type, true
	case e.Withheld != nil:
		return e.Withheld.Type, true
	}
	return "", false
}

// textColumn is where sentences stand, behind time and arrow.
const textColumn = len(clockFormat) + 3

// line lays out one event: when, which way, its head if it is a message of the
// conversation, and the sentence.
func (s Style) line(e journal.Event, body string) string {
	time := s.Paint.Dim(s.clock(e.Time))
	pad := strings.Repeat(" ", textColumn)
	head := s.head(e)
	if head == "" {
		return text.Wrap(body, s.Width, time+"   ", pad) + "\n"
	}
	out := time + " " + head + "\n" + text.Wrap(body, s.Width, pad, pad) + "\n"
	if r := e.Request; r != nil && r.Error != nil {
		says := s.t("report.says", args{"Error": text.Cut(text.CleanLine(r.Error.Message), maxError)})
		out += s.dim(says, textColumn)
	}
	return out
}

// head is the arrow, the type, the version and the nonce of a message, and the
// mark of an answer. → goes to Envoy, ← to the control plane, ⊣ was not sent.
func (s Style) head(e journal.Event) string {
	switch {
	case e.Response != nil:
		r := e.Response
		return s.message("→", r.Type, r.Version, r.Nonce)
	case e.Request != nil:
		r := e.Request
		return s.message("←", r.Type, r.Version, r.Nonce) + "  " + s.class(r.Class)
	case e.Withheld != nil:
		w := e.Withheld
		return s.message("⊣", w.Type, w.Version, "") + "  " + s.Paint.Unsure(s.t("report.class.withheld", nil))
	}
	return ""
}

// message is what an arrow carries. A request without a version has none to name.
func (s Style) message(arrow, typ, version, nonce string) string {
	id := "report.head"
	if nonce == "" {
		id = "report.head-no-nonce"
	}
	if version == "" {
		version = none
	}
	return arrow + " " + s.t(id, args{"Type": text.PadLeft(text.CleanLine(typ), 3), "Version": version, "Nonce": nonce})
}

// class names the class of a request. One of a later lab is shown as it is.
func (s Style) class(class string) string {
	switch class {
	case journal.Ack:
		return s.Paint.Good(s.t("report.class.ack", nil))
	case journal.Nack:
		return s.Paint.Bad(s.t("report.class.nack", nil))
	case journal.Stale:
		return s.Paint.Unsure(s.t("report.class.stale", nil))
	case journal.Subscribe:
		return s.Paint.Dim(s.t("report.class.subscribe", nil))
	case journal.Resubscribe:
		return s.Paint.Dim(s.t("report.class.resubscribe", nil))
	}
	return s.Paint.Dim(text.CleanLine(class))
}
