package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"lab/envoy"
	"lab/pkg/journal"
	"lab/pkg/problem"
	"lab/pkg/report"
	"lab/pkg/session"
	"lab/pkg/term/text"
)

// style is how things look on stdout, errStyle on stderr.
func (f *Factory) style() report.Style {
	return report.Style{Words: f.Words(), Width: f.IO.TextWidth(), Paint: f.IO.Paint(), Lab: f.Prefix}
}

func (f *Factory) errStyle() report.Style {
	s := f.style()
	s.Paint = f.IO.ErrPaint()
	return s
}

// say prints a message, laid out for the terminal.
func (f *Factory) say(w io.Writer, message string) {
	for line := range strings.Lines(message) {
		line = strings.TrimRight(line, "\n")
		indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
		fmt.Fprintln(w, text.Wrap(line[len(indent):], f.IO.TextWidth(), indent, indent))
	}
}

// versioned puts "version": 1 before the fields of v.
func versioned(v any) any {
	raw, err := json.Marshal(v)
	if err != nil || len(raw) < 2 || raw[0] != '{' {
		return map[string]any{"version": 1, "value": v}
	}
	return json.RawMessage(strings.Replace(string(raw), "{", `{"version":1,`, 1))
}

func (f *Factory) printStep(s session.Step) {
	fmt.Fprintln(f.IO.Out, report.StepHead(s.Lab, s.Number, s.Of, s.Title, f.style()))
	f.printMarkdown(s.Text)
}

func (f *Factory) printMarkdown(md string) {
	out, err := f.IO.Markdown(strings.ReplaceAll(md, "{{.Lab}}", f.Prefix))
	if err != nil {
		out = md // still readable
	}
	fmt.Fprint(f.IO.Out, out)
}

func (f *Factory) printQuestions(qs []session.Question) {
	if len(qs) == 0 {
		f.say(f.IO.Out, f.T("answer.none", nil))
	}
	for _, q := range qs {
		id := "answer.question"
		if q.Prediction {
			id = "answer.prediction"
		}
		f.say(f.IO.Out, f.T(id, map[string]any{"ID": q.ID, "Text": q.Text}))
		for i, c := range q.Choices {
			fmt.Fprintf(f.IO.Out, "    %d  %s\n", i+1, c)
		}
		if q.Value != "" {
			f.say(f.IO.Out, f.T("answer.given", map[string]any{"Value": q.Value}))
		} else {
			f.say(f.IO.Out, f.T("answer.how", map[string]any{"ID": q.ID}))
		}
	}
}

// askAll asks each question on the terminal; an empty line leaves one out.
func (f *Factory) askAll(ctx context.Context, c *session.Client, qs []session.Question) error {
	if len(qs) == 0 {
		f.printQuestions(qs)
		return nil
	}
	f.say(f.IO.Err, f.T("answer.skip", nil))
	in := bufio.NewScanner(f.IO.In)
	for _, q := range qs {
		f.printQuestions([]session.Question{q})
		if more, err := f.askOne(ctx, c, in, q); err != nil || !more {
			return err
		}
	}
	f.say(f.IO.Err, f.T("answer.after", nil))
	return nil
}

// askOne asks until the answer is one, or left out. It gives false at the end
// of the input.
func (f *Factory) askOne(ctx context.Context, c *session.Client, in *bufio.Scanner, q session.Question) (bool, error) {
	for {
		fmt.Fprint(f.IO.Err, "> ")
		if !in.Scan() {
			return false, in.Err()
		}
		v := strings.TrimSpace(in.Text())
		if v == "" {
			return true, nil
		}
		_, err := c.Answer(ctx, session.AnswerCall{Ask: f.ask(), Question: q.ID, Value: v})
		var p *problem.Problem
		switch {
		case err == nil:
			return true, nil
		case !errors.As(err, &p) || p.Exit != problem.Usage:
			return false, err
		}
		f.printProblem(p)
	}
}

func (f *Factory) envoyProgress(p envoy.Progress) string {
	return f.T("envoy.progress."+p.Stage, map[string]any{
		"Version": p.Version, "Dir": p.Dir, "MB": p.Bytes >> 20, "TotalMB": p.Total >> 20, "Seconds": p.Took.Seconds()})
}

// eventsByNumber reads the journal of the run.
func (f *Factory) eventsByNumber() (map[int64]journal.Event, error) {
	events, err := f.events()
	if err != nil {
		return nil, err
	}
	byNumber := make(map[int64]journal.Event, len(events))
	for _, e := range events {
		byNumber[e.Seq] = e
	}
	return byNumber, nil
}

func (f *Factory) events() ([]journal.Event, error) {
	folder, err := f.Folder()
	if err != nil {
		return nil, err
	}
	if _, err := folder.Load(); err != nil {
		return nil, err
	}
	events, _, err := journal.ReadFile(folder.Journal())
	if err != nil {
		return nil, problem.New("session.journal", problem.Args{"File": folder.Journal(), "Error": err.Error()}).Wrap(err)
	}
	return events, nil
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// asProblem finds a problem with the code in err.
func asProblem(err error, p **problem.Problem, code string) bool {
	return errors.As(err, p) && (*p).Code == code
}

// finding is a line of the doctor for a program.
type finding struct {
	Code  string `json:"code"`
	Level string `json:"level"`
	What  string `json:"what"`
	Fix   string `json:"fix,omitempty"`
}

func (f *Factory) findings(found []envoy.Finding) (out []finding, bad bool) {
	for _, x := range found {
		bad = bad || x.Level == envoy.Bad
		out = append(out, finding{x.Code, string(x.Level), x.What(f.Words()), x.Fix(f.Words())})
	}
	return out, bad
}

func (f *Factory) printFindings(found []finding) {
	marks := map[string]text.Mark{string(envoy.OK): text.Pass, string(envoy.Note): text.Open, string(envoy.Bad): text.Fail}
	for _, x := range found {
		fmt.Fprintln(f.IO.Out, f.IO.Paint().Mark(marks[x.Level])+" "+x.What)
		if x.Fix != "" {
			fmt.Fprintln(f.IO.Out, "  "+x.Fix)
		}
	}
}
