package curriculum

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"lab/checks"
	"lab/pkg/problem"
	"lab/pkg/words"
)

// Solution is a way to do a step, right or wrong.
type Solution struct {
	Name    string // of its file
	Why     string // what it tries, for authors
	Before  []Act  // done on the step's start, before the step is opened again
	Acts    []Act
	Fails   *Fails         // of a wrong one
	Verdict checks.Verdict // that it must get
}

// Fails says what must refuse a wrong solution.
type Fails struct {
	Check     string `yaml:"check"`     // that must not pass
	Diagnosis string `yaml:"diagnosis"` // "" where none fits
}

type solutionFile struct {
	Why     string         `yaml:"why"`
	Before  []Act          `yaml:"before"`
	Acts    []Act          `yaml:"acts"`
	Fails   *Fails         `yaml:"fails"`
	Verdict checks.Verdict `yaml:"verdict"`
}

// solutions reads a folder of them, in the order of their names.
func (l *loader) solutions(dir string, wrong bool) []Solution {
	names, err := fs.Glob(l.fsys, path.Join(l.dir, dir, "*.yaml"))
	if err != nil {
		return nil
	}
	var out []Solution
	for _, n := range names {
		name := path.Join(dir, path.Base(n))
		var f solutionFile
		if !l.decode(name, &f) {
			continue
		}
		s := Solution{Name: strings.TrimSuffix(path.Base(n), ".yaml"), Why: f.Why, Before: f.Before, Acts: f.Acts, Fails: f.Fails, Verdict: f.Verdict}
		switch {
		case s.Verdict != "":
		case wrong:
			s.Verdict = checks.NotYet
		default:
			s.Verdict = checks.Passed
		}
		if wrong != (f.Fails != nil) || wrong == (s.Verdict == checks.Passed) {
			l.fail("curriculum.solution", problem.Place{File: name}, problem.Args{"Name": s.Name})
		}
		out = append(out, s)
	}
	return out
}

// Solution tells the first accepted solution to people, in Markdown. A value
// that is not known before its acts are done is left open.
func (s *Step) Solution(lang string, m Moment) (string, error) {
	w := words.For(lang)
	var b strings.Builder
	changed, acted := false, false
	for _, a := range s.Accepted[0].Acts {
		if changed {
			a.Lab = leaveOpen(a.Lab)
		}
		verb := a.verb()
		if verb == "wait" && !acted { // of a save, people see the answer
			continue
		}
		acted = verb == "begin" || verb == "kill" || verb == "lab" && a.Lab[0] != "answer"
		changed = changed || acted || a.Save != ""
		a, err := s.Fill(a, m)
		if err != nil {
			return "", err
		}
		fmt.Fprintln(&b, w.T("curriculum.act."+verb, map[string]any{
			"Act": a, "Command": m.Values.Command + " " + strings.Join(slices.Concat(a.Lab, a.Begin, a.Refused), " ")}))
	}
	return b.String(), nil
}

func leaveOpen(args []string) []string {
	out := slices.Clone(args)
	for i, a := range out {
		if strings.Contains(a, "${") {
			out[i] = "..."
		}
	}
	return out
}
