// Package term is lab's terminal: the three streams, what they can do, progress
// of long work, and Markdown.
//
// It decides once, from the streams and the environment, about colour, width and
// asking; the rest of lab reads the decision here. It must not know what lab
// says: words and screens are pkg/words and pkg/report. Measuring and colouring
// text, which needs no stream, is pkg/term/text.
package term

import (
	"io"
	"os"
	"strconv"

	"golang.org/x/term"

	"lab/pkg/problem"
	"lab/pkg/term/text"
)

// Widths in cells. Prose wider than maxText is hard to read; a narrower
// terminal than minWidth gets lines that it folds itself.
const (
	defaultWidth = 80
	minWidth     = 40
	maxText      = 80
)

// IO is where lab reads and writes. It is made once by System, or by a test;
// nothing in it changes after the flags are read.
type IO struct {
	In  io.Reader
	Out io.Writer // results
	Err io.Writer // everything else

	InTTY, OutTTY, ErrTTY bool

	Width    int  // of the terminal, in cells
	Color    bool // on Out
	ErrColor bool // on Err
	Rewrite  bool // Err can go back to the start of a line
	NoInput  bool // never ask, even on a terminal
}

// System gives the streams of this process. getenv is os.Getenv, or a test's.
func System(getenv func(string) string) *IO {
	o := &IO{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr,
		InTTY:  term.IsTerminal(int(os.Stdin.Fd())),
		OutTTY: term.IsTerminal(int(os.Stdout.Fd())),
		ErrTTY: term.IsTerminal(int(os.Stderr.Fd())),
	}
	o.Width = width(getenv)
	o.Rewrite = o.ErrTTY && getenv("TERM") != "dumb"
	o.guessColor(getenv)
	return o
}

// width asks the terminal, then COLUMNS (which a shell sets for a pipe).
func width(getenv func(string) string) int {
	for _, f := range []*os.File{os.Stdout, os.Stderr} {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
			return max(w, minWidth)
		}
	}
	if w, err := strconv.Atoi(getenv("COLUMNS")); err == nil && w > 0 {
		return max(w, minWidth)
	}
	return defaultWidth
}

// guessColor follows no-color.org (NO_COLOR, when it is not empty) and
// bixense.com/clicolors (CLICOLOR, CLICOLOR_FORCE); NO_COLOR wins.
func (o *IO) guessColor(getenv func(string) string) {
	on := func(tty bool) bool {
		switch {
		case getenv("NO_COLOR") != "":
			return false
		case getenv("CLICOLOR_FORCE") != "" && getenv("CLICOLOR_FORCE") != "0":
			return true
		}
		return tty && getenv("TERM") != "dumb" && getenv("CLICOLOR") != "0"
	}
	o.Color, o.ErrColor = on(o.OutTTY), on(o.ErrTTY)
}

// SetColor applies the flag --color: auto keeps what System found, always and
// never overrule the environment. Another value is a Problem.
func (o *IO) SetColor(mode string) error {
	switch mode {
	case "auto", "":
	case "always":
		o.Color, o.ErrColor = true, true
	case "never":
		o.Color, o.ErrColor = false, false
	default:
		return problem.New("color-mode", problem.Args{"Value": text.CleanLine(mode)}).WithExit(problem.Usage)
	}
	return nil
}

// Paint colours what goes to Out.
func (o *IO) Paint() text.Paint { return text.NewPaint(o.Color) }

// ErrPaint colours what goes to Err.
func (o *IO) ErrPaint() text.Paint { return text.NewPaint(o.ErrColor) }

// TextWidth is the width for screens and prose: the terminal's, at most 80.
func (o *IO) TextWidth() int { return min(o.Width, maxText) }

// CanAsk tells whether a person is there to answer a question.
func (o *IO) CanAsk() bool { return o.InTTY && o.ErrTTY && !o.NoInput }
