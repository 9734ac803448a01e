package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"lab/envoy/admin"
	"lab/pkg/problem"
	"lab/pkg/session"
)

func newControlPlane(f *Factory) *cobra.Command {
	g := group(f, "control-plane", "control-plane",
		newControlPlaneServe(f),
		f.partAction("control-plane", "stop"), f.partAction("control-plane", "kill"),
		f.partAction("control-plane", "start"), f.partAction("control-plane", "restart"),
		f.partStatus("control-plane"))
	g.Aliases = []string{"cp"}
	return g
}

func newEnvoy(f *Factory) *cobra.Command {
	return group(f, "envoy", "envoy", f.partAction("envoy", "hot-restart"), f.partAction("envoy", "restart"), f.partStatus("envoy"),
		newEnvoyAdmin(f, "stats"), newEnvoyAdmin(f, "config"), newEnvoyLog(f), newEnvoyPath(f))
}

// partAction is one thing to do to a part of the run.
func (f *Factory) partAction(part, action string) *cobra.Command {
	return leaf(f, part+"-"+action, action, noArgs, func(cmd *cobra.Command, _ []string) error {
		c, err := f.Client()
		if err != nil {
			return err
		}
		done, err := c.Part(cmd.Context(), session.PartCall{Part: part, Action: action})
		if err != nil {
			return err
		}
		doc := map[string]any{"version": 1, "part": part, "action": action, "done": true}
		if done.Pid != 0 {
			doc["epochs"] = done
		}
		return f.Result(doc, func() {
			f.say(f.IO.Out, f.T("part.done."+part+"."+action, map[string]any{"D": done}))
		})
	})
}

// partStatus is the part's piece of lab status.
func (f *Factory) partStatus(part string) *cobra.Command {
	return leaf(f, part+"-status", "status", noArgs, func(cmd *cobra.Command, _ []string) error {
		c, err := f.Client()
		if err != nil {
			return err
		}
		st, err := c.Status(cmd.Context(), f.ask())
		if err != nil {
			return err
		}
		if part == "envoy" {
			return f.Result(map[string]any{"version": 1, "envoy": st.Envoy}, func() {
				f.say(f.IO.Out, f.T("part.status.envoy", map[string]any{"P": st.Envoy}))
			})
		}
		return f.Result(map[string]any{"version": 1, "control_plane": st.ControlPlane}, func() {
			f.say(f.IO.Out, f.T("part.status.control-plane", map[string]any{"P": st.ControlPlane}))
		})
	})
}

// adminOf is the admin interface of the run's Envoy.
func (f *Factory) adminOf(cmd *cobra.Command) (*admin.Client, error) {
	c, err := f.Client()
	if err != nil {
		return nil, err
	}
	st, err := c.Status(cmd.Context(), f.ask())
	if err != nil {
		return nil, err
	}
	if st.Envoy.Admin == "" || !st.Envoy.Ready {
		return nil, problem.New("cli.envoy-down", nil)
	}
	return admin.New(st.Envoy.Admin), nil
}

// newEnvoyAdmin shows a page of the admin interface: stats (with a filter) or
// the configuration.
func newEnvoyAdmin(f *Factory, what string) *cobra.Command {
	use := what
	if what == "stats" {
		use = "stats [REGEXP]"
	}
	return leaf(f, "envoy-"+what, use, between(0, 1), func(cmd *cobra.Command, args []string) error {
		a, err := f.adminOf(cmd)
		if err != nil {
			return err
		}
		defer a.Close()
		if what == "config" {
			raw, err := a.ConfigDump(cmd.Context())
			if err != nil {
				return err
			}
			return f.Result(map[string]any{"version": 1, "config_dump": json.RawMessage(raw)}, func() {
				fmt.Fprintln(f.IO.Out, string(raw))
			})
		}
		filter := ""
		if len(args) == 1 {
			filter = args[0]
		}
		values, texts, err := a.Stats(cmd.Context(), filter)
		if err != nil {
			return err
		}
		return f.Result(map[string]any{"version": 1, "values": values, "texts": texts}, func() {
			for _, n := range sortedKeys(values) {
				fmt.Fprintf(f.IO.Out, "%s: %d\n", n, values[n])
			}
			for _, n := range sortedKeys(texts) {
				fmt.Fprintf(f.IO.Out, "%s: %q\n", n, texts[n])
			}
		})
	})
}

// newEnvoyLog shows the log of one epoch; without a number, of the one that
// started last.
func newEnvoyLog(f *Factory) *cobra.Command {
	return leaf(f, "envoy-log", "log [EPOCH]", between(0, 1), func(_ *cobra.Command, args []string) error {
		folder, err := f.Folder()
		if err != nil {
			return err
		}
		if _, err := folder.Load(); err != nil {
			return err
		}
		epoch := folder.LastEpoch()
		if len(args) == 1 {
			n, err := strconv.ParseUint(args[0], 10, 16)
			if err != nil {
				return problem.New("cli.no-epoch", problem.Args{"Value": args[0]}).WithExit(problem.Usage)
			}
			epoch = int(n)
		}
		file := folder.Log("envoy-" + strconv.Itoa(epoch))
		raw, err := os.ReadFile(file)
		if err != nil {
			return problem.New("cli.no-log", problem.Args{"File": file}).Wrap(err)
		}
		if f.JSON() {
			return json.NewEncoder(f.IO.Out).Encode(map[string]any{"version": 1, "epoch": epoch, "log": string(raw)})
		}
		_, err = f.IO.Out.Write(raw)
		return err
	})
}
