package curriculum

import (
	"slices"

	"lab/checks"
	"lab/pkg/problem"
)

// solutions makes sure that something kills each check and each diagnosis.
func (t *linter) solutions(s *Step) {
	checked, diagnosed := map[string]bool{}, map[string]bool{}
	for _, w := range s.Wrong {
		file := "wrong/" + s.file() + "/" + w.Name + ".yaml"
		t.acts(s, file, w.Before)
		t.acts(s, file, w.Acts)
		if w.Fails == nil {
			continue
		}
		checked[w.Fails.Check], diagnosed[w.Fails.Diagnosis] = true, true
		if !slices.ContainsFunc(s.logic.Checks, func(c checkFile) bool { return c.ID == w.Fails.Check }) {
			t.fail("curriculum.unknown", file, 0, problem.Args{"What": "checks." + w.Fails.Check})
		}
		if _, ok := s.logic.Diagnoses.get(w.Fails.Diagnosis); !ok && w.Fails.Diagnosis != "" {
			t.fail("curriculum.unknown", file, 0, problem.Args{"What": "diagnoses." + w.Fails.Diagnosis})
		}
	}
	for _, a := range s.Accepted {
		t.acts(s, "accepted/"+s.file()+"/"+a.Name+".yaml", a.Acts)
	}
	if len(s.Accepted) == 0 {
		t.fail("curriculum.missing", "accepted/"+s.file(), 0, problem.Args{"What": "accepted/" + s.file()})
	}
	for _, c := range s.logic.Checks {
		if !checked[c.ID] {
			t.fail("curriculum.unproved", s.logicName(), c.Pass.line, problem.Args{"What": "checks." + c.ID})
		}
	}
	for _, d := range s.logic.Diagnoses {
		if !diagnosed[d.name] {
			t.fail("curriculum.unproved", s.logicName(), d.line, problem.Args{"What": "diagnoses." + d.name})
		}
	}
}

// startActs makes sure that a start does only what the session does for it:
// edits, Envoy's restart, and faults of the lab's upstreams.
func (t *linter) startActs(s *Step) {
	for i, a := range slices.Concat(s.Start.Acts, s.Start.After) {
		_, _, fault := a.SetsFault()
		if !fault && !a.RestartsEnvoy() && !a.edits() && a.Save == "" {
			t.fail("curriculum.act", s.logicName(), 0, problem.Args{"Number": i + 1})
		}
	}
}

// acts makes sure that each act is one thing, and that what is edited is saved.
func (t *linter) acts(s *Step, file string, acts []Act) {
	edited := false
	var conditions []string
	for i, a := range acts {
		verb := a.verb()
		good := verb != ""
		switch verb {
		case "save":
			good = edited && slices.Contains([]string{SaveWrite, SaveRename, SaveSymlink, SaveAside}, a.Save)
			edited = false
		case "kill":
			good = slices.Contains([]string{"envoy", "old-envoy", "control-plane"}, a.Kill)
		case "lab", "begin", "refused":
			t.segments(s, file, slices.Concat(a.Lab, a.Begin, a.Refused))
		case "wait":
			conditions = append(conditions, a.Wait)
		}
		edited = edited || a.edits()
		if !good {
			t.fail("curriculum.act", file, 0, problem.Args{"Number": i + 1})
		}
	}
	if edited {
		t.fail("curriculum.unsaved", file, 0, nil)
	}
	t.conditions(s, file, conditions)
}

// segments compiles the ${expressions} in the arguments of a command.
func (t *linter) segments(s *Step, file string, args []string) {
	c, errs := s.compiled()
	if len(errs) > 0 {
		return // told already
	}
	for _, a := range args {
		_, errs := c.rules.Text(checks.Source{Text: a, File: file})
		for _, e := range errs {
			t.fail("curriculum.expression", file, 0, problem.Args{"Error": e.Message, "Expression": a})
		}
	}
}

// conditions compiles what acts wait for. Templates in them are taken for text.
func (t *linter) conditions(s *Step, file string, conditions []string) {
	c, errs := s.compiled()
	if len(errs) > 0 {
		return // told already
	}
	for _, cond := range conditions {
		if cond == "" {
			continue
		}
		_, errs := c.rules.Condition(checks.Source{Text: cond, File: file})
		for _, e := range errs {
			t.fail("curriculum.expression", file, 0, problem.Args{"Error": e.Message, "Expression": cond})
		}
	}
}
