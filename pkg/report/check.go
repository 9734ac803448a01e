package report

import (
	"slices"
	"strings"

	"lab/checks"
	"lab/pkg/term/text"
)

// maxEvidence bounds the lines of evidence on the screen of a check; `lab why`
// shows all.
const maxEvidence = 10

// StepHead is the line above a step's text.
func StepHead(lab string, number, of int, title string, s Style) string {
	return s.Paint.Bold(s.t("report.step.head", args{"Name": lab, "Number": number, "Of": of, "Title": title}))
}

// Check is the screen of `lab check`: the verdict, the first failing criterion
// with its evidence, the others, the diagnosis, and what to do next. The texts
// of the evidence come from Cite.
func Check(r checks.Report, s Style) string {
	var b strings.Builder
	b.WriteString(s.verdictTitle(r))
	for _, m := range r.Missing {
		b.WriteString(s.criterion(checks.CannotTell, [][2]string{{"", m.Text}}))
	}
	for i, c := range failingFirst(r.Checks) {
		b.WriteString(s.criterion(c.Verdict, s.facts(c, len(r.Missing) > 0)))
		if i == 0 && c.Verdict == checks.NotYet {
			b.WriteString(s.evidence(c.Evidence))
		}
	}
	b.WriteString(s.aftermath(r))
	return b.String()
}

// verdictTitle names the step, and the verdict at the other end of the line, where
// the eye finds it without reading.
func (s Style) verdictTitle(r checks.Report) string {
	left := StepHead(r.Lab, r.Number, r.Of, r.Title, s)
	return text.Ends(left, s.paintVerdict(r.Verdict, s.verdict(string(r.Verdict))), s.Width) + "\n"
}

// verdict is a verdict in words.
func (s Style) verdict(v string) string {
	switch checks.Verdict(v) {
	case checks.Passed:
		return s.t("report.verdict.passed", nil)
	case checks.NotYet:
		return s.t("report.verdict.not-yet", nil)
	case checks.CannotTell:
	}
	return s.t("report.verdict.cannot-tell", nil)
}

// paintVerdict colours words; the verdict is in them, too.
func (s Style) paintVerdict(v checks.Verdict, words string) string {
	switch v {
	case checks.Passed:
		return s.Paint.Good(words)
	case checks.NotYet:
		return s.Paint.Bad(words)
	case checks.CannotTell:
	}
	return s.Paint.Unsure(words)
}

// mark is the sign of a verdict.
func mark(v checks.Verdict) text.Mark {
	switch v {
	case checks.Passed:
		return text.Pass
	case checks.NotYet:
		return text.Fail
	case checks.CannotTell:
	}
	return text.Open
}

// failingFirst moves the first criterion that is not met to the front, or else
// the first that could not be decided. The others stay in the step's order.
func failingFirst(in []checks.Result) []checks.Result {
	for _, v := range []checks.Verdict{checks.NotYet, checks.CannotTell} {
		i := slices.IndexFunc(in, func(c checks.Result) bool { return c.Verdict == v })
		if i >= 0 {
			out := append([]checks.Result{in[i]}, in[:i]...)
			return append(out, in[i+1:]...)
		}
	}
	return in
}

// facts are the labelled lines of a criterion. A met one says what was seen.
func (s Style) facts(c checks.Result, missing bool) [][2]string {
	switch {
	case c.Verdict == checks.Passed:
		return [][2]string{{"", c.Observed}}
	case missing: // what was observed is the missing thing, said already
		return [][2]string{{"report.check.expected", c.Expected}}
	}
	return [][2]string{{"report.check.expected", c.Expected}, {"report.check.observed", c.Observed}}
}

// detailIndent is where the evidence of a criterion stands.
const detailIndent = 4

// criterion is a mark and the verdict in words, and beside them the facts, with
// their labels aligned.
func (s Style) criterion(v checks.Verdict, facts [][2]string) string {
	column := 0
	for _, each := range []checks.Verdict{checks.Passed, checks.NotYet, checks.CannotTell} {
		column = max(column, text.Width(s.verdict(string(each))))
	}
	labels := max(text.Width(s.t("report.check.expected", nil)), text.Width(s.t("report.check.observed", nil)))
	lead := s.Paint.Mark(mark(v)) + " " + s.paintVerdict(v, text.Pad(s.verdict(string(v)), column)) + "  "
	var b strings.Builder
	for _, f := range facts {
		if f[0] != "" {
			lead += s.Paint.Dim(text.Pad(s.t(f[0], nil), labels)) + "  "
		}
		pad := strings.Repeat(" ", text.Width(lead))
		b.WriteString(text.Wrap(text.CleanLine(f[1]), s.Width, lead, pad) + "\n")
		lead = strings.Repeat(" ", column+4)
	}
	return b.String()
}

// evidence lists what an item says, the latest ones where there are many.
func (s Style) evidence(items []checks.Item) string {
	var b strings.Builder
	shown := items[max(0, len(items)-maxEvidence):]
	if len(shown) < len(items) {
		shown = shown[1:] // the line about the rest is one of the ten
		b.WriteString(s.dim(s.t("report.check.more", args{"Count": len(items) - len(shown)}), detailIndent))
	}
	for _, it := range shown {
		if it.Text != "" {
			body := s.clock(it.Time) + "  " + text.CleanLine(it.Text)
			b.WriteString(s.Paint.Dim(strings.Repeat(" ", detailIndent)+text.Cut(body, s.Width-detailIndent)) + "\n")
		}
	}
	return b.String()
}

// aftermath is what stands below the criteria.
func (s Style) aftermath(r checks.Report) string {
	out := s.predictions(r) + s.undecided(r) + s.diagnosis(r)
	id := "report.check.hints"
	switch {
	case r.Verdict == checks.Passed && r.Next == nil:
		id = "report.check.last"
	case r.Verdict == checks.Passed:
		id = "report.check.passed"
	case r.Verdict == checks.CannotTell:
		id = "report.check.hints-unsure"
	}
	return out + "\n" + s.dim(s.t(id, nil), 0)
}

// predictions holds what a learner said beside what happened, in the lab's words.
func (s Style) predictions(r checks.Report) string {
	var b strings.Builder
	for _, p := range r.Predictions {
		if p.Text != "" {
			b.WriteString("\n" + s.wrap(text.CleanLine(p.Text), 0))
		}
	}
	return b.String()
}

// undecided says that a step is not passed where nothing failed either.
func (s Style) undecided(r checks.Report) string {
	n := 0
	for _, c := range r.Checks {
		if c.Verdict == checks.CannotTell {
			n++
		}
	}
	if n == 0 || r.Verdict != checks.CannotTell {
		return ""
	}
	return "\n" + s.wrap(s.t("report.check.undecided", args{"Count": n}), 0)
}

// diagnosis is the misconception that fits, if one does.
func (s Style) diagnosis(r checks.Report) string {
	if r.Diagnosis == nil || r.Diagnosis.Text == "" {
		return ""
	}
	return "\n" + s.wrap(text.CleanLine(r.Diagnosis.Text), 0)
}
