package session

import (
	"context"

	"lab/pkg/curriculum"
	"lab/pkg/journal"
)

// questions are those of the current step, with what was said to them.
func (s *Session) questions(_ context.Context, in Ask) ([]Question, error) {
	step := s.step()
	out := []Question{}
	for _, q := range step.Questions {
		x, err := s.ask(step, q, in)
		if err != nil {
			return nil, err
		}
		out = append(out, x)
	}
	return out, nil
}

func (s *Session) ask(step *curriculum.Step, q curriculum.Question, in Ask) (Question, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text, labels, err := step.Ask(in.Lang, q, s.moment(in.Command))
	return Question{Step: step.ID, ID: q.ID, Text: text, Choices: labels, Prediction: q.Prediction,
		Value: s.steps.answers[step.ID+" "+q.ID]}, err
}

// answer journals what a learner says. Whether it is right, check tells.
func (s *Session) answer(_ context.Context, in AnswerCall) (Question, error) {
	s.moving.Lock()
	defer s.moving.Unlock()
	step := s.step()
	q, ok := step.Question(in.Question)
	if !ok {
		var have []string
		for _, x := range step.Questions {
			have = append(have, x.ID)
		}
		return Question{}, noSuch("session.no-question", in.Question, have)
	}
	value, err := step.Answer(q, in.Value)
	if err != nil {
		return Question{}, err
	}
	if err := s.record(journal.Event{Source: journal.Learner, Kind: journal.KindAnswer, Answer: &journal.Answer{
		Step: step.ID, Question: q.ID, Value: value, Prediction: q.Prediction}}); err != nil {
		return Question{}, err
	}
	return s.ask(step, q, in.Ask)
}
