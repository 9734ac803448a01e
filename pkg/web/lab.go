package web

import (
	"context"

	"lab/checks"
	"lab/pkg/report"
)

// Lab is what the page needs of a session, in the language lang where there are
// words. Each method may be called from any goroutine once the parts of the run
// are up, and is cheap: it asks no process and waits for nothing.
type Lab interface {
	// Status is what every part does now.
	Status() report.Status
	// Step is the current step.
	Step(lang string) (Step, error)
	// Grade is the verdict on what is known now. It leaves no trace: a learner
	// is graded by `lab check`, not by a page that is open.
	Grade(lang string) (checks.Report, error)
	// Questions are those of the current step.
	Questions(lang string) ([]Question, error)
	// Answer journals what a learner says to a question of the current step. A
	// value that cannot be an answer gives a *problem.Problem.
	Answer(ctx context.Context, question, value string) error
	// Command is what this learner types before a command: "lab".
	Command() string
}

// Step is a step as a learner reads it.
type Step struct {
	Lab    string
	ID     string
	Number int // from 1
	Of     int
	Title  string
	Text   string // Markdown
}

// Question is a question of a step, or a prediction, and what was said to it.
type Question struct {
	ID         string   `json:"id"`
	Text       string   `json:"text"`
	Kind       string   `json:"kind"` // "choice", "text", "number"
	Choices    []Choice `json:"choices"`
	Prediction bool     `json:"prediction"`
	Value      string   `json:"value"` // the last answer; "" where there is none
}

// Choice is one answer of a question of kind "choice".
type Choice struct {
	Value string `json:"value"`
	Label string `json:"label"`
}
