package curriculum

import (
	"lab/checks"
	"lab/pkg/words"
)

// Grade gives the verdict on the step with the texts of a language.
func (s *Step) Grade(lang string, m Moment) (checks.Report, error) {
	c, err := s.use()
	if err != nil {
		return checks.Report{}, err
	}
	sc, w := s.scope(c, m), c.in(lang)
	rep := sc.Grade()
	say := func(t *checks.Text) string {
		if t == nil {
			return ""
		}
		return m.Values.command(sc.Text(t))
	}
	for i := range rep.Missing {
		rep.Missing[i].Text = m.missing(lang, rep.Missing[i].ID)
	}
	for i := range rep.Checks {
		r := &rep.Checks[i]
		r.Expected = say(w.checks[r.ID+" expected"])
		switch {
		case len(rep.Missing) > 0:
			r.Observed = rep.Missing[0].Text
		case r.Because != "":
			r.Observed = say(w.checks[r.ID+" because "+r.Because])
		case r.Verdict == checks.CannotTell:
			r.Observed = words.For(lang).T("checks.fault", map[string]any{"Error": fault(r.Fault)})
		default:
			r.Observed = say(w.checks[r.ID+" "+string(r.Verdict)])
		}
	}
	if rep.Diagnosis != nil {
		rep.Diagnosis.Text = say(w.diagnoses[rep.Diagnosis.ID])
	}
	for i := range rep.Predictions {
		p := &rep.Predictions[i]
		p.Text = say(w.questions[p.Question+" after"])
	}
	return rep, nil
}

func fault(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
