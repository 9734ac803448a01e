package session

import (
	"context"
	"time"

	"lab/envoy"
	"lab/envoy/admin"
	"lab/pkg/problem"
)

// liveWithin bounds how long a new epoch may take. It must be shorter than the
// 15 s after which Envoy goes on without its first Clusters
// (initial_fetch_timeout): it would then be LIVE without Listeners, and the
// old epoch would close its own.
const liveWithin = 12 * time.Second

// askWithin bounds one question to a process that should answer at once.
const askWithin = 2 * time.Second

// hotRestart starts the next epoch under the same base id (Envoy docs,
// intro/arch_overview/operations/hot_restart). It starts nothing where that is
// known to end in an outage, and a new epoch that fails never takes the old one
// along.
func (s *Session) hotRestart(ctx context.Context) (PartDone, error) {
	old := s.envoy()
	if err := s.refuseHotRestart(ctx, old); err != nil {
		return PartDone{}, err
	}
	old.stopSampler() // the new epoch takes the admin interface over
	part, err := s.launch(old.proc.Epoch() + 1)
	if err != nil {
		s.startSampler(old)
		return PartDone{}, err
	}
	if err := s.awaitTakeOver(ctx, part); err != nil {
		s.killEpoch(part)
		old.spoiled = true
		s.startSampler(old)
		return PartDone{}, problem.New("session.hot-restart-failed", problem.Args{
			"Epoch": part.proc.Epoch(), "Old": old.proc.Epoch(), "Error": Reason(err)}).Wrap(err)
	}
	s.setEnvoy(part)
	return PartDone{Pid: part.proc.Pid(), Epoch: part.proc.Epoch(),
		OldPid: old.proc.Pid(), OldEpoch: old.proc.Epoch(), OldEndsIn: parentShutdown.Seconds()}, nil
}

// awaitTakeOver returns when the new epoch is LIVE. Where the control plane
// dies meanwhile, it would become LIVE with nothing to serve, and is given up;
// but not before its admin interface answers. Until then it talks to the old
// epoch, which can crash over a child that is gone in the middle of it.
func (s *Session) awaitTakeOver(ctx context.Context, part *envoyPart) error {
	ctx, cancel := context.WithTimeout(ctx, liveWithin)
	defer cancel()
	if err := part.proc.WaitAdmin(ctx); err != nil {
		return err
	}
	cp := s.controlPlane()
	s.background.Go(func() {
		select {
		case <-cp.done:
			cancel()
		case <-ctx.Done():
		}
	})
	return s.awaitLive(ctx, part)
}

// refuseHotRestart tells why no new epoch may start now.
func (s *Session) refuseHotRestart(ctx context.Context, old *envoyPart) error {
	refuse := func(why string, args problem.Args) error {
		if args == nil {
			args = problem.Args{}
		}
		if old != nil {
			args["Epoch"] = old.proc.Epoch()
		}
		return problem.New("session.hot-restart-"+why, args)
	}
	switch {
	case !old.alive():
		return refuse("no-parent", nil)
	case old.spoiled:
		return refuse("spoiled", nil)
	case s.isOrphan(old):
		return refuse("orphaned", nil)
	case !s.controlPlane().alive():
		return refuse("no-control-plane", nil)
	case len(s.running()) > 1:
		return refuse("draining", problem.Args{"Old": s.running()[0].proc.Epoch()})
	case !live(ctx, old):
		return refuse("parent-not-live", nil)
	}
	if t, v := s.rejectedNow(); t != "" {
		return refuse("rejected", problem.Args{"Type": t, "Version": v})
	}
	ctx, cancel := context.WithTimeout(ctx, liveWithin)
	defer cancel()
	return envoy.Validate(ctx, s.run.Envoy.Path, s.bootstrap())
}

func (s *Session) isOrphan(e *envoyPart) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return e.orphaned
}

// live asks an epoch over its admin interface.
func live(ctx context.Context, e *envoyPart) bool {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	a := admin.New(e.proc.AdminAddr())
	defer a.Close()
	ok, _, err := a.Ready(ctx)
	return ok && err == nil
}

// rejectedNow is a type whose present version Envoy has rejected: it keeps the
// one before, which a new epoch would never get.
func (s *Session) rejectedNow() (kind, version string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	talk := s.view.now()
	for _, t := range sorted(talk.types) {
		if r := talk.types[t].reject; r != nil {
			return t, r.Version
		}
	}
	return "", ""
}
