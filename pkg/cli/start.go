package cli

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/spf13/cobra"

	"lab/envoy"
	"lab/pkg/curriculum"
	"lab/pkg/problem"
	"lab/pkg/session"
	"lab/pkg/term"
)

type startOptions struct {
	lab     string
	runtime string
	envoy   string
	ads     string
	order   string
	seed    int64
	seedSet bool
}

func newStart(f *Factory) *cobra.Command {
	var o startOptions
	c := leaf(f, "start", "start [LAB]", between(0, 1), func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			o.lab = args[0]
		}
		o.seedSet = cmd.Flags().Changed("seed")
		return runStart(cmd.Context(), f, o)
	})
	c.Flags().StringVar(&o.runtime, "runtime", "native", f.T("flag.runtime", nil))
	c.Flags().StringVar(&o.envoy, "envoy", "", f.T("flag.envoy", nil))
	c.Flags().StringVar(&o.ads, "ads", envoy.GoogleGRPC, f.T("flag.ads", nil))
	c.Flags().StringVar(&o.order, "order", "ordered", f.T("flag.order", nil))
	c.Flags().Int64Var(&o.seed, "seed", 0, f.T("flag.seed", nil))
	return c
}

// runStart starts a run or brings it back; done twice, it changes nothing.
func runStart(ctx context.Context, f *Factory, o startOptions) error {
	folder, err := o.folder(f)
	if err != nil {
		return err
	}
	p := term.NewProgress(f.IO, time.Now)
	defer p.Stop()
	done, err := folder.Begin(ctx)
	if err != nil {
		return err
	}
	defer done()
	up := folder.Alive()
	if !up {
		err = startCold(ctx, f, folder, o, p)
		var other *problem.Problem
		up = asProblem(err, &other, "session.running") // one that a killed start had left behind was faster
	}
	if up {
		err = f.resume(ctx, folder)
	}
	if err != nil {
		return err
	}
	f.dir = folder.Dir
	ctx = context.WithoutCancel(ctx) // an interrupt that comes now comes too late: the run is up
	step, err := session.NewClient(folder).Step(ctx, f.ask())
	if err != nil {
		return err
	}
	return f.Result(versioned(step), func() {
		fmt.Fprintln(f.IO.Err)
		f.printStep(step)
		st, err := session.NewClient(folder).Status(ctx, f.ask())
		if err == nil && (len(st.Rejected) > 0 || st.Refused != nil) && step.State == "open" {
			f.say(f.IO.Err, f.T("start.trouble", nil))
		}
	})
}

// resume brings back what is down in a run whose session lives.
func (f *Factory) resume(ctx context.Context, folder session.Folder) error {
	if err := session.NewClient(folder).Resume(ctx); err != nil {
		return err
	}
	f.say(f.IO.Err, f.T("start.resumed", map[string]any{"Dir": folder.Dir}))
	return session.SetCurrent(folder)
}

// folder is where the run is or will be.
func (o startOptions) folder(f *Factory) (session.Folder, error) {
	if err := oneOf("runtime", o.runtime, "native"); err != nil {
		return session.Folder{}, err
	}
	if err := oneOf("ads", o.ads, envoy.GoogleGRPC, envoy.EnvoyGRPC); err != nil {
		return session.Folder{}, err
	}
	if err := oneOf("order", o.order, "ordered", "random"); err != nil {
		return session.Folder{}, err
	}
	if o.lab == "" {
		return f.Folder()
	}
	lab, err := curriculum.Find(o.lab)
	if err != nil {
		return session.Folder{}, err
	}
	dir := f.dir
	if dir == "" {
		dir = lab.ID
	}
	return session.At(dir)
}

func oneOf(flag, value string, allowed ...string) error {
	for _, a := range allowed {
		if a == value {
			return nil
		}
	}
	return usage("cli.flag-value", problem.Args{"Flag": flag, "Value": value, "Allowed": allowed})
}

func startCold(ctx context.Context, f *Factory, folder session.Folder, o startOptions, p *term.Progress) error {
	run, err := folder.Load()
	var missing *problem.Problem
	if o.lab != "" && asProblem(err, &missing, "session.no-run") {
		run, err = o.newRun(ctx, f, folder)
	}
	if err != nil {
		return err
	}
	if o.lab != "" {
		if lab, err := curriculum.Find(o.lab); err == nil && lab.ID != run.Lab {
			return problem.New("session.other-lab", problem.Args{"Dir": folder.Dir, "Have": run.Lab, "Want": lab.ID})
		}
	}
	if f.lang != "" {
		run.Lang = f.lang
	}
	run.Command = f.Prefix
	if err := f.findEnvoy(ctx, o.envoy, run, p); err != nil {
		return err
	}
	run.LabVersion = version
	if err := folder.Prepare(ctx, run); err != nil {
		return err
	}
	if err := session.SetCurrent(folder); err != nil {
		return err
	}
	p.Begin(f.T("start.label.session", nil))
	err = session.Launch(ctx, folder, func(st session.Stage) {
		p.Begin(f.T("start.label."+st.Part, nil))
		p.Done(f.T("start.done."+st.Part, st.Args))
	})
	p.Stop()
	return err
}

// newRun is for a folder that has none. A session that was started there and
// lost its folder has nothing to come back to.
func (o startOptions) newRun(ctx context.Context, f *Factory, folder session.Folder) (*session.Run, error) {
	if err := folder.CheckEmpty(); err != nil {
		return nil, err
	}
	if _, err := folder.StopStray(ctx); err != nil {
		return nil, err
	}
	lab, err := curriculum.Find(o.lab)
	if err != nil {
		return nil, err
	}
	seed := o.seed
	if !o.seedSet {
		seed = rand.Int64N(1 << 40) //nolint:gosec // no secret: it only makes runs differ
	}
	return session.NewRun(lab.ID, f.Lang(), seed, o.ads, o.order)
}

// findEnvoy finds or fetches the Envoy that the run uses; a run that has one
// keeps its version.
func (f *Factory) findEnvoy(ctx context.Context, want string, run *session.Run, p *term.Progress) error {
	if want == "" && run.Envoy.From == "flag" {
		want = run.Envoy.Path
	} else if want == "" {
		want = run.Envoy.Version
	}
	label := f.T("start.label.envoy-binary", nil)
	p.Begin(label)
	b, err := envoy.Find(ctx, envoy.Options{Want: want, Progress: func(pr envoy.Progress) { p.Say(f.envoyProgress(pr)) }})
	if err != nil {
		return err
	}
	p.Done(f.T("start.done.envoy-binary", map[string]any{"Version": b.Version, "From": f.T("envoy.from."+b.From, nil), "Path": b.Path}))
	run.Envoy = session.EnvoyBinary{Path: b.Path, Version: b.Version, SHA256: b.SHA256, From: b.From}
	return nil
}
