package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"lab/pkg/curriculum"
	"lab/pkg/journal"
	"lab/pkg/problem"
	"lab/pkg/watch"
	"lab/upstreams"
)

// startWithin bounds how long building a step's start may take: a restart of
// Envoy and a warming cluster's 15 s.
const startWithin = 25 * time.Second

// wedgedAfter is how long Envoy may take to answer the start's file before it
// is restarted: some sequences leave it so that it never asks for Clusters
// again (docs/rationale.md).
const wedgedAfter = 4 * time.Second

// move goes to another step, or begins one again.
func (s *Session) move(ctx context.Context, in MoveCall) (Moved, error) {
	s.moving.Lock()
	defer s.moving.Unlock()
	current := s.step()
	switch in.Move {
	case "next":
		return s.next(ctx, current, in)
	case "skip":
		next := s.lab.Next(current.ID)
		if next == nil {
			return Moved{}, problem.New("session.last-step", problem.Args{"Step": current.ID})
		}
		if err := s.markStep(current.ID, "skipped", 0); err != nil {
			return Moved{}, err
		}
		return s.build(ctx, next, "goto", in)
	case "goto", "reset", "open":
		step := current
		if in.Step != "" {
			found, ok := s.lab.Step(in.Step)
			if !ok {
				return Moved{}, noSuch("session.no-step", in.Step, s.lab.StepIDs())
			}
			step = found
		}
		if in.Move == "open" { // without building its start: for proofs
			if err := s.openStep(step.ID, "open"); err != nil {
				return Moved{}, err
			}
			return s.moved(step, in, "")
		}
		return s.build(ctx, step, in.Move, in)
	case "solution":
		s.mu.Lock()
		text, err := current.Solution(in.Lang, s.moment(in.Command))
		s.mu.Unlock()
		if err != nil {
			return Moved{}, err
		}
		if err := s.markStep(current.ID, "shown", 0); err != nil {
			return Moved{}, err
		}
		m, err := s.moved(current, in, "")
		m.Shown = text
		return m, err
	}
	return Moved{}, problem.New("session.action", problem.Args{"Name": in.Move}).WithExit(problem.Usage)
}

// next goes on after a pass; check does that by itself, so it is of use after
// going back.
func (s *Session) next(ctx context.Context, current *curriculum.Step, in MoveCall) (Moved, error) {
	s.mu.Lock()
	state := s.steps.state(current.ID)
	s.mu.Unlock()
	if state == stateOpen {
		return Moved{}, problem.New("session.not-passed", problem.Args{"Step": current.ID}).WithExit(problem.NotYet)
	}
	next := s.lab.Next(current.ID)
	if next == nil {
		return Moved{}, problem.New("session.last-step", problem.Args{"Step": current.ID})
	}
	return s.build(ctx, next, "goto", in)
}

func (s *Session) moved(step *curriculum.Step, in MoveCall, kept string) (Moved, error) {
	view, err := s.describe(step, in.Ask)
	return Moved{Step: view, Kept: kept}, err
}

// build makes a step's start: the lab's file with the step's edits, no fault,
// all parts up, what the start waits for, and then the step is opened.
func (s *Session) build(ctx context.Context, step *curriculum.Step, why string, in MoveCall) (Moved, error) {
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	kept, err := s.keepFile()
	if err != nil {
		return Moved{}, err
	}
	if err := s.clearFaults(); err != nil {
		return Moved{}, err
	}
	if err := s.writeSnapshot(nil); err != nil {
		return Moved{}, err
	}
	if err := s.bringBack(ctx); err != nil {
		return Moved{}, err
	}
	if err := s.settleFile(ctx, step); err != nil {
		return Moved{}, err
	}
	if len(step.Start.Acts) > 0 {
		if err := s.act(ctx, step, step.Start.Acts); err != nil {
			return Moved{}, err
		}
	}
	if err := s.until(ctx, step); err != nil {
		return Moved{}, err
	}
	s.sample(ctx)
	s.steady.Flush()
	if err := s.openStep(step.ID, why); err != nil {
		return Moved{}, err
	}
	s.mu.Lock()
	s.lastCheck = nil
	s.mu.Unlock()
	if err := s.act(ctx, step, step.Start.After); err != nil {
		return Moved{}, err
	}
	return s.moved(step, in, kept)
}

