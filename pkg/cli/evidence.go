package cli

import (
	"errors"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"lab/pkg/bundle"
	"lab/pkg/curriculum"
	"lab/pkg/problem"
)

func newExport(f *Factory) *cobra.Command {
	return leaf(f, "export", "export [FILE]", between(0, 1), func(_ *cobra.Command, args []string) error {
		folder, err := f.Folder()
		if err != nil {
			return err
		}
		run, err := folder.Load()
		if err != nil {
			return err
		}
		name := run.Lab + "-" + run.ID + ".bundle"
		if len(args) == 1 {
			name = args[0]
		}
		lab, err := curriculum.Find(run.Lab)
		if err != nil {
			return err
		}
		in, err := os.Open(folder.Journal())
		if err != nil {
			return problem.New("session.unreadable", problem.Args{"File": folder.Journal(), "Error": err.Error()}).Wrap(err)
		}
		defer in.Close()
		seal, err := writeBundle(name, lab, in)
		if err != nil {
			return err
		}
		return f.Result(map[string]any{"version": 1, "file": name, "seal": seal}, func() {
			f.say(f.IO.Out, f.T("export.done", map[string]any{"File": name, "Count": seal.Events, "Attempts": len(seal.Attempts)}))
		})
	})
}

// writeBundle writes a new file, whole or not at all.
func writeBundle(name string, lab *curriculum.Lab, in *os.File) (seal bundle.Seal, err error) {
	out, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return seal, problem.New("bundle.exists", problem.Args{"File": name})
	}
	if err == nil {
		seal, err = bundle.Write(out, lab, in)
		if err = errors.Join(err, out.Close()); err != nil {
			_ = os.Remove(name)
		}
	}
	if err != nil {
		return seal, problem.New("session.unwritable", problem.Args{"File": name, "Error": err.Error()}).Wrap(err)
	}
	return seal, nil
}

func newRegrade(f *Factory) *cobra.Command {
	return leaf(f, "regrade", "regrade FILE", exactly(1), func(_ *cobra.Command, args []string) error {
		in, err := os.Open(args[0])
		if err != nil {
			return problem.New("session.unreadable", problem.Args{"File": args[0], "Error": err.Error()}).Wrap(err)
		}
		defer in.Close()
		res, err := bundle.Read(in, curriculum.Find)
		if err != nil {
			return err
		}
		return f.Result(map[string]any{"version": 1, "head": res.Head, "seal": res.Seal, "content_changed": res.Changed}, func() {
			f.say(f.IO.Out, f.T("regrade.head", map[string]any{"Name": res.Head.Lab, "Seed": res.Head.Seed,
				"Count": res.Seal.Events, "Version": res.Head.LabVersion}))
			if res.Changed {
				f.say(f.IO.Out, f.T("regrade.changed", nil))
			}
			for _, a := range res.Seal.Attempts {
				f.say(f.IO.Out, f.T("regrade.line", map[string]any{"Event": a.Event, "Step": a.Step,
					"Verdict": string(a.Verdict), "Diagnosis": a.Diagnosis}))
			}
		})
	})
}
