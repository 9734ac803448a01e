package report

import (
	"strings"

	"lab/checks"
	"lab/pkg/journal"
)

// Why is the screen of `lab why`: every criterion in full, with the events of
// the journal that bear on it. events holds the journal by event number.
func Why(r checks.Report, events map[int64]journal.Event, s Style) string {
	cited := map[int64]bool{}
	for _, c := range r.Checks {
		for _, it := range c.Evidence {
			cited[it.Event] = true
		}
	}
	lines := s.explain(inOrder(events), cited)
	var b strings.Builder
	b.WriteString(s.verdictTitle(r))
	for _, m := range r.Missing {
		b.WriteString(s.criterion(checks.CannotTell, [][2]string{{"", m.Text}}))
	}
	for i, c := range failingFirst(r.Checks) {
		if i > 0 || len(r.Missing) > 0 {
			b.WriteString("\n")
		}
		facts := [][2]string{{"report.check.expected", c.Expected}}
		if len(r.Missing) == 0 {
			facts = append(facts, [2]string{"report.check.observed", c.Observed})
		}
		b.WriteString(s.criterion(c.Verdict, facts))
		if len(c.Evidence) == 0 {
			b.WriteString(s.dim(s.t("report.why.none", nil), detailIndent))
		}
		for _, it := range c.Evidence {
			line, known := lines[it.Event]
			if !known {
				line = s.dim(s.t("report.why.missing", args{"Event": it.Event}), 0)
			}
			b.WriteString(indent(line, detailIndent))
		}
	}
	for _, block := range []string{s.predictions(r), s.diagnosis(r)} {
		b.WriteString(block)
	}
	b.WriteString("\n" + s.dim(s.t("report.why.next", nil), 0))
	return b.String()
}

// Cite writes the text of each item of evidence: its event in a sentence.
// events is the journal in order, at least from the first stream that an item
// is about.
func Cite(r *checks.Report, events []journal.Event, s Style) {
	cited := map[int64]bool{}
	for _, c := range r.Checks {
		for _, it := range c.Evidence {
			cited[it.Event] = true
		}
	}
	if len(cited) == 0 {
		return
	}
	story, texts := NewStory(s), map[int64]string{}
	for _, e := range events {
		if cited[e.Seq] {
			texts[e.Seq] = story.Sentence(e)
		}
		story.Learn(e)
	}
	for i := range r.Checks {
		for j := range r.Checks[i].Evidence {
			it := &r.Checks[i].Evidence[j]
			it.Text = texts[it.Event]
		}
	}
}

// explain lays out the cited events as the journal shows them.
func (s Style) explain(events []journal.Event, cited map[int64]bool) map[int64]string {
	s.Width -= detailIndent
	story, out := NewStory(s), map[int64]string{}
	for _, e := range events {
		if cited[e.Seq] {
			out[e.Seq] = s.line(e, story.Sentence(e))
		}
		story.Learn(e)
	}
	return out
}

// inOrder gives events back as a journal: a story must learn them in order.
func inOrder(events map[int64]journal.Event) []journal.Event {
	out := make([]journal.Event, 0, len(events))
	for _, n := range sorted(events) {
		out = append(out, events[n])
	}
	return out
}

// indent moves lines that are laid out already to the right.
func indent(lines string, n int) string {
	var b strings.Builder
	for line := range strings.Lines(lines) {
		b.WriteString(strings.Repeat(" ", n) + line)
	}
	return b.String()
}
