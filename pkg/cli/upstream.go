package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"lab/pkg/session"
)

func newUpstream(f *Factory) *cobra.Command {
	list := leaf(f, "upstream-list", "list", noArgs, func(cmd *cobra.Command, _ []string) error {
		c, err := f.Client()
		if err != nil {
			return err
		}
		st, err := c.Status(cmd.Context(), f.ask())
		if err != nil {
			return err
		}
		return f.Result(map[string]any{"version": 1, "upstreams": st.Upstreams}, func() {
			for _, u := range st.Upstreams {
				fmt.Fprintf(f.IO.Out, "%-12s %-22s %s\n", u.Name, u.Address, u.Fault)
			}
		})
	})
	set := leaf(f, "upstream-set", "set NAME FAULT", exactly(2), func(cmd *cobra.Command, args []string) error {
		return f.setFault(cmd, args[0], args[1])
	})
	clear := leaf(f, "upstream-clear", "clear [NAME]", between(0, 1), func(cmd *cobra.Command, args []string) error {
		name := ""
		if len(args) == 1 {
			name = args[0]
		}
		return f.setFault(cmd, name, "ok")
	})
	return group(f, "upstream", "upstream", list, set, clear)
}

// setFault sets the fault of one upstream, or of all where name is "".
func (f *Factory) setFault(cmd *cobra.Command, name, fault string) error {
	c, err := f.Client()
	if err != nil {
		return err
	}
	if err := c.Fault(cmd.Context(), session.FaultCall{Upstream: name, Fault: fault}); err != nil {
		return err
	}
	return f.Result(map[string]any{"version": 1, "upstream": name, "fault": fault}, func() {
		f.say(f.IO.Out, f.T("upstream.set", map[string]any{"Name": name, "Fault": fault}))
	})
}
