package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"lab/pkg/journal"
	"lab/pkg/traffic"
)

type noSink struct{}

func (noSink) Emit(journal.Event) {}

func newSend(f *Factory) *cobra.Command {
	var n, conc int
	var rate float64
	var timeout time.Duration
	c := leaf(f, "send", "send [PATH]", between(0, 1), func(cmd *cobra.Command, args []string) error {
		path := "/"
		if len(args) == 1 {
			path = args[0]
		}
		folder, err := f.Folder()
		if err != nil {
			return err
		}
		run, err := folder.Load()
		if err != nil {
			return err
		}
		sum, err := traffic.Send(cmd.Context(), traffic.SendConfig{
			URL: fmt.Sprintf("http://127.0.0.1:%d", run.Ports["http"]), Path: path,
			N: n, Concurrency: conc, Rate: rate, Timeout: timeout, Sink: noSink{}, Now: time.Now})
		if err != nil {
			return err
		}
		return f.Result(map[string]any{"version": 1, "sent": sum.Sent, "failed": sum.Failed, "not_counted": sum.NotCounted,
			"groups": sum.Groups, "seconds": sum.Took.Seconds()}, func() { f.printSummary(sum) })
	})
	c.Flags().IntVarP(&n, "requests", "n", 10, f.T("flag.n", nil))
	c.Flags().IntVarP(&conc, "concurrency", "c", 1, f.T("flag.c", nil))
	c.Flags().Float64Var(&rate, "rate", 0, f.T("flag.rate", nil))
	c.Flags().DurationVar(&timeout, "timeout", 30*time.Second, f.T("flag.timeout", nil))
	return c
}
