package cli

import (
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"lab/checks"
	"lab/pkg/problem"
	"lab/pkg/report"
	"lab/pkg/session"
)

func newCheck(f *Factory) *cobra.Command {
	var wait time.Duration
	c := leaf(f, "check", "check", noArgs, func(cmd *cobra.Command, _ []string) error {
		c, err := f.Client()
		if err != nil {
			return err
		}
		r, err := c.Check(cmd.Context(), session.CheckCall{Ask: f.ask(), Wait: wait})
		if err != nil {
			return err
		}
		err = f.Result(r, func() { fmt.Fprint(f.IO.Out, report.Check(r, f.style())) })
		if err != nil {
			return err
		}
		if r.Opened != nil && !f.JSON() {
			step, err := c.Step(cmd.Context(), f.ask())
			if err != nil {
				return err
			}
			if r.Kept != "" {
				f.say(f.IO.Err, f.T("move.kept", map[string]any{"File": r.Kept}))
			}
			fmt.Fprintln(f.IO.Out)
			f.printStep(step)
		}
		return status(exitOf(r.Verdict))
	})
	c.Flags().DurationVar(&wait, "wait", session.DefaultWait, f.T("flag.wait", nil))
	return c
}

func exitOf(v checks.Verdict) problem.Exit {
	switch v {
	case checks.Passed:
		return problem.Passed
	case checks.NotYet:
		return problem.NotYet
	}
	return problem.CannotTell
}

func newWhy(f *Factory) *cobra.Command {
	return leaf(f, "why", "why", noArgs, func(cmd *cobra.Command, _ []string) error {
		c, err := f.Client()
		if err != nil {
			return err
		}
		r, err := c.Why(cmd.Context(), f.ask())
		if err != nil {
			return err
		}
		events, err := f.eventsByNumber()
		if err != nil {
			return err
		}
		return f.Result(r, func() { fmt.Fprint(f.IO.Out, report.Why(r, events, f.style())) })
	})
}

func newHint(f *Factory) *cobra.Command {
	return leaf(f, "hint", "hint", noArgs, func(cmd *cobra.Command, _ []string) error {
		c, err := f.Client()
		if err != nil {
			return err
		}
		h, err := c.Hint(cmd.Context(), f.ask())
		if err != nil {
			return err
		}
		return f.Result(versioned(h), func() {
			f.say(f.IO.Out, f.T("hint.head", map[string]any{"Rung": h.Rung, "Of": h.Of}))
			f.printMarkdown(h.Text)
			if h.Rung < h.Of {
				f.say(f.IO.Out, f.T("hint.more", nil))
			}
		})
	})
}

func newAnswer(f *Factory) *cobra.Command {
	return leaf(f, "answer", "answer [QUESTION VALUE]", between(0, 2), func(cmd *cobra.Command, args []string) error {
		c, err := f.Client()
		if err != nil {
			return err
		}
		if len(args) == 2 {
			q, err := c.Answer(cmd.Context(), session.AnswerCall{Ask: f.ask(), Question: args[0], Value: args[1]})
			if err != nil {
				return err
			}
			return f.Result(versioned(q), func() {
				id := "answer.noted"
				if q.Prediction {
					id = "answer.predicted"
				}
				f.say(f.IO.Out, f.T(id, map[string]any{"ID": q.ID, "Value": q.Value}))
			})
		}
		qs, err := c.Questions(cmd.Context(), f.ask())
		if err != nil {
			return err
		}
		if len(args) == 1 { // that question alone
			qs = slices.DeleteFunc(qs, func(q session.Question) bool { return q.ID != args[0] })
			if len(qs) == 0 {
				return usage("cli.no-question", problem.Args{"Question": args[0]})
			}
		}
		if f.IO.CanAsk() && !f.JSON() {
			return f.askAll(cmd.Context(), c, qs)
		}
		return f.Result(map[string]any{"version": 1, "questions": qs}, func() { f.printQuestions(qs) })
	})
}

func newStatus(f *Factory) *cobra.Command {
	return leaf(f, "status", "status", noArgs, func(cmd *cobra.Command, _ []string) error {
		c, err := f.Client()
		if err != nil {
			return err
		}
		st, err := c.Status(cmd.Context(), f.ask())
		if err != nil {
			return err
		}
		return f.Result(st, func() { fmt.Fprint(f.IO.Out, report.ShowStatus(st, f.style())) })
	})
}
