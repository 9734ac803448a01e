// Package report turns what happened into screens for a person and documents
// for a program: verdicts, the state of a run, problems, the journal in
// sentences, the head of a step.
//
// It is pure. Its functions take values and give text; they open no file, socket
// or process and read no clock. What may be said stands in pkg/words, and how
// text is laid out in pkg/term/text; the width, the colours and the language come in with
// a Style. Whatever a learner or a peer wrote is cleaned before it is shown.
package report

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"lab/pkg/term/text"
	"lab/pkg/words"
)

//go:generate go run ./internal/genschema ../../docs/schemas

// Version is the version of every JSON document. Changes add fields only.
const Version = 1

// clockFormat is how the time of an event is shown.
const clockFormat = "15:04:05.000"

// Style is whom a report is for and how it looks.
type Style struct {
	Words *words.Words
	Paint text.Paint
	Width int            // in cells, at least 40
	Lab   string         // what a person types before a command: "lab", "go run ./cmd/lab"
	Zone  *time.Location // in which clock times are shown; nil: as the event has it
}

// args are the values that a message names.
type args = map[string]any

// t says a message. Every message may name {{.Lab}}; strings in a are cleaned.
func (s Style) t(id string, a args) string {
	return s.Words.T(id, s.clean(a))
}

// multiline is the one value that keeps its lines: the end of a log.
const multiline = "Tail"

func (s Style) clean(a args) args {
	out := args{"Lab": s.Lab}
	for k, v := range a {
		switch v := v.(type) {
		case string:
			out[k] = text.CleanLine(v)
			if k == multiline {
				out[k] = text.Clean(v)
			}
		case []string:
			out[k] = cleanList(v)
		case []any: // a list that came through JSON
			strs := make([]string, len(v))
			for i, e := range v {
				strs[i] = fmt.Sprint(e)
			}
			out[k] = cleanList(strs)
		default:
			out[k] = v
		}
	}
	return out
}

// list prints with commas and can be ranged over in a message.
type list []string

func (l list) String() string { return strings.Join(l, ", ") }

func cleanList(in []string) list {
	out := make(list, len(in))
	for i, e := range in {
		out[i] = text.CleanLine(e)
	}
	return out
}

// wrap lays out a paragraph that is indented by n cells.
func (s Style) wrap(body string, n int) string {
	pad := strings.Repeat(" ", n)
	return text.Wrap(body, s.Width, pad, pad) + "\n"
}

// marked lays out a line with a mark before it.
func (s Style) marked(m text.Mark, body string) string {
	return text.Wrap(body, s.Width, s.Paint.Mark(m)+" ", "  ") + "\n"
}

// dim lays out an indented paragraph that is needed only on a second look.
func (s Style) dim(body string, n int) string {
	var b strings.Builder
	for line := range strings.Lines(s.wrap(body, n)) {
		line = strings.TrimLeft(strings.TrimSuffix(line, "\n"), " ")
		b.WriteString(strings.Repeat(" ", n) + s.Paint.Dim(line) + "\n")
	}
	return b.String()
}

func (s Style) inZone(t time.Time) time.Time {
	if s.Zone != nil {
		return t.In(s.Zone)
	}
	return t
}

func (s Style) clock(t time.Time) string {
	return s.inZone(t).Format(clockFormat)
}

// JSON writes one document, indented, with a newline at its end.
func JSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}
