package text

import "github.com/fatih/color"

// Paint colours text, or leaves it as it is when it is off. The zero value is
// off. Colour never carries meaning alone: a mark and words stand beside it.
type Paint struct{ on bool }

// NewPaint makes a Paint that colours when on.
func NewPaint(on bool) Paint { return Paint{on: on} }

// On tells whether it colours.
func (p Paint) On() bool { return p.on }

// Bold is for titles.
func (p Paint) Bold(s string) string { return p.with(s, color.Bold) }

// Dim is for what is needed only on a second look.
func (p Paint) Dim(s string) string { return p.with(s, color.Faint) }

// Good is for what passed or works.
func (p Paint) Good(s string) string { return p.with(s, color.FgGreen) }

// Bad is for what is refused, down or not yet done.
func (p Paint) Bad(s string) string { return p.with(s, color.FgRed) }

// Unsure is for what the evidence does not decide, and for warnings.
func (p Paint) Unsure(s string) string { return p.with(s, color.FgYellow) }

// Code is for what a person types.
func (p Paint) Code(s string) string { return p.with(s, color.FgCyan) }

func (p Paint) with(s string, a color.Attribute) string {
	if !p.on || s == "" {
		return s
	}
	c := color.New(a)
	c.EnableColor() // fatih/color's own guess is about this process's stdout
	return c.Sprint(s)
}

// Mark is the sign before a line that has a verdict.
type Mark string

// The marks.
const (
	Pass Mark = "✔"
	Fail Mark = "✘"
	Open Mark = "?"
)

// Mark paints m in its colour.
func (p Paint) Mark(m Mark) string {
	switch m {
	case Pass:
		return p.Good(string(m))
	case Fail:
		return p.Bad(string(m))
	case Open:
	}
	return p.Unsure(string(m))
}
