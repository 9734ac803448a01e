package session

import (
	"lab/pkg/journal"
)

// The states of a step as `lab status` names them.
const (
	stateOpen    = "open"
	statePassed  = "passed"
	stateSkipped = "skipped"
	stateShown   = "shown"
	stateLocked  = "locked"
)

// progress is where a learner is, folded from the journal.
type progress struct {
	current string
	states  map[string]string // of steps that were opened; the rest is locked
	rungs   map[string]int    // hints taken
	answers map[string]string // "step question" -> value
}

func (p *progress) fold(e journal.Event) {
	if p.states == nil {
		p.states, p.rungs, p.answers = map[string]string{}, map[string]int{}, map[string]string{}
	}
	if e.Kind == journal.KindAnswer {
		p.answers[e.Answer.Step+" "+e.Answer.Question] = e.Answer.Value
	}
	if e.Kind != journal.KindStep {
		return
	}
	id := e.Step.ID
	switch e.Step.State {
	case "opened":
		p.current = id
		if p.states[id] == "" || p.states[id] == stateSkipped {
			p.states[id] = stateOpen
		}
		if e.Step.Why == "reset" {
			p.rungs[id] = 0
		}
	case "shown":
		if p.states[id] != statePassed {
			p.states[id] = stateShown
		}
	case "passed": // what was shown before stays shown: it is no pass of the learner's own
		if p.states[id] != stateShown {
			p.states[id] = statePassed
		}
	case "skipped":
		if p.states[id] == stateOpen {
			p.states[id] = stateSkipped
		}
	case "hint":
		p.rungs[id] = max(p.rungs[id], e.Step.Rung)
	}
}

func (p *progress) state(id string) string {
	if st := p.states[id]; st != "" {
		return st
	}
	return stateLocked
}

func (s *Session) currentStep() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.steps.current
}

func (s *Session) openStep(id, why string) error {
	return s.record(journal.Event{Source: journal.Session, Kind: journal.KindStep,
		Step: &journal.Step{ID: id, State: "opened", Why: why}})
}

func (s *Session) markStep(id, state string, rung int) error {
	return s.record(journal.Event{Source: journal.Learner, Kind: journal.KindStep,
		Step: &journal.Step{ID: id, State: state, Rung: rung}})
}
