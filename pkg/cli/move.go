package cli

import (
	"github.com/spf13/cobra"

	"lab/pkg/session"
)

func newNext(f *Factory) *cobra.Command {
	return leaf(f, "next", "next", noArgs, func(cmd *cobra.Command, _ []string) error {
		return f.move(cmd, "next", "")
	})
}

func newGoto(f *Factory) *cobra.Command {
	return leaf(f, "goto", "goto STEP", exactly(1), func(cmd *cobra.Command, args []string) error {
		return f.move(cmd, "goto", args[0])
	})
}

func newSkip(f *Factory) *cobra.Command {
	return leaf(f, "skip", "skip", noArgs, func(cmd *cobra.Command, _ []string) error {
		return f.move(cmd, "skip", "")
	})
}

func newReset(f *Factory) *cobra.Command {
	return leaf(f, "reset", "reset [STEP]", between(0, 1), func(cmd *cobra.Command, args []string) error {
		step := ""
		if len(args) == 1 {
			step = args[0]
		}
		return f.move(cmd, "reset", step)
	})
}

func newSolution(f *Factory) *cobra.Command {
	return leaf(f, "solution", "solution", noArgs, func(cmd *cobra.Command, _ []string) error {
		return f.move(cmd, "solution", "")
	})
}

func (f *Factory) move(cmd *cobra.Command, move, step string) error {
	c, err := f.Client()
	if err != nil {
		return err
	}
	m, err := c.Move(cmd.Context(), session.MoveCall{Ask: f.ask(), Move: move, Step: step})
	if err != nil {
		return err
	}
	return f.Result(versioned(m), func() {
		if m.Kept != "" {
			f.say(f.IO.Err, f.T("move.kept", map[string]any{"File": m.Kept}))
		}
		if m.Shown != "" {
			f.printMarkdown(m.Shown)
			f.say(f.IO.Out, f.T("move.shown", nil))
			return
		}
		f.printStep(m.Step)
	})
}
