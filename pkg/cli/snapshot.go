package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"lab/pkg/problem"
	"lab/pkg/report"
	"lab/pkg/session"
	"lab/pkg/snapshot"
	"lab/pkg/watch"
)

func newSnapshot(f *Factory) *cobra.Command {
	lint := leaf(f, "snapshot-lint", "lint FILE", exactly(1), func(_ *cobra.Command, args []string) error {
		text, err := readFile(args[0])
		if err != nil {
			return err
		}
		set, found := snapshot.Load(args[0], text)
		if err := f.Result(lintDocument(set != nil, found, f), func() { f.printLint(args[0], set, found) }); err != nil {
			return err
		}
		if set == nil {
			return status(problem.NotYet)
		}
		return nil
	})
	return group(f, "snapshot", "snapshot", lint)
}

func lintDocument(ok bool, found problem.List, f *Factory) any {
	type finding struct {
		Code    string `json:"code"`
		Line    int    `json:"line"`
		Col     int    `json:"col"`
		Warning bool   `json:"warning"`
		What    string `json:"what"`
		Fix     string `json:"fix,omitempty"`
	}
	out := []finding{}
	for _, p := range found {
		x := finding{Code: p.Code, Warning: p.Warning, What: p.What(f.Words()), Fix: p.Fix(f.Words())}
		if p.Place != nil {
			x.Line, x.Col = p.Place.Line, p.Place.Col
		}
		out = append(out, x)
	}
	return map[string]any{"version": 1, "ok": ok, "findings": out}
}

func (f *Factory) printLint(file string, set *snapshot.Set, found problem.List) {
	if len(found) > 0 {
		fmt.Fprint(f.IO.Out, f.problemsText(found))
	}
	if set != nil {
		f.say(f.IO.Out, f.T("snapshot.ok", map[string]any{"File": file, "Count": len(set.Resources)}))
	}
}

func (f *Factory) problemsText(found problem.List) string {
	var b strings.Builder
	for _, p := range found {
		b.WriteString(report.Problem(p, f.style()))
	}
	return b.String()
}

// readFile reads a snapshot file as the control plane does.
func readFile(path string) ([]byte, error) {
	text, _, err := watch.Read(path)
	if err != nil {
		return nil, problem.New("session.unreadable", problem.Args{"File": path, "Error": session.Reason(err)}).Wrap(err)
	}
	return text, nil
}
