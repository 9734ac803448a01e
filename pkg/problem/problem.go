// Package problem is the error that a person sees: a code with a page in
// docs/errors.md, its values, the place in a file, and the exit status.
//
// Packages below the command line return a *Problem where they know what a
// person should do, and a plain wrapped error elsewhere; the command line
// prints the first as it is and the second as a fault of ours. The words stand
// in pkg/words (problem.CODE.what and .fix), in each language.
package problem

import "lab/pkg/words"

// Exit is the status that lab ends with. The numbers are a contract: scripts and other checks rely on them.
type Exit int

// The exit statuses.
const (
	Passed      Exit = 0   // passed, done
	NotYet      Exit = 1   // the check ran, the step is not passed
	CannotTell  Exit = 2   // the evidence does not decide
	Environment Exit = 3   // no Envoy, no run, a port taken, a part dead
	Usage       Exit = 64  // the command line is wrong
	Fault       Exit = 70  // a fault of ours
	Interrupted Exit = 130 // by the user
)

// Args are the values that a problem's words name.
type Args = map[string]any

// Place is where in a file a problem is. Line and Col count characters from 1;
// 0 means unknown.
type Place struct {
	File   string
	Line   int
	Col    int
	Source string // the line's text, for the caret
}

// Problem is an error with words for a person.
type Problem struct {
	Code    string
	Args    Args
	Place   *Place
	Exit    Exit
	Warning bool
	Cause   error `json:"-"` // for the log; not shown unless Args names it
}

// New makes a Problem with exit status Environment, the usual one.
func New(code string, args Args) *Problem {
	return &Problem{Code: code, Args: args, Exit: Environment}
}

// WithExit sets the exit status.
func (p *Problem) WithExit(e Exit) *Problem { p.Exit = e; return p }

// At sets the place.
func (p *Problem) At(pl Place) *Problem { p.Place = &pl; return p }

// Wrap keeps the error that led here.
func (p *Problem) Wrap(err error) *Problem { p.Cause = err; return p }

// Unwrap gives the error that led here.
func (p *Problem) Unwrap() error { return p.Cause }

// Error is the English text, without the place.
func (p *Problem) Error() string { return p.What(words.English()) }

// What says what is wrong, in the language of w.
func (p *Problem) What(w *words.Words) string {
	return w.T("problem."+p.Code+".what", p.Args)
}

// Fix says what to do next; it may be empty.
func (p *Problem) Fix(w *words.Words) string {
	return w.T("problem."+p.Code+".fix", p.Args)
}
