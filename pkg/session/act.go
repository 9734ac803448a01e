package session

import (
	"context"
	"errors"

	"lab/pkg/journal"
	"lab/pkg/problem"
	"lab/upstreams"
)

// part does something to the control plane or to Envoy, as a learner asked.
func (s *Session) part(ctx context.Context, in PartCall) (PartDone, error) {
	s.moving.Lock()
	defer s.moving.Unlock()
	name := in.Part + " " + in.Action
	if err := s.record(journal.Event{Source: journal.Learner, Kind: journal.KindCommand, Command: &journal.Command{Name: name}}); err != nil {
		return PartDone{}, err
	}
	defer func() {
		s.rememberPids()
		_ = s.save() // a folder that is gone is told by status
	}()
	switch name {
	case "control-plane stop", "control-plane kill":
		sig := sigTerm
		if in.Action == "kill" {
			sig = sigKill
		}
		if !s.stopControlPlane(sig) {
			return PartDone{}, problem.New("session.part-down", problem.Args{"Part": in.Part})
		}
		return PartDone{}, nil
	case "control-plane start":
		if s.controlPlane().alive() {
			return PartDone{}, problem.New("session.part-up", problem.Args{"Part": in.Part})
		}
		return PartDone{}, s.startControlPlane(ctx)
	case "control-plane restart":
		s.stopControlPlane(sigTerm)
		return PartDone{}, s.startControlPlane(ctx)
	case "envoy hot-restart":
		return s.hotRestart(ctx)
	case "envoy restart":
		return PartDone{}, s.restartEnvoy(ctx)
	}
	return PartDone{}, problem.New("session.action", problem.Args{"Name": name}).WithExit(problem.Usage)
}

// restartEnvoy is the cold restart: the old one ends, then epoch 0 starts.
func (s *Session) restartEnvoy(ctx context.Context) error {
	s.stopEnvoy()
	return s.coldStart(ctx)
}

// fault sets the fault of one upstream, or of all.
func (s *Session) fault(_ context.Context, in FaultCall) (Nothing, error) {
	return Nothing{}, s.setFault(journal.Learner, in.Upstream, in.Fault)
}

// setFault does it for a learner, or for the start of a step.
func (s *Session) setFault(who journal.Source, upstream, text string) error {
	fault, err := upstreams.ParseFault(text)
	if err != nil {
		return err
	}
	s.mu.Lock()
	ups := s.upstreams
	s.mu.Unlock()
	if upstream != "" && ups[upstream] == nil {
		return noSuch("session.no-upstream", upstream, sorted(ups))
	}
	if err := s.record(journal.Event{Source: who, Kind: journal.KindCommand, Command: &journal.Command{
		Name: "upstream set", Args: map[string]string{"upstream": upstream, "fault": text}}}); err != nil {
		return err
	}
	var errs []error
	for name, u := range ups {
		if upstream == "" || upstream == name {
			errs = append(errs, u.SetFault(fault))
		}
	}
	return errors.Join(errs...)
}
