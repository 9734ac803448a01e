package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"lab/pkg/journal"
	"lab/pkg/problem"
	"lab/pkg/session"
	"lab/pkg/term/text"
	"lab/pkg/traffic"
	"lab/upstreams"
)

type noSink struct{}

func (noSink) Emit(journal.Event) {}

// sendFlags are the flags of send.
type sendFlags struct {
	path          string
	n, conc       int
	rate          float64
	timeout, slow time.Duration
}

func newSend(f *Factory) *cobra.Command {
	var in sendFlags
	c := leaf(f, "send", "send [PATH]", between(0, 1), func(cmd *cobra.Command, args []string) error {
		in.path = "/"
		if len(args) == 1 {
			in.path = args[0]
		}
		if err := in.check(cmd); err != nil {
			return err
		}
		if cmd.Flags().Changed("slow") {
			return f.sendSlow(cmd, in)
		}
		return f.send(cmd, in)
	})
	c.Flags().IntVarP(&in.n, "requests", "n", 10, f.T("flag.n", nil))
	c.Flags().IntVarP(&in.conc, "concurrency", "c", 1, f.T("flag.c", nil))
	c.Flags().Float64Var(&in.rate, "rate", 0, f.T("flag.rate", nil))
	c.Flags().DurationVar(&in.timeout, "timeout", 30*time.Second, f.T("flag.timeout", nil))
	c.Flags().DurationVar(&in.slow, "slow", 0, f.T("flag.slow", map[string]any{"Max": upstreams.MaxDelay.String()}))
	c.Flags().Lookup("slow").NoOptDefVal = "5s"
	return c
}

// check refuses what cannot be sent.
func (in sendFlags) check(cmd *cobra.Command) error {
	bad := func(flag, value string) error {
		return usage("cli.flag-invalid", problem.Args{"Command": cmd.CommandPath(), "Flag": flag, "Value": value})
	}
	switch {
	case !strings.HasPrefix(in.path, "/"):
		return usage("cli.path", problem.Args{"Path": in.path})
	case in.n < 1:
		return bad("-n", fmt.Sprint(in.n))
	case in.conc < 1:
		return bad("-c", fmt.Sprint(in.conc))
	case in.rate < 0:
		return bad("--rate", fmt.Sprint(in.rate))
	case in.timeout <= 0:
		return bad("--timeout", in.timeout.String())
	case cmd.Flags().Changed("slow") && (in.slow < time.Millisecond || in.slow > upstreams.MaxDelay):
		return bad("--slow", in.slow.String())
	}
	return nil
}

// send sends requests and tells how they went: by Envoy's access log, and
// where it has no entry, as the client saw it.
func (f *Factory) send(cmd *cobra.Command, in sendFlags) error {
	folder, err := f.Folder()
	if err != nil {
		return err
	}
	run, err := folder.Load()
	if err != nil {
		return err
	}
	client := session.NewClient(folder)
	mark, err := client.Begin(cmd.Context())
	if err != nil {
		return err
	}
	sum, err := traffic.Send(cmd.Context(), traffic.SendConfig{
		URL: fmt.Sprintf("http://127.0.0.1:%d", run.Ports["http"]), Path: in.path, Mark: mark.Value,
		N: in.n, Concurrency: in.conc, Rate: in.rate, Timeout: in.timeout, Sink: noSink{}, Now: time.Now})
	if err != nil {
		return err
	}
	log, err := client.Sent(cmd.Context(), session.SentCall{Batch: mark.Batch, N: sum.Sent + sum.NotCounted})
	if err != nil {
		return err
	}
	return f.Result(map[string]any{"version": 1, "sent": sum.Sent, "failed": sum.Failed, "not_counted": sum.NotCounted,
		"groups": sum.Groups, "seconds": sum.Took.Seconds(), "access": log.Access, "access_missing": log.Missing},
		func() { f.printSent(sum, log) })
}

// sendSlow sends one request that takes its time, through the session: it
// journals when the request begins and ends, also when this command is killed.
func (f *Factory) sendSlow(cmd *cobra.Command, in sendFlags) error {
	client, err := f.Client()
	if err != nil {
		return err
	}
	done, err := client.Slow(cmd.Context(), session.SlowCall{Path: in.path, Delay: in.slow, Timeout: in.timeout}, func(time.Time) {
		f.say(f.IO.Err, f.T("send.slow-begun", map[string]any{"Seconds": in.slow.Seconds()}))
	})
	if err != nil {
		return err
	}
	p := done.Probe
	sum := traffic.Summary{Sent: p.Sent, Failed: p.Failed, Groups: p.Groups, Took: p.To.Sub(p.From)}
	return f.Result(map[string]any{"version": 1, "sent": sum.Sent, "failed": sum.Failed, "groups": sum.Groups, "from": p.From, "to": p.To,
		"seconds": sum.Took.Seconds(), "access": done.Access, "access_missing": done.Missing}, func() { f.printSent(sum, done.Entries) })
}

// printSent tells how requests went. What the access log does not know is told
// as the client saw it.
func (f *Factory) printSent(sum traffic.Summary, log session.Entries) {
	if len(log.Access) == 0 {
		for _, g := range sum.Groups {
			f.say(f.IO.Out, f.T("send.line", map[string]any{
				"Count": g.Count, "Status": g.Status, "Upstream": g.Upstream, "Error": g.Error, "MaxMS": g.MaxMS}))
		}
	}
	for _, g := range log.Access {
		upstream := g.UpstreamName
		if upstream == "" {
			upstream = g.Upstream
		}
		line := f.T("send.access", map[string]any{"Count": g.Count, "Status": g.Status, "Flags": g.Flags, "Details": text.CleanLine(g.Details),
			"Upstream": text.CleanLine(upstream), "Attempts": g.Attempts, "MinMS": g.MinMS, "MaxMS": g.MaxMS})
		fmt.Fprintln(f.IO.Out, text.Wrap(line, f.IO.TextWidth(), "", "    "))
	}
	f.say(f.IO.Out, f.T("send.total", map[string]any{"Sent": sum.Sent, "Failed": sum.Failed}))
	switch {
	case len(log.Access) == 0 && log.Missing > 0:
		f.say(f.IO.Err, f.T("send.no-access-log", nil))
	case log.Missing > 0:
		f.say(f.IO.Err, f.T("send.missing", map[string]any{"Missing": log.Missing}))
	}
}
