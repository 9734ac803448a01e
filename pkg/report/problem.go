package report

import (
	"strconv"
	"strings"

	"lab/pkg/problem"
	"lab/pkg/term/text"
	"lab/pkg/words"
)

// maxProblems bounds how many problems of a file are shown: a file of garbage
// has thousands.
const maxProblems = 20

// gutter is the width of the line number beside a quoted line.
const gutter = 8

// Problem shows what is wrong, where, and what to do next.
func Problem(p *problem.Problem, s Style) string {
	what := s.what(p)
	if p.Warning {
		what = s.t("report.problem.warning", args{"What": what})
	}
	fix := s.fix(p)
	if p.Place == nil {
		mark := text.Fail
		if p.Warning {
			mark = text.Open
		}
		out := s.marked(mark, what)
		if fix != "" {
			out += s.wrap(fix, 2)
		}
		return out
	}
	out := text.Wrap(s.Paint.Bold(place(*p.Place)+":")+" "+what, s.Width, "", "  ") + "\n"
	return out + s.quote(*p.Place, fix)
}

// Problems shows the problems of a file, and how many there are.
func Problems(ps []*problem.Problem, s Style) string {
	var b strings.Builder
	for i, p := range ps {
		if i == maxProblems {
			break
		}
		b.WriteString(Problem(p, s))
	}
	if len(ps) > maxProblems {
		b.WriteString(s.wrap(s.t("report.problem.count-shown", args{"Count": len(ps), "Shown": maxProblems}), 0))
	} else {
		b.WriteString(s.wrap(s.t("report.problem.count", args{"Count": len(ps)}), 0))
	}
	return b.String()
}

func (s Style) what(p *problem.Problem) string {
	if p.Cause != nil && !s.Words.Has("problem."+p.Code+".what") {
		return text.CleanLine(p.Cause.Error()) // of a newer lab
	}
	return s.t("problem."+p.Code+".what", p.Args)
}

// fix is what to do next, "" where a problem has no such words.
func (s Style) fix(p *problem.Problem) string {
	id := "problem." + p.Code + ".fix"
	if !s.Words.Has(id) {
		return ""
	}
	return s.t(id, p.Args)
}

// place is file:line:col, as editors and terminals know to open it.
func place(pl problem.Place) string {
	out := text.CleanLine(pl.File)
	if pl.Line > 0 {
		out += ":" + strconv.Itoa(pl.Line)
	}
	if pl.Line > 0 && pl.Col > 0 {
		out += ":" + strconv.Itoa(pl.Col)
	}
	return out
}

// quote shows the line of a place with a caret under its column, and the fix
// beside the caret, or below it where it is long.
func (s Style) quote(pl problem.Place, fix string) string {
	bar := strings.Repeat(" ", gutter) + " | "
	if pl.Source == "" || pl.Line == 0 {
		if fix == "" {
			return ""
		}
		return text.Wrap(fix, s.Width, bar, bar) + "\n"
	}
	line, lead := window(pl.Source, pl.Col, s.Width-len(bar))
	out := s.Paint.Dim(text.PadLeft(strconv.Itoa(pl.Line), gutter)+" |") + " " + strings.TrimRight(line, " \t") + "\n"
	if pl.Col > 0 {
		caret := bar + lead + s.Paint.Bad("^")
		if text.Width(caret)+1+text.Width(fix) <= s.Width && !strings.Contains(lead, "\t") {
			return out + strings.TrimRight(caret+" "+fix, " ") + "\n"
		}
		out += caret + "\n"
	}
	if fix != "" {
		out += text.Wrap(fix, s.Width, bar, bar) + "\n"
	}
	return out
}

// window cleans a line of a file and cuts it to width cells around col (from
// 1, in characters; 0 means unknown). lead is what stands before the caret:
// spaces as wide as the text above them, and the tabs of that text, since only
// the terminal knows how wide those are.
func window(source string, col, width int) (line, lead string) {
	runes := []rune(source)
	before := min(max(col-1, 0), len(runes))
	head := tidy(runes[max(0, before-maxQuoted):before])
	tail := tidy(runes[before:min(len(runes), before+maxQuoted)])
	if text.Width(head+tail) <= width || width < 8 {
		return head + tail, blank(head)
	}
	head, tail = strings.ReplaceAll(head, "\t", " "), strings.ReplaceAll(tail, "\t", " ")
	if keep := width / 2; text.Width(head) > keep {
		r := []rune(head)
		for len(r) > 0 && text.Width(string(r)) > keep-1 {
			r = r[1:]
		}
		head = "…" + string(r)
	}
	return head + text.Cut(tail, width-text.Width(head)), blank(head)
}

// maxQuoted bounds the part of a line that is looked at, in characters on each
// side of the column: a line may have megabytes.
const maxQuoted = 500

// tidy cleans a part of a line; tabs stay.
func tidy(r []rune) string {
	return text.Clean(strings.TrimRight(string(r), "\r\n"))
}

// blank is white space of the same width as s.
func blank(s string) string {
	var b strings.Builder
	for part := range strings.SplitAfterSeq(s, "\t") {
		body, tab := strings.CutSuffix(part, "\t")
		b.WriteString(strings.Repeat(" ", text.Width(body)))
		if tab {
			b.WriteByte('\t')
		}
	}
	return b.String()
}

// Error is the document that a failed command gives with -o json.
type Error struct {
	Version int          `json:"version" jsonschema:"description=version of this document: 1"`
	Problem ErrorProblem `json:"error"`
}

// ErrorProblem is a problem in words.
type ErrorProblem struct {
	Code   string       `json:"code" jsonschema:"description=stable; docs/errors.md has a section for it"`
	Text   string       `json:"text"`
	Fix    string       `json:"fix,omitempty" jsonschema:"description=what to do next"`
	File   string       `json:"file,omitempty"`
	Line   int          `json:"line,omitempty" jsonschema:"description=from 1"`
	Col    int          `json:"col,omitempty" jsonschema:"description=in characters; from 1"`
	Source string       `json:"source,omitempty" jsonschema:"description=the line of the file"`
	Exit   problem.Exit `json:"exit" jsonschema:"description=exit status of the command"`
}

// NewError is p as a document.
func NewError(p *problem.Problem, w *words.Words) Error {
	s := Style{Words: w}
	if lab, ok := p.Args["Lab"].(string); ok {
		s.Lab = lab
	}
	e := ErrorProblem{Code: p.Code, Text: s.what(p), Fix: s.fix(p), Exit: p.Exit}
	if pl := p.Place; pl != nil {
		e.File, e.Line, e.Col, e.Source = pl.File, pl.Line, pl.Col, pl.Source
	}
	return Error{Version: Version, Problem: e}
}
