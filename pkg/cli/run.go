package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"lab/envoy"
	"lab/pkg/curriculum"
	"lab/pkg/journal"
	"lab/pkg/problem"
	"lab/pkg/report"
	"lab/pkg/session"
	"lab/pkg/term"
)

// runWhere is bare `lab`: where am I, what next.
func runWhere(ctx context.Context, f *Factory) error {
	folder, err := f.Folder()
	var none *problem.Problem
	if asProblem(err, &none, "session.none") {
		return f.Result(map[string]any{"version": 1, "run": nil}, func() {
			f.say(f.IO.Out, f.T("where.none", nil))
		})
	}
	if err != nil {
		return err
	}
	step, err := session.NewClient(folder).Step(ctx, f.ask())
	if err != nil {
		return err
	}
	return f.Result(versioned(step), func() {
		f.printStep(step)
		fmt.Fprintln(f.IO.Out)
		if step.Number == step.Of && step.State != "open" {
			f.say(f.IO.Out, f.T("where.finished", nil))
		}
		f.say(f.IO.Out, f.T("where.next", map[string]any{"Dir": folder.Dir}))
	})
}

func newStop(f *Factory) *cobra.Command {
	return leaf(f, "stop", "stop", noArgs, func(cmd *cobra.Command, _ []string) error {
		folder, err := f.Folder()
		if err != nil {
			return err
		}
		what, err := folder.Stop(cmd.Context())
		if err != nil {
			return err
		}
		return f.Result(map[string]any{"version": 1, "dir": folder.Dir, "was": what}, func() {
			f.say(f.IO.Out, f.T("stop."+what, map[string]any{"Dir": folder.Dir}))
		})
	})
}

func newList(f *Factory) *cobra.Command {
	return leaf(f, "list", "list", noArgs, func(*cobra.Command, []string) error {
		labs, err := curriculum.All()
		if err != nil {
			return err
		}
		type row struct {
			ID        string   `json:"id"`
			Title     string   `json:"title"`
			Minutes   int      `json:"minutes"`
			Steps     int      `json:"steps"`
			Languages []string `json:"languages"`
			Needs     []string `json:"needs"`
		}
		var rows []row
		for _, l := range labs {
			rows = append(rows, row{l.ID, l.Title[f.Lang()], l.Minutes, len(l.Steps), curriculum.Languages, []string{"envoy"}})
		}
		return f.Result(map[string]any{"version": 1, "labs": rows}, func() {
			for _, r := range rows {
				f.say(f.IO.Out, f.T("list.row", map[string]any{"ID": r.ID, "Title": r.Title, "Minutes": r.Minutes, "Steps": r.Steps}))
			}
			f.say(f.IO.Out, f.T("list.start", map[string]any{"ID": rows[0].ID}))
		})
	})
}

func newVersion(f *Factory) *cobra.Command {
	return leaf(f, "version", "version", noArgs, func(*cobra.Command, []string) error {
		v, err := envoy.DefaultVersion()
		if err != nil {
			return err
		}
		return f.Result(map[string]any{"version": 1, "lab": version, "envoy": v}, func() {
			f.say(f.IO.Out, f.T("version.line", map[string]any{"Version": version, "Envoy": v}))
		})
	})
}

func newDoctor(f *Factory) *cobra.Command {
	return leaf(f, "doctor", "doctor", noArgs, func(cmd *cobra.Command, _ []string) error {
		found, err := envoy.Doctor(cmd.Context(), envoy.Options{})
		if err != nil {
			return err
		}
		lines, bad := f.findings(found)
		if err := f.Result(map[string]any{"version": 1, "ok": !bad, "findings": lines}, func() { f.printFindings(lines) }); err != nil {
			return err
		}
		if bad {
			return status(problem.Environment)
		}
		return nil
	})
}

func newEnvoyPath(f *Factory) *cobra.Command {
	var want string
	c := leaf(f, "envoy-path", "path", noArgs, func(cmd *cobra.Command, _ []string) error {
		p := term.NewProgress(f.IO, time.Now)
		defer p.Stop()
		p.Begin(f.T("start.label.envoy-binary", nil))
		b, err := envoy.Find(cmd.Context(), envoy.Options{Want: want, Progress: func(pr envoy.Progress) { p.Say(f.envoyProgress(pr)) }})
		if err != nil {
			return err
		}
		return f.Result(map[string]any{"version": 1, "path": b.Path, "envoy": b.Version, "sha256": b.SHA256, "from": b.From}, func() {
			p.Stop()
			fmt.Fprintln(f.IO.Out, b.Path)
		})
	})
	c.Flags().StringVar(&want, "envoy", "", f.T("flag.envoy", nil))
	return c
}

func newJournal(f *Factory) *cobra.Command {
	var o report.Filter
	var follow bool
	c := leaf(f, "journal", "journal", noArgs, func(cmd *cobra.Command, _ []string) error {
		if !slices.Contains([]string{"", "CDS", "EDS", "LDS", "RDS", "SDS"}, strings.ToUpper(o.Type)) {
			return usage("cli.flag-value", problem.Args{"Flag": "type", "Value": o.Type, "Allowed": []string{"CDS", "EDS", "LDS", "RDS", "SDS"}})
		}
		if follow {
			return f.followJournal(cmd.Context(), o)
		}
		events, err := f.events()
		if err != nil {
			return err
		}
		return report.Journal(f.IO.Out, events, o, f.JSON(), f.style())
	})
	c.Flags().StringVar(&o.Type, "type", "", f.T("flag.type", nil))
	c.Flags().BoolVar(&o.Raw, "raw", false, f.T("flag.raw", nil))
	c.Flags().BoolVar(&o.All, "all", false, f.T("flag.all", nil))
	c.Flags().BoolVar(&follow, "follow", false, f.T("flag.follow", nil))
	return c
}

// followJournal tells what is there, and goes on as things happen.
func (f *Factory) followJournal(ctx context.Context, o report.Filter) error {
	c, err := f.Client()
	if err != nil {
		return err
	}
	t := report.NewTeller(f.IO.Out, o, f.JSON(), f.style())
	var told int64
	tell := func(e journal.Event) error {
		if e.Seq <= told {
			return nil
		}
		told = e.Seq
		if err := t.Tell(e); err != nil {
			return err
		}
		return t.Flush()
	}
	return c.Follow(ctx, func(raw []byte) error {
		if told == 0 { // the stream has begun: what it will not bring stands in the file
			events, err := f.events()
			if err != nil {
				return err
			}
			for _, e := range events {
				if err := tell(e); err != nil {
					return err
				}
			}
		}
		var e journal.Event
		if err := json.Unmarshal(raw, &e); err != nil {
			return err
		}
		return tell(e)
	})
}
