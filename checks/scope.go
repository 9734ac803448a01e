package checks

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
)

// Input is what a grading needs beside the evidence.
type Input struct {
	Lab  string
	Step string
	Now  time.Time
}

// Scope is the evaluation of a step's rules at one moment. It reads the
// evidence: nothing may be folded while it is in use.
type Scope struct {
	rules  *Rules
	ev     *Evidence
	in     Input
	cached map[string]any
}

// At begins an evaluation.
func (r *Rules) At(ev *Evidence, in Input) *Scope {
	return &Scope{rules: r, ev: ev, in: in, cached: map[string]any{}}
}

// ResolveName is for CEL: it gives a variable when an expression asks for it.
// An error is passed on as a value, which makes the expression fail.
func (s *Scope) ResolveName(name string) (any, bool) {
	if v, ok := s.cached[name]; ok {
		return v, true
	}
	v, err := s.resolve(name)
	if errors.Is(err, errUnknownName) {
		return nil, false
	}
	if err != nil {
		v = types.WrapErr(err)
	}
	s.cached[name] = v
	return v, true
}

// Parent is for CEL; there is none.
func (s *Scope) Parent() cel.Activation { return nil }

var errUnknownName = errors.New("no such name")

func (s *Scope) resolve(name string) (any, error) {
	if let, ok := s.rules.lets[name]; ok {
		return s.eval(let)
	}
	if param, ok := strings.CutPrefix(name, paramPrefix); ok {
		return s.param(param)
	}
	if question, ok := strings.CutPrefix(name, answerPrefix); ok {
		return s.answer(question).value, nil
	}
	if name == "evidence" {
		return &evidenceValue{s.ev}, nil
	}
	for _, v := range variables {
		if v.name == name {
			return v.eval(s)
		}
	}
	return nil, errUnknownName
}

// param reads a value from the journal's run, so that a grading needs nothing
// but the journal.
func (s *Scope) param(name string) (any, error) {
	if s.ev.run == nil {
		return nil, errNoRun
	}
	v, ok := s.ev.run.Params[name]
	if !ok {
		return nil, fmt.Errorf("the run has no param %q", name)
	}
	if s.rules.lang.params[name] != IntParam {
		return v, nil
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("param %s: %w", name, err)
	}
	return n, nil
}

// answer gives the last answer to a question, by the name that expressions use.
func (s *Scope) answer(name string) answer {
	for id, a := range s.ev.step.answers {
		if AnswerName(id) == name {
			return a
		}
	}
	return answer{}
}

func (s *Scope) eval(e *Expr) (any, error) {
	v, _, err := e.program.Eval(s)
	if err != nil {
		return nil, err
	}
	return v, nil
}

// Bool evaluates a condition.
func (s *Scope) Bool(e *Expr) (bool, error) {
	v, err := s.eval(e)
	if err != nil {
		return false, err
	}
	b, ok := v.(types.Bool)
	if !ok {
		return false, fmt.Errorf("%s: gives no bool", e.source.Text)
	}
	return bool(b), nil
}

// String evaluates an expression to text, as a ${segment} does: a list is its
// elements with commas.
func (s *Scope) String(e *Expr) (string, error) {
	v, err := s.eval(e)
	if err != nil {
		return "", err
	}
	return display(v)
}
