package prove

import (
	"fmt"
	"strings"
	"time"

	"lab/checks"
	"lab/pkg/curriculum"
	"lab/pkg/term/text"
)

// Matrix is a proof in numbers, one row a step.
type Matrix struct {
	Version  int      `json:"version"` // 1
	Lab      string   `json:"lab"`
	OK       bool     `json:"ok"`
	Rows     []Row    `json:"rows"`
	Unkilled []string `json:"unkilled"` // checks that no wrong solution fails
	Faults   []string `json:"faults"`
	Seconds  float64  `json:"seconds"`
}

// Row is one step. Each pair of numbers is "as they must be" and "played".
type Row struct {
	Step        string  `json:"step"`
	Accepted    Pair    `json:"accepted"`
	Wrong       Pair    `json:"wrong"`
	Other       Pair    `json:"other"` // nothing, before, and other steps' solutions
	CannotTell  int     `json:"cannot_tell"`
	NotPlayed   int     `json:"not_played"`
	MeanSeconds float64 `json:"mean_seconds"`
}

// Pair is how many of how many.
type Pair struct {
	Right int `json:"right"`
	Of    int `json:"of"`
}

// NewMatrix sums up a proof.
func NewMatrix(lab *curriculum.Lab, outs []Outcome, took time.Duration) Matrix {
	m := Matrix{Version: 1, Lab: lab.ID, OK: true, Rows: []Row{}, Unkilled: Unkilled(outs), Faults: []string{}, Seconds: took.Seconds()}
	for _, st := range lab.Steps {
		row := Row{Step: st.ID}
		n := 0
		for _, o := range outs {
			if o.Case.Step != st {
				continue
			}
			n++
			row.MeanSeconds += o.Took.Seconds()
			row.add(o)
			if o.Err != nil || o.Bad != "" {
				m.Faults = append(m.Faults, Line(o))
			}
		}
		if n > 0 {
			row.MeanSeconds /= float64(n)
			m.Rows = append(m.Rows, row)
		}
	}
	m.OK = len(m.Faults) == 0 && len(m.Unkilled) == 0
	return m
}

func (r *Row) add(o Outcome) {
	if o.Err != nil {
		r.NotPlayed++
		return
	}
	if o.Report.Verdict == checks.CannotTell {
		r.CannotTell++
	}
	p := &r.Other
	switch o.Case.Kind {
	case Accepted:
		p = &r.Accepted
	case Wrong:
		p = &r.Wrong
	}
	p.Of++
	if o.Bad == "" {
		p.Right++
	}
}

// Line tells one outcome.
func Line(o Outcome) string {
	mark, what := "✔", ""
	switch {
	case o.Err != nil:
		mark, what = "?", "not played: "+o.Err.Error()
	case o.Bad != "":
		mark, what = "✘", o.Bad
	default:
		what = string(o.Report.Verdict)
		if d := o.Report.Diagnosis; d != nil && o.Case.Kind == Wrong {
			what += ", " + d.ID
		}
	}
	if o.Dir != "" {
		what += " (" + o.Dir + ")"
	}
	return fmt.Sprintf("%s %s %s %s %4.1f s  %s", mark, text.Pad(o.Case.Step.ID, 18), text.Pad(o.Case.Kind, 8),
		text.Pad(o.Case.Name, 32), o.Took.Seconds(), what)
}

// Text is the matrix for people.
func (m Matrix) Text() string {
	rows := [][]string{{"step", "accepted", "wrong", "other", "cannot tell", "not played", "s a case"}}
	for _, r := range m.Rows {
		rows = append(rows, []string{r.Step, r.Accepted.String(), r.Wrong.String(), r.Other.String(),
			fmt.Sprint(r.CannotTell), fmt.Sprint(r.NotPlayed), fmt.Sprintf("%.1f", r.MeanSeconds)})
	}
	var b strings.Builder
	b.WriteString("\n" + m.Lab + "\n")
	for _, l := range text.Columns(rows, 3, map[int]bool{4: true, 5: true, 6: true}) {
		b.WriteString(l + "\n")
	}
	for _, u := range m.Unkilled {
		fmt.Fprintf(&b, "✘ no wrong solution fails the check %s\n", u)
	}
	for _, f := range m.Faults {
		b.WriteString(f + "\n")
	}
	verdict := "proved"
	if !m.OK {
		verdict = "NOT proved"
	}
	fmt.Fprintf(&b, "%s in %.0f s\n", verdict, m.Seconds)
	return b.String()
}

// String is "3 of 3".
func (p Pair) String() string { return fmt.Sprintf("%d of %d", p.Right, p.Of) }
