// Package controlplane is the loop of the control plane process: it watches
// the snapshot file, decides which version a content has, journals what it
// read, and has pkg/xds serve it. What cannot be served is refused with its
// problems, and the last good snapshot stays in force.
//
// It must not judge configuration (Envoy does), and it starts no process.
package controlplane

import (
	"context"
	"os"
	"time"

	"lab/pkg/journal"
	"lab/pkg/problem"
	"lab/pkg/snapshot"
	"lab/pkg/watch"
	"lab/pkg/xds"
)

// Config says what to serve and where.
type Config struct {
	SnapshotFile string
	Listen       string // "127.0.0.1:18000", with port 0 for a free one, or the path of a Unix socket
	StateFile    string // keeps the version over restarts; "": nothing does
	FirstVersion int64  // of the first snapshot without a version_info; 0 means 1
	Order        string // xds.Ordered, also when empty, or xds.Random
	Sink         journal.Sink
	Now          func() time.Time
	Ready        func(addr string) // called once, when Envoy can connect
}

// controlPlane is one running Serve.
type controlPlane struct {
	Config
	server *xds.Server
	ledger *ledger
	served bool            // this process has pushed
	known  map[string]bool // hashes whose body stands in the journal
}

// Serve runs the control plane until ctx ends, which is no error, or until it
// cannot go on: the address is not to be had (a *problem.Problem), the
// listener failed, or nobody reads the journal any more.
func Serve(ctx context.Context, cfg Config) error {
	if cfg.Order != "" && cfg.Order != xds.Ordered && cfg.Order != xds.Random {
		return problem.New("xds.order", problem.Args{"Order": cfg.Order}).WithExit(problem.Usage)
	}
	lis, err := listen(ctx, cfg.Listen)
	if err != nil {
		return err
	}
	defer lis.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	changes, err := watch.File(ctx, cfg.SnapshotFile)
	if err != nil {
		return err
	}
	c := &controlPlane{
		Config: cfg,
		server: xds.New(xds.Options{Sink: cfg.Sink, Now: cfg.Now, Order: cfg.Order, Pid: os.Getpid()}),
		known:  map[string]bool{},
	}
	var lost error
	if c.ledger, lost = openLedger(cfg.StateFile, cfg.FirstVersion); lost != nil {
		c.note("state-lost", lost)
	}
	// What is in the file now goes in before the first Envoy is answered.
	for ready := false; !ready; {
		select {
		case e := <-changes:
			c.take(ctx, e)
			ready = e.Kind != watch.Polling
		case <-gone(cfg.Sink):
			return errNoReader(cfg.Sink)
		case <-ctx.Done():
			return nil
		}
	}
	failed := make(chan error, 1)
	go func() { failed <- c.server.Serve(ctx, lis) }()
	if cfg.Ready != nil {
		cfg.Ready(lis.Addr().String())
	}
	err = c.follow(ctx, changes, failed)
	cancel()
	return err
}

// follow takes what the watch reports until the server or the journal ends.
// It returns when the server has stopped.
func (c *controlPlane) follow(ctx context.Context, changes <-chan watch.Event, failed <-chan error) error {
	for {
		select {
		case e, ok := <-changes:
			if !ok { // ctx has ended
				return <-failed
			}
			c.take(ctx, e)
		case err := <-failed:
			return err
		case <-gone(c.Sink):
			return errNoReader(c.Sink)
		}
	}
}

// take handles one report of the watch.
func (c *controlPlane) take(ctx context.Context, e watch.Event) {
	switch e.Kind {
	case watch.Saved:
		c.load(ctx, e.Text, e.SHA256)
	case watch.Gone:
		c.refuse(problem.New("xds.file-gone", problem.Args{"File": c.SnapshotFile}))
	case watch.TooLarge:
		c.refuse(problem.New("xds.file-too-large", problem.Args{"File": c.SnapshotFile, "Max": watch.MaxSize >> 20}))
	case watch.Unreadable:
		c.refuse(problem.New("xds.file-unreadable", problem.Args{"File": c.SnapshotFile, "Error": e.Err.Error()}))
	case watch.Polling:
		c.note("watch-polling", e.Err)
	case watch.Held:
		c.note("file-held", nil)
	}
}

// load reads a saved text and serves it.
func (c *controlPlane) load(ctx context.Context, text []byte, sum string) {
	set, problems := snapshot.Load(c.SnapshotFile, text)
	if set == nil {
		c.refused(sum, problems)
		return
	}
	version, changed, ok := c.ledger.decide(set)
	if !ok {
		p := problem.New("xds.same-version", problem.Args{"File": c.SnapshotFile, "Version": set.Version})
		c.refused(sum, append(problems, p.At(versionPlace(c.SnapshotFile, text))))
		return
	}
	served := *set
	served.Version = version
	if changed { // before the push: no restart may give this version to another content
		if err := c.ledger.save(); err != nil {
			c.note("state-not-written", err)
		}
	}
	c.loaded(&served, problems)
	if c.served && !changed {
		return
	}
	if err := c.server.Push(ctx, &served); err == nil {
		c.served = true
	} else if ctx.Err() == nil {
		c.note("push-failed", err)
	}
}
