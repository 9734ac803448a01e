package checks

import (
	"slices"
	"time"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// recent bounds the age of the last window of steady traffic.
const recent = 3 * time.Second

// maxItems bounds the events that one check cites.
const maxItems = 20

// Grade gives the verdicts of the step. The texts of the report are empty.
func (s *Scope) Grade() Report {
	rep := Report{Version: 1, Lab: s.in.Lab, Step: s.in.Step, Verdict: Passed}
	rep.Missing, rep.Settles = s.Missing()
	rep.Settles = rep.Settles || s.unsent()
	for _, c := range s.rules.checks {
		res := Result{ID: c.id, Verdict: CannotTell, Evidence: []Item{}}
		if len(rep.Missing) == 0 {
			var settles bool
			res, settles = s.check(c)
			rep.Settles = rep.Settles || settles
		}
		rep.Checks = append(rep.Checks, res)
		rep.Verdict = worse(rep.Verdict, res.Verdict)
	}
	switch {
	case len(rep.Missing) > 0:
		rep.Verdict = CannotTell
	case rep.Verdict == Passed:
		rep.Predictions = s.predictions()
	default:
		rep.Diagnosis = s.diagnose()
	}
	return rep
}

// worse orders verdicts: what fails is known, whatever else cannot be told.
func worse(a, b Verdict) Verdict {
	if a == NotYet || b == NotYet {
		return NotYet
	}
	if a == CannotTell || b == CannotTell {
		return CannotTell
	}
	return Passed
}

// Missing names the first thing without which nothing can be told, since what
// comes behind it often follows from it; and whether it may come by itself.
func (s *Scope) Missing() (out []Missing, settles bool) {
	if s.ev.run == nil || s.ev.step.ID != s.in.Step {
		return []Missing{{ID: NeedStep}}, false
	}
	if s.ev.step.lost {
		return []Missing{{ID: NeedEvidence}}, false
	}
	for _, need := range Needs() {
		if slices.Contains(s.rules.needs, need) && !s.has(need) {
			return []Missing{{ID: need}}, need != NeedEnvoy && need != NeedControlPlane
		}
		if need == NeedControlPlane && slices.Contains(s.rules.needs, need) && s.ev.unread {
			return []Missing{{ID: NeedReading}}, true
		}
	}
	return nil, false
}

func (s *Scope) has(need string) bool {
	e := s.ev.envoy()
	switch need {
	case NeedEnvoy:
		return e != nil
	case NeedAdmin:
		return e != nil && s.ev.state(e).read && !s.ev.state(e).silent
	case NeedControlPlane:
		return s.ev.alive(roleControlPlane) != nil
	case NeedConnection:
		for _, st := range s.ev.streams {
			if st.Open && st.Envoy == e {
				return true
			}
		}
		return false
	case NeedAccess:
		return !s.ev.step.access.lost && s.in.Now.Sub(s.ev.step.access.last) < recent
	}
	return s.in.Now.Sub(s.ev.step.traffic.last) < recent
}

// unsent tells that the last snapshot came into force and nothing of it was
// sent yet.
func (s *Scope) unsent() bool {
	st := &s.ev.step
	if len(st.snapshots) == 0 || !s.has(NeedConnection) {
		return false
	}
	last := st.snapshots[len(st.snapshots)-1]
	return len(st.responses) == 0 || st.responses[len(st.responses)-1].Event < last.Event
}

// check gives one verdict. Whatever goes wrong on the way makes it CannotTell.
func (s *Scope) check(c check) (res Result, settles bool) {
	res = Result{ID: c.id, Verdict: CannotTell, Evidence: []Item{}}
	for _, u := range c.unknown {
		holds, err := s.Bool(u.Expr)
		if err != nil {
			res.Fault = err
			return res, false
		}
		if holds {
			res.Because, res.Evidence = u.because, s.show(c)
			return res, u.settles
		}
	}
	passed, err := s.Bool(c.pass)
	if err != nil {
		res.Fault = err
		return res, false
	}
	res.Verdict = NotYet
	if passed {
		res.Verdict = Passed
	}
	res.Evidence = s.show(c)
	return res, false
}

func (s *Scope) diagnose() *Diagnosis {
	for _, d := range s.rules.diagnoses {
		if holds, err := s.Bool(d.Expr); err == nil && holds {
			return &Diagnosis{ID: d.name}
		}
	}
	return nil
}

// predictions compares what was predicted with what happened. One that was
// given after the first change came into force, or the first part ended, is
// late.
func (s *Scope) predictions() []Prediction {
	var out []Prediction
	for _, p := range s.rules.predictions {
		a := s.answer(AnswerName(p.name))
		actual, err := s.String(p.Expr)
		if a.event == 0 || err != nil {
			continue
		}
		first := s.ev.nextAct(s.ev.step.Event)
		out = append(out, Prediction{
			Question: p.name, Predicted: a.value, Actual: actual, Right: same(a.value, actual),
			Late: first.event != 0 && first.event < a.event,
		})
	}
	return out
}

// show gives the events that a check cites, in order, each once. What cannot
// be cited is left out: it changes no verdict.
func (s *Scope) show(c check) []Item {
	out := []Item{}
	if c.show == nil {
		return out
	}
	v, err := s.eval(c.show)
	if err != nil {
		return out
	}
	list, ok := v.(traits.Lister)
	if !ok {
		return out
	}
	var events []int64
	for it := list.Iterator(); it.HasNext() == types.True; {
		events = append(events, eventsOf(it.Next())...)
	}
	slices.Sort(events)
	for _, e := range slices.Compact(events) {
		if t, ok := s.ev.timeOf(e); ok && e > 0 && len(out) < maxItems {
			out = append(out, Item{Event: e, Time: t})
		}
	}
	return out
}

// eventsOf gives the events of a value: a number, or one that has events.
func eventsOf(v ref.Val) []int64 {
	switch x := v.Value().(type) {
	case int64:
		return []int64{x}
	case *Response:
		return []int64{x.Event, x.AnswerEvent}
	case *Request:
		return []int64{x.Event}
	case *Snapshot:
		return []int64{x.Event}
	case *Refused:
		return []int64{x.Event}
	case *Command:
		return []int64{x.Event}
	case *Process:
		return []int64{x.Event, x.Ended}
	case *Stream:
		return []int64{x.Event, x.Closed}
	case *Access:
		return []int64{x.Event}
	case *SlowRequest:
		return []int64{x.Event, x.Ended}
	case *Window:
		return []int64{x.FailedEvent, x.Last}
	}
	if list, ok := v.(traits.Lister); ok {
		var out []int64
		for it := list.Iterator(); it.HasNext() == types.True; {
			out = append(out, eventsOf(it.Next())...)
		}
		return out
	}
	return nil
}
