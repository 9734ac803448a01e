package cli

import (
	"errors"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"lab/pkg/controlplane"
	"lab/pkg/journal"
	"lab/pkg/problem"
	"lab/pkg/session"
)

// newSession is what `lab start` runs in the background; it is not for people.
func newSession(f *Factory) *cobra.Command {
	serve := leaf(f, "session-serve", "serve", noArgs, func(cmd *cobra.Command, _ []string) error {
		hand := os.NewFile(3, "handshake")
		if hand == nil || f.dir == "" {
			return usage("cli.session", nil)
		}
		return session.Serve(cmd.Context(), session.Folder{Dir: f.dir}, hand)
	})
	g := group(f, "session", "session", serve)
	g.Hidden = true
	return g
}

type serveOptions struct {
	snapshot, listen, state, order, journal string
	first                                   int64
	fd                                      int
}

// newControlPlaneServe is the ADS server of a run, and useful on its own: a
// file-driven control plane with a journal.
func newControlPlaneServe(f *Factory) *cobra.Command {
	var o serveOptions
	c := leaf(f, "control-plane-serve", "serve", noArgs, func(cmd *cobra.Command, _ []string) error {
		out, closeOut, err := o.open(f)
		if err != nil {
			return err
		}
		defer closeOut()
		sink := journal.NewLineSink(out)
		return controlplane.Serve(cmd.Context(), controlplane.Config{
			SnapshotFile: o.snapshot, Listen: o.listen, StateFile: o.state, FirstVersion: o.first, Order: o.order,
			Sink: sink, Now: time.Now,
			Ready: func(addr string) {
				sink.Emit(journal.Event{Time: time.Now(), Source: journal.ControlPlane, Kind: journal.KindProcess,
					Process: &journal.Process{Role: "control-plane", State: "ready", Pid: os.Getpid()}})
				f.say(f.IO.Err, f.T("control-plane.listening", map[string]any{"Address": addr, "File": o.snapshot}))
			},
		})
	})
	fl := c.Flags()
	fl.StringVar(&o.snapshot, "snapshot", "snapshot.yaml", f.T("flag.snapshot", nil))
	fl.StringVar(&o.listen, "listen", "127.0.0.1:0", f.T("flag.listen", nil))
	fl.StringVar(&o.state, "state", "", f.T("flag.state", nil))
	fl.Int64Var(&o.first, "first-version", 1, f.T("flag.first-version", nil))
	fl.StringVar(&o.order, "order", "ordered", f.T("flag.order", nil))
	fl.StringVar(&o.journal, "journal", "", f.T("flag.journal", nil))
	fl.IntVar(&o.fd, "journal-fd", -1, "")
	_ = fl.MarkHidden("journal-fd") // it exists
	return c
}

// open gives where events go: the session's pipe, a file, or stdout.
func (o serveOptions) open(f *Factory) (io.Writer, func(), error) {
	if o.fd >= 0 {
		p := os.NewFile(uintptr(o.fd), "journal")
		if p == nil {
			return nil, nil, usage("cli.flag-value", problem.Args{"Flag": "journal-fd", "Value": o.fd, "Allowed": []string{"an open descriptor"}})
		}
		return p, func() { _ = p.Close() }, nil
	}
	if o.journal == "" || o.journal == "-" {
		return f.IO.Out, func() {}, nil
	}
	file, err := os.OpenFile(o.journal, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, nil, problem.New("session.unwritable", problem.Args{"File": o.journal, "Error": errors.Unwrap(err).Error()}).Wrap(err)
	}
	return file, func() { _ = file.Close() }, nil
}
