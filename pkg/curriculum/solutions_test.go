package curriculum

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"lab/checks"
)

// play does a solution and grades it.
func play(t *testing.T, step *Step, sol Solution, seed int64) (*sim, checks.Report) {
	t.Helper()
	s := newSim(t, step.lab, step.ID, seed)
	if len(sol.Before) > 0 {
		s.acts(sol.Before)
		s.open(step.ID)
	}
	s.acts(sol.Acts)
	return s, s.check("en")
}

func TestSolutions(t *testing.T) {
	for _, lab := range labsAndSkeleton(t) {
		for _, step := range lab.Steps {
			if !simulated(step) {
				continue
			}
			for _, sol := range append(append([]Solution{}, step.Accepted...), step.Wrong...) {
				for seed := range int64(4) {
					t.Run(fmt.Sprintf("%s/%s/%s/%d", lab.ID, step.ID, sol.Name, seed), func(t *testing.T) {
						s, rep := play(t, step, sol, seed)
						judge(t, sol, rep)
						sound(t, s, rep)
					})
				}
			}
		}
	}
}

// TestEachCheckFails: some wrong solution fails each check, so that one whose
// expression were true would be noticed.
func TestEachCheckFails(t *testing.T) {
	failed := map[string]bool{}
	every(t, func(_ string, s *sim, sol Solution, rep checks.Report) {
		for _, c := range rep.Checks {
			if sol.Fails != nil && c.ID == sol.Fails.Check && c.Verdict == checks.NotYet {
				failed[s.lab.ID+"/"+s.step.ID+"/"+c.ID] = true
			}
		}
	})
	for _, lab := range labsAndSkeleton(t) {
		for _, step := range lab.Steps {
			if !simulated(step) {
				continue
			}
			for _, c := range step.logic.Checks {
				if name := lab.ID + "/" + step.ID + "/" + c.ID; !failed[name] {
					t.Errorf("no wrong solution fails %s", name)
				}
			}
		}
	}
}

// TestNotPassed: doing nothing, doing an accepted solution before the step is
// opened, and doing what another step accepts do not pass.
func TestNotPassed(t *testing.T) {
	for _, lab := range labsAndSkeleton(t) {
		for _, step := range lab.Steps {
			if !simulated(step) {
				continue
			}
			notPassed := func(name string, s *sim) {
				if rep := s.check("en"); rep.Verdict == checks.Passed {
					t.Errorf("%s, %s: passes", step.ID, name)
				}
			}
			notPassed("nothing", newSim(t, lab, step.ID, 1))
			for _, sol := range step.Accepted {
				s := newSim(t, lab, step.ID, 1)
				s.acts(sol.Acts)
				s.open(step.ID)
				notPassed("before: "+sol.Name, s)
			}
			for _, other := range lab.Steps {
				if !simulated(other) {
					continue
				}
				if other == step {
					continue
				}
				s := newSim(t, lab, step.ID, 1)
				s.tolerant, s.step = true, other
				s.acts(other.Accepted[0].Acts)
				s.step = step
				notPassed("another step: "+other.ID, s)
			}
		}
	}
}

func labsAndSkeleton(t *testing.T) []*Lab {
	t.Helper()
	all, err := All()
	if err != nil {
		t.Fatal(err)
	}
	files, err := Skeleton()
	if err != nil {
		t.Fatal(err)
	}
	fsys := fstest.MapFS{}
	for name, raw := range files {
		fsys["99-new/"+name] = &fstest.MapFile{Data: raw}
	}
	lab, problems := Load(fsys, "99-new")
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	return append(slices.Clone(all), lab)
}

func judge(t *testing.T, sol Solution, rep checks.Report) {
	t.Helper()
	if rep.Verdict != sol.Verdict {
		t.Errorf("verdict %q, want %q", rep.Verdict, sol.Verdict)
	}
	diagnosis := ""
	if rep.Diagnosis != nil {
		diagnosis = rep.Diagnosis.ID
	}
	if sol.Fails != nil {
		if diagnosis != sol.Fails.Diagnosis {
			t.Errorf("diagnosis %q, want %q", diagnosis, sol.Fails.Diagnosis)
		}
		for _, c := range rep.Checks {
			if c.ID == sol.Fails.Check && c.Verdict == checks.Passed {
				t.Errorf("check %s passes", c.ID)
			}
		}
	}
	if t.Failed() {
		t.Log(show(rep))
	}
}

// sound holds for every report: texts in both languages without a gap, no
// fault, and the same verdict from the same journal read back.
func sound(t *testing.T, s *sim, rep checks.Report) {
	t.Helper()
	for _, c := range rep.Checks {
		if c.Fault != nil {
			t.Errorf("check %s: %v", c.ID, c.Fault)
		}
		if rep.Verdict == checks.Passed && len(c.Evidence) == 0 && c.ID != "host-gone" && c.ID != "counted" {
			t.Errorf("check %s cites nothing", c.ID)
		}
	}
	for _, lang := range Languages {
		r, err := s.step.Grade(lang, s.moment())
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range texts(t, s, lang, r) {
			if text == "" || strings.ContainsAny(text, "{}") || strings.Contains(text, "(?)") {
				t.Errorf("%s: a gap in %q", lang, text)
			}
		}
	}
	again := checks.New()
	for _, e := range s.events {
		raw, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		e = reread(t, raw)
		again.Fold(e)
	}
	m := s.moment()
	m.Evidence = again
	r, err := s.step.Grade("en", m)
	if err != nil || show(r) != show(rep) {
		t.Errorf("another verdict when read back: %v\n%s\n%s", err, show(rep), show(r))
	}
}

// texts are all words that a learner may see now.
func texts(t *testing.T, s *sim, lang string, rep checks.Report) (out []string) {
	t.Helper()
	must := func(text string, err error) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, text)
	}
	must(s.step.Text(lang, s.moment()))
	for rung := range s.step.Hints() {
		must(s.step.Hint(lang, rung+1, s.moment()))
	}
	for _, q := range s.step.Questions {
		ask, _, err := s.step.Ask(lang, q, s.moment())
		must(ask, err)
	}
	for _, c := range rep.Checks {
		out = append(out, c.Expected, c.Observed)
	}
	for _, p := range rep.Predictions {
		out = append(out, p.Text)
	}
	if rep.Diagnosis != nil {
		out = append(out, rep.Diagnosis.Text)
	}
	return out
}

func show(rep checks.Report) string {
	raw, _ := json.MarshalIndent(rep, "", " ")
	return string(raw)
}
