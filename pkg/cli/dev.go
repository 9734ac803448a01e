package cli

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"lab/pkg/curriculum"
	"lab/pkg/problem"
	"lab/pkg/prove"
	"lab/pkg/report"
)

func newDev(f *Factory) *cobra.Command {
	return group(f, "dev", "dev", newDevNew(f), newDevLint(f), newDevProve(f))
}

func newDevLint(f *Factory) *cobra.Command {
	return leaf(f, "dev-lint", "lint", noArgs, func(*cobra.Command, []string) error {
		all, err := curriculum.All()
		if err != nil {
			return err
		}
		var found problem.List
		var names []string // so that a lab that was not compiled in is missed
		for _, lab := range all {
			found = append(found, lab.Lint()...)
			names = append(names, lab.ID)
		}
		if err := f.Result(lintDocument(len(found.Errors()) == 0, found, f), func() {
			for _, p := range found {
				fmt.Fprint(f.IO.Out, report.Problem(p, f.style()))
			}
			if len(found) == 0 {
				f.say(f.IO.Out, f.T("dev.lint.ok", map[string]any{"Labs": strings.Join(names, ", ")}))
			}
		}); err != nil {
			return err
		}
		if len(found.Errors()) > 0 {
			return status(problem.NotYet)
		}
		return nil
	})
}

type proveOptions struct {
	lab, step, envoy string
	n, parallel      int
	keep             bool
	seed             int64
}

func newDevProve(f *Factory) *cobra.Command {
	var o proveOptions
	c := leaf(f, "dev-prove", "prove LAB", exactly(1), func(cmd *cobra.Command, args []string) error {
		o.lab = args[0]
		return runProve(cmd, f, o)
	})
	fl := c.Flags()
	fl.StringVar(&o.step, "step", "", f.T("flag.prove-step", nil))
	fl.StringVar(&o.envoy, "envoy", "", f.T("flag.envoy", nil))
	fl.IntVarP(&o.n, "times", "n", 1, f.T("flag.prove-n", nil))
	fl.IntVar(&o.parallel, "parallel", 2, f.T("flag.prove-parallel", nil))
	fl.BoolVar(&o.keep, "keep", false, f.T("flag.prove-keep", nil))
	fl.Int64Var(&o.seed, "seed", 1, f.T("flag.seed", nil))
	return c
}

func runProve(cmd *cobra.Command, f *Factory, o proveOptions) error {
	lab, err := curriculum.Find(o.lab)
	if err != nil {
		return err
	}
	if o.n < 1 || o.parallel < 1 {
		return usage("cli.flag-value", problem.Args{"Flag": "times", "Value": o.n, "Allowed": []string{"1", "…"}})
	}
	step := ""
	if o.step != "" {
		st, ok := lab.Step(o.step)
		if !ok {
			return problem.New("session.no-step", problem.Args{"Name": o.step, "Have": lab.StepIDs()}).WithExit(problem.Usage)
		}
		step = st.ID
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "lab-prove-")
	if err != nil {
		return err
	}
	if !o.keep {
		defer os.RemoveAll(dir)
	}
	begun := time.Now()
	outs, err := prove.Run(cmd.Context(), prove.Config{
		Lab: lab, Binary: self, Envoy: o.envoy, Step: step, N: o.n, Parallel: o.parallel,
		Dir: dir, Keep: o.keep, Seed: o.seed,
		Done: func(x prove.Outcome) {
			if !f.JSON() {
				fmt.Fprintln(f.IO.Err, prove.Line(x))
			}
		}})
	if err != nil {
		return err
	}
	m := prove.NewMatrix(lab, outs, time.Since(begun))
	if err := f.Result(m, func() { fmt.Fprint(f.IO.Out, m.Text()) }); err != nil {
		return err
	}
	if !m.OK {
		return status(problem.NotYet)
	}
	return nil
}
