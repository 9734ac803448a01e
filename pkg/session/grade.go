package session

import (
	"context"
	"path/filepath"
	"time"

	"lab/checks"
	"lab/pkg/curriculum"
	"lab/pkg/journal"
	"lab/pkg/problem"
	"lab/pkg/report"
	"lab/pkg/watch"
	"lab/pkg/words"
)

// DefaultWait bounds how long a check waits for evidence that comes by itself:
// an answer that is under way, requests that have yet to be counted.
const DefaultWait = 10 * time.Second

// quietAfter is how long after the last event that matters a verdict that
// waits for nothing in particular is final.
const quietAfter = time.Second

// freshWithin bounds how long the evidence may take to catch up with now.
const freshWithin = 2 * time.Second

// step is the current step.
func (s *Session) step() *curriculum.Step {
	st, _ := s.lab.Step(s.currentStep())
	return st // a session opens a step before it serves calls
}

// moment is now, for a step's texts and grades. The caller holds mu.
func (s *Session) moment(command string) curriculum.Moment {
	return curriculum.Moment{Evidence: s.evidence, Now: s.now(), Values: s.values(command)}
}

func (s *Session) values(command string) curriculum.Values {
	return curriculum.Values{Params: s.params, Upstreams: s.run.Upstreams, Ports: s.run.Ports, Command: command}
}

// check grades the current step, and opens the next one when it is passed.
func (s *Session) check(ctx context.Context, in CheckCall) (checks.Report, error) {
	s.moving.Lock()
	defer s.moving.Unlock()
	step := s.step()
	s.catchUp(ctx)
	rep, graded, err := s.settle(ctx, step, in)
	if err != nil {
		return rep, err
	}
	graded.Step, graded.Verdict = step.ID, string(rep.Verdict)
	if rep.Diagnosis != nil {
		graded.Diagnosis = rep.Diagnosis.ID
	}
	if err := s.record(journal.Event{Source: journal.Session, Kind: journal.KindCheck, Check: &graded}); err != nil {
		return rep, err
	}
	next := s.lab.Next(step.ID)
	if next != nil {
		rep.Next = &next.ID
	}
	if rep.Verdict == checks.Passed {
		if err := s.markStep(step.ID, "passed", 0); err != nil {
			return rep, err
		}
		if next != nil {
			if rep.Kept, err = s.goOn(ctx, next, in.Ask); err != nil {
				return rep, err
			}
			rep.Opened = &next.ID
		}
	}
	rep.Number, rep.Of, rep.Title = step.Number, len(s.lab.Steps), step.Title(in.Lang)
	s.mu.Lock()
	report.Cite(&rep, s.recall.events(), report.Style{Words: words.For(in.Lang), Lab: in.Command})
	s.lastCheck = &rep
	s.mu.Unlock()
	return rep, nil
}

// goOn opens the step behind a pass. Most go on with the learner's file; one
// that cannot is built, and kept is where the file is then.
func (s *Session) goOn(ctx context.Context, next *curriculum.Step, a Ask) (kept string, err error) {
	if !next.Start.Build {
		return "", s.openStep(next.ID, "passed")
	}
	m, err := s.build(ctx, next, "passed", MoveCall{Ask: a})
	return m.Kept, err
}

// grade is the verdict on what is known now.
func (s *Session) grade(step *curriculum.Step, a Ask) (checks.Report, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return step.Grade(a.Lang, s.moment(a.Command))
}

// settle grades again, after each event, while the verdict is not passed and
// something may still be under way.
func (s *Session) settle(ctx context.Context, step *curriculum.Step, in CheckCall) (checks.Report, journal.Check, error) {
	if in.Wait == 0 {
		in.Wait = DefaultWait
	}
	end := s.now().Add(in.Wait)
	for {
		s.mu.Lock()
		changed, active := s.changed, s.active
		m := s.moment(in.Command)
		m.Now = m.Now.UTC().Round(0) // as the journal keeps it
		rep, err := step.Grade(in.Lang, m)
		graded := journal.Check{Through: s.evidence.Seq(), At: m.Now}
		s.mu.Unlock()
		left := end.Sub(s.now())
		if !rep.Settles {
			left = min(left, quietAfter-s.now().Sub(active))
		}
		if err != nil || rep.Verdict == checks.Passed || left <= 0 {
			return rep, graded, err
		}
		timer := time.NewTimer(left)
		select {
		case <-changed:
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
		if ctx.Err() != nil {
			return rep, graded, ctx.Err()
		}
	}
}

// catchUp makes the evidence as fresh as it can be: the control plane has read
// the file as it is now, Envoy was asked, and the requests so far are counted.
// What does not answer is left to the verdict.
func (s *Session) catchUp(ctx context.Context) {
	s.awaitReading(ctx)
	ctx, cancel := context.WithTimeout(ctx, freshWithin)
	defer cancel()
	s.sample(ctx)
	if s.steady != nil {
		s.steady.Flush()
	}
}

// awaitReading waits until the control plane has read the file as it is now,
// and notes it where one that runs does not: it is stopped, or starved.
func (s *Session) awaitReading(ctx context.Context) {
	waiting, cancel := context.WithTimeout(ctx, freshWithin)
	defer cancel()
	cp := s.controlPlane()
	_, sum, err := watch.Read(s.folder.Snapshot())
	if err != nil || !cp.alive() {
		return
	}
	read := s.await(waiting, cp.done, func() bool { return s.evidence.Loaded() == sum })
	if !read && cp.alive() && ctx.Err() == nil {
		s.note("file-unread", map[string]string{"file": filepath.Base(s.folder.Snapshot())})
	}
}

func (s *Session) sample(ctx context.Context) {
	if e := s.envoy(); e.alive() && e.sampler != nil {
		_ = e.sampler.SampleNow(ctx) // a silent admin is noted by the sampler
	}
}

// why is the last grading of the current step.
func (s *Session) why(_ context.Context, _ Ask) (checks.Report, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lastCheck == nil {
		return checks.Report{}, problem.New("session.no-check", nil)
	}
	return *s.lastCheck, nil
}

// hint takes the next rung.
func (s *Session) hint(_ context.Context, in Ask) (Hint, error) {
	s.moving.Lock()
	defer s.moving.Unlock()
	step := s.step()
	s.mu.Lock()
	rung := min(s.steps.rungs[step.ID]+1, step.Hints())
	text, err := step.Hint(in.Lang, rung, s.moment(in.Command))
	s.mu.Unlock()
	if err != nil {
		return Hint{}, err
	}
	return Hint{Step: step.ID, Rung: rung, Of: step.Hints(), Text: text}, s.markStep(step.ID, "hint", rung)
}

// stepText is the current step.
func (s *Session) stepText(_ context.Context, in Ask) (Step, error) {
	return s.describe(s.step(), in)
}

func (s *Session) describe(step *curriculum.Step, in Ask) (Step, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.moment(in.Command)
	text, err := step.Text(in.Lang, m)
	if err != nil {
		return Step{}, err
	}
	params, err := step.Params(m)
	return Step{Lab: s.lab.ID, ID: step.ID, Number: step.Number, Of: len(s.lab.Steps), Title: step.Title(in.Lang),
		Text: text, Params: params, State: s.steps.state(step.ID)}, err
}

// wait tells whether a condition comes to hold in time.
func (s *Session) wait(ctx context.Context, in WaitCall) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, in.Wait)
	defer cancel()
	step := s.step()
	var bad error
	held := s.await(ctx, nil, func() bool {
		holds, err := step.Holds(s.moment("lab"), in.Expr)
		bad = err
		return holds || err != nil
	})
	return held && bad == nil, bad
}
