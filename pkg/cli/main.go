// Package cli is lab's commands: thin ones, that parse a command line, make a
// call, and print what comes back. What a run does stands in pkg/session, how
// things look in pkg/report.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"lab/pkg/problem"
	"lab/pkg/report"
	"lab/pkg/term"
)

// version is set by the linker.
var version = "dev"

// Main runs one command line and returns the exit status. It is the only place
// that prints an error.
func Main(args []string) int {
	f := &Factory{IO: term.System(os.Getenv), Prefix: prefix(args[0])}
	f.peek(args[1:])
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	root := newRoot(f)
	root.SetArgs(args[1:])
	root.SetOut(f.IO.Out)
	root.SetErr(f.IO.Err)
	return f.end(ctx, root.ExecuteContext(ctx))
}

// end turns an error into words and an exit status.
func (f *Factory) end(ctx context.Context, err error) int {
	var silent exit
	var p *problem.Problem
	switch {
	case err == nil:
		return int(problem.Passed)
	case errors.As(err, &silent):
		return int(silent.status)
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		p = problem.New("cli.interrupted", nil).WithExit(problem.Interrupted)
	case errors.As(err, &p):
	default:
		p = problem.New("cli.fault", problem.Args{"Error": err.Error()}).WithExit(problem.Fault)
	}
	f.printProblem(p)
	return int(p.Exit)
}

// printProblem prints it on stderr, or as JSON on stdout where that was asked
// for: a reader of JSON gets a document in every case.
func (f *Factory) printProblem(p *problem.Problem) {
	if p.Args == nil {
		p.Args = problem.Args{}
	}
	p.Args["Lab"] = f.Prefix
	if f.JSON() {
		_ = report.JSON(f.IO.Out, report.NewError(p, f.Words()))
		return
	}
	fmt.Fprint(f.IO.Err, report.Problem(p, f.errStyle()))
}

// peek finds how errors are to be told before the flags are read: one of those
// flags may be the error.
func (f *Factory) peek(args []string) {
	cmd := cobra.Command{}
	flags := cmd.Flags()
	flags.ParseErrorsAllowlist.UnknownFlags = true
	flags.SetOutput(io.Discard)
	flags.Usage = func() {}
	flags.StringVarP(&f.output, "output", "o", "text", "")
	flags.StringVar(&f.lang, "lang", "", "")
	_ = flags.Parse(args) // what is wrong, the command's own flags tell
}

func newRoot(f *Factory) *cobra.Command {
	output, lang := f.output, f.lang // what peek found, which the flags overwrite with their defaults
	root := &cobra.Command{
		Use:               "lab",
		Short:             f.T("cmd.lab.short", nil),
		Long:              f.T("cmd.lab.long", nil),
		Version:           version,
		SilenceErrors:     true,
		SilenceUsage:      true,
		Args:              unknownCommand,
		PersistentPreRunE: func(*cobra.Command, []string) error { return f.prepare() },
		RunE:              func(cmd *cobra.Command, _ []string) error { return runWhere(cmd.Context(), f) },
	}
	root.SetFlagErrorFunc(flagProblem)
	root.AddCommand(
		newStart(f), newCheck(f), newStatus(f), newHint(f), newWhy(f), newAnswer(f), newJournal(f), newList(f),
		newNext(f), newGoto(f), newSkip(f), newReset(f), newSolution(f),
		newSend(f), newExport(f), newRegrade(f), newControlPlane(f), newEnvoy(f), newUpstream(f), newSnapshot(f),
		newStop(f), newDoctor(f), newVersion(f), newDev(f), newSession(f),
	)
	// Last, and with their texts at hand: to declare --lang sets it, and the
	// texts before it would be in one language and those behind it in another.
	texts := map[string]string{}
	for _, name := range []string{"dir", "output", "lang", "color", "no-input"} {
		texts[name] = f.T("flag."+name, nil)
	}
	p := root.PersistentFlags()
	p.StringVar(&f.dir, "dir", "", texts["dir"])
	p.StringVarP(&f.output, "output", "o", "text", texts["output"])
	p.StringVar(&f.lang, "lang", "", texts["lang"])
	p.StringVar(&f.color, "color", "auto", texts["color"])
	p.BoolVar(&f.noInput, "no-input", false, texts["no-input"])
	f.output, f.lang = output, lang
	return root
}

// flagProblem says what is wrong with a flag in lab's words.
func flagProblem(cmd *cobra.Command, err error) error {
	args := problem.Args{"Command": cmd.CommandPath(), "Error": err.Error()}
	var unknown *pflag.NotExistError
	var empty *pflag.ValueRequiredError
	var bad *pflag.InvalidValueError
	switch {
	case errors.As(err, &unknown):
		args["Flag"] = dashed(unknown.GetSpecifiedName(), unknown.GetSpecifiedShortnames())
		return usage("cli.flag-unknown", args)
	case errors.As(err, &empty):
		args["Flag"] = "--" + empty.GetFlag().Name
		return usage("cli.flag-empty", args)
	case errors.As(err, &bad):
		args["Flag"], args["Value"] = "--"+bad.GetFlag().Name, bad.GetValue()
		return usage("cli.flag-invalid", args)
	}
	return usage("cli.flag", args)
}

// dashed is a flag as it was typed; short is the group of letters of a short one.
func dashed(name, short string) string {
	if short != "" {
		return "-" + name
	}
	return "--" + name
}

// prepare checks the flags that every command has.
func (f *Factory) prepare() error {
	if f.output != "text" && f.output != "json" {
		return usage("cli.output", problem.Args{"Value": f.output})
	}
	if f.lang != "" && f.lang != "en" && f.lang != "zh" {
		return usage("cli.lang", problem.Args{"Value": f.lang})
	}
	f.IO.NoInput = f.noInput
	return f.IO.SetColor(f.color)
}

func unknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	near := ""
	if s := cmd.SuggestionsFor(args[0]); len(s) > 0 {
		near = s[0]
	}
	return usage("cli.unknown-command", problem.Args{"Name": args[0], "Near": near})
}

// leaf makes a command without subcommands.
func leaf(f *Factory, id, use string, args cobra.PositionalArgs, run func(cmd *cobra.Command, args []string) error) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: f.T("cmd."+id+".short", nil), Long: f.T("cmd."+id+".long", nil), Args: args, RunE: run,
	}
}

// group makes a command that only has subcommands.
func group(f *Factory, id, use string, subs ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: use, Short: f.T("cmd."+id+".short", nil), Long: f.T("cmd."+id+".long", nil), Args: unknownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	c.AddCommand(subs...)
	return c
}

// exactly refuses another number of arguments in lab's words.
func exactly(n int) cobra.PositionalArgs { return between(n, n) }

func between(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < least || len(args) > most {
			return usage("cli.arg-count", problem.Args{"Use": cmd.UseLine(), "Count": len(args)})
		}
		return nil
	}
}
