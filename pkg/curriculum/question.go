package curriculum

import (
	"fmt"
	"strconv"
	"strings"

	"lab/checks"
	"lab/pkg/problem"
)

// Kind is what an answer must be.
type Kind string

// The kinds of questions.
const (
	KindChoice Kind = "choice" // one of Choices
	KindText   Kind = "text"
	KindNumber Kind = "number" // an integer
)

// Question is asked in a step. A prediction is given before the act and shown
// against what happened; it decides nothing.
type Question struct {
	ID         string
	Kind       Kind
	Choices    []string // the values to answer with
	Prediction bool
}

type questionFile struct {
	ID         string   `yaml:"id"`
	Kind       Kind     `yaml:"kind"`
	Choices    []string `yaml:"choices"`
	Expect     text     `yaml:"expect"` // right answers: a list of strings
	Prediction bool     `yaml:"prediction"`
	Actual     text     `yaml:"actual"` // what happened: a string
}

func (q questionFile) question() Question {
	return Question{ID: q.ID, Kind: q.Kind, Choices: q.Choices, Prediction: q.Prediction}
}

// rightAnswer is the check of a question.
func (s *Step) rightAnswer(id string) checks.Source {
	for _, q := range s.logic.Questions {
		if q.ID == id {
			src := q.Expect.source(s.logicName())
			src.Text = fmt.Sprintf("(%s).exists(right, same(answer.%s, right))", src.Text, checks.AnswerName(id))
			src.Col--
			return src
		}
	}
	return checks.Source{Text: "no such question: " + id, File: s.logicName()}
}

// Ask is a question in a language, with a label for each choice.
func (s *Step) Ask(lang string, q Question, m Moment) (ask string, labels []string, err error) {
	c, err := s.use()
	if err != nil {
		return "", nil, err
	}
	ask = m.Values.command(s.scope(c, m).Text(c.in(lang).questions[q.ID+" ask"]))
	for _, v := range q.Choices {
		labels = append(labels, s.label(lang, q.ID, v))
	}
	return ask, labels, nil
}

// label is the words for a choice; one that needs none, like CDS, is its own.
func (s *Step) label(lang, question, choice string) string {
	if w, ok := s.words[lang]; ok {
		if q, ok := w.Questions.get(question); ok {
			if l, ok := q.Choices.get(choice); ok {
				return l
			}
		}
	}
	return choice
}

// Question finds a question of the step.
func (s *Step) Question(id string) (Question, bool) {
	for _, q := range s.Questions {
		if q.ID == id {
			return q, true
		}
	}
	return Question{}, false
}

// Answer makes what a learner typed the value to journal. A choice may be
// given as its value, its label in any language, or its place in the list from
// 1. What cannot be an answer at all is a problem.
func (s *Step) Answer(q Question, typed string) (string, error) {
	a := checks.Normalise(typed)
	switch {
	case a == "":
		return "", problem.New("curriculum.answer-empty", problem.Args{"Question": q.ID}).WithExit(problem.Usage)
	case q.Kind == KindNumber:
		if _, err := strconv.ParseInt(a, 10, 64); err != nil {
			return "", problem.New("curriculum.answer-number", problem.Args{"Question": q.ID, "Value": typed}).WithExit(problem.Usage)
		}
		return a, nil
	case q.Kind != KindChoice:
		return a, nil
	}
	for i, v := range q.Choices {
		if a == checks.Normalise(v) || a == strconv.Itoa(i+1) {
			return v, nil
		}
		for _, lang := range Languages {
			if a == checks.Normalise(s.label(lang, q.ID, v)) {
				return v, nil
			}
		}
	}
	return "", problem.New("curriculum.answer-choice", problem.Args{
		"Question": q.ID, "Value": typed, "Choices": strings.Join(q.Choices, ", ")}).WithExit(problem.Usage)
}