// settleFile waits until Envoy has answered the fresh file; one that does not
// is restarted, once.
func (s *Session) settleFile(ctx context.Context, step *curriculum.Step) error {
	for _, try := range []time.Duration{wedgedAfter, startWithin} {
		waiting, cancel := context.WithTimeout(ctx, try)
		ok := s.await(waiting, nil, s.inSync)
		cancel()
		if ok {
			return nil
		}
		if try == wedgedAfter {
			s.note("restarted", map[string]string{"why": "Envoy did not answer the start of the step"})
			if err := s.restartEnvoy(ctx); err != nil {
				return err
			}
		}
	}
	return s.notReached(step)
}

func (s *Session) until(ctx context.Context, step *curriculum.Step) error {
	if step.Start.Until == "" {
		return nil
	}
	var bad error
	ok := s.await(ctx, nil, func() bool {
		holds, err := step.Holds(s.moment("lab"), step.Start.Until)
		bad = err
		return holds || err != nil
	})
	if bad != nil {
		return bad
	}
	if !ok {
		return s.notReached(step)
	}
	return nil
}

func (s *Session) notReached(step *curriculum.Step) error {
	return problem.New("session.start-not-reached", problem.Args{"Step": step.ID, "Seconds": startWithin.Seconds()})
}

// act does the acts of a start: edits of the file, and commands.
func (s *Session) act(ctx context.Context, step *curriculum.Step, acts []curriculum.Act) error {
	for _, a := range acts {
		s.mu.Lock()
		a, err := step.Fill(a, s.moment("lab"))
		s.mu.Unlock()
		if err != nil {
			return err
		}
		upstream, fault, sets := a.SetsFault()
		switch {
		case a.RestartsEnvoy():
			err = s.restartEnvoy(ctx)
		case sets:
			err = s.setFault(journal.Session, upstream, fault)
		case len(a.Lab)+len(a.Begin)+len(a.Refused) > 0 || a.Kill != "" || a.Wait != "":
			err = fmt.Errorf("step %s: a start cannot do this: %+v", step.ID, a)
		case a.Save != "": // each edit of a start is saved at once
		default:
			err = s.writeSnapshot(&a)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// writeSnapshot writes the lab's file, or what an edit makes of the present
// one, and remembers what the control plane is to read.
func (s *Session) writeSnapshot(edit *curriculum.Act) error {
	text, err := s.renderSnapshot()
	if edit != nil {
		var raw []byte
		if raw, _, err = watch.Read(s.folder.Snapshot()); err == nil {
			text, err = edit.Edit(string(raw))
		}
	}
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.wantFile = sha(text)
	s.mu.Unlock()
	return writeFile(s.folder.Snapshot(), []byte(text))
}

func (s *Session) renderSnapshot() (string, error) { return s.lab.Snapshot(s.values("lab")) }

// keepFile copies the learner's file aside where it is not the lab's own.
func (s *Session) keepFile() (string, error) {
	name := s.folder.path("kept/snapshot-" + strings.ReplaceAll(s.now().UTC().Format("20060102-150405.000"), ".", "-") + ".yaml")
	raw, _, err := watch.Read(s.folder.Snapshot())
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if err != nil { // no plain file, or a huge one: it is put aside as it is
		if err := os.Rename(s.folder.Snapshot(), name); err != nil {
			return "", writeProblem(s.folder.Snapshot(), err)
		}
		return name, nil
	}
	if fresh, err := s.renderSnapshot(); err == nil && fresh == string(raw) {
		return "", nil
	}
	return name, writeFile(name, raw)
}

func (s *Session) clearFaults() error {
	ok, err := upstreams.ParseFault("ok")
	if err != nil {
		return err
	}
	s.mu.Lock()
	ups := s.upstreams
	s.mu.Unlock()
	var errs []error
	for _, u := range ups {
		errs = append(errs, u.SetFault(ok))
	}
	return errors.Join(errs...)
}

// runEvent opens the journal.
func (s *Session) runEvent() journal.Event {
	return journal.Event{Source: journal.Session, Kind: journal.KindRun, Run: &journal.Run{
		FormatVersion: journal.FormatVersion, Lab: s.lab.ID, Content: s.lab.Content, Seed: s.run.Seed, Params: s.params,
		Upstreams: s.run.Upstreams, LabVersion: s.run.LabVersion, EnvoyVersion: s.run.Envoy.Version,
		EnvoySHA256: s.run.Envoy.SHA256, Runtime: s.run.Runtime, ADS: s.run.ADS}}
}
