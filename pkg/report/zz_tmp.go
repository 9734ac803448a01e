package report

import (
	"fmt"

	"lab/checks"
	"lab/pkg/journal"
)

func (s Style) verdict(v string) string { return v }

func Check(r checks.Report, s Style) string {
	out := fmt.Sprintf("%s %s %s\n", r.Lab, r.Step, r.Verdict)
	for _, c := range r.Checks {
		out += fmt.Sprintf("%s %s\n   expected %s\n   observed %s\n", c.Verdict, c.ID, c.Expected, c.Observed)
	}
	return out
}

func Why(r checks.Report, _ map[int64]journal.Event, s Style) string { return Check(r, s) }

func StepHead(lab string, n, of int, title string, s Style) string {
	return fmt.Sprintf("%s · %d of %d · %s", lab, n, of, title)
}
