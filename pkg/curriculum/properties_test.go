package curriculum

import (
	"math/rand/v2"
	"slices"
	"testing"

	"lab/checks"
	"lab/pkg/journal"
)

// every gives each solution of each lab, played.
func every(t *testing.T, fn func(name string, s *sim, sol Solution, rep checks.Report)) {
	t.Helper()
	for _, lab := range labsAndSkeleton(t) {
		for _, step := range lab.Steps {
			if !simulated(step) {
				continue
			}
			for _, sol := range append(append([]Solution{}, step.Accepted...), step.Wrong...) {
				s, rep := play(t, step, sol, 5)
				fn(lab.ID+"/"+step.ID+"/"+sol.Name, s, sol, rep)
			}
		}
	}
}

// TestLatePipe: the control plane's events come through a pipe, so what the
// sampler and the client see of a change may be stored before it. That changes
// no verdict.
func TestLatePipe(t *testing.T) {
	every(t, func(name string, s *sim, _ Solution, rep checks.Report) {
		r := rand.New(rand.NewPCG(1, uint64(len(name))))
		for range 5 {
			got := s.regrade(t, late(s.events, r))
			if got.Verdict != rep.Verdict || !sameDiagnosis(got, rep) {
				t.Errorf("%s: %s, with late events %s\n%s", name, rep.Verdict, got.Verdict, show(got))
				return
			}
		}
	})
}

// late moves events of the control plane behind up to three that watch Envoy or
// the traffic, and keeps the order of each source.
func late(events []journal.Event, r *rand.Rand) []journal.Event {
	out := slices.Clone(events)
	for i := len(out) - 2; i >= 0; i-- {
		if out[i].Source != journal.ControlPlane {
			continue
		}
		for j, n := i, r.IntN(4); n > 0 && j+1 < len(out) && watches(out[j+1].Kind); j, n = j+1, n-1 {
			out[j], out[j+1] = out[j+1], out[j]
		}
	}
	for i := range out {
		out[i].Seq = int64(i + 1)
	}
	return out
}

func watches(k journal.Kind) bool {
	return k == journal.KindStats || k == journal.KindHosts || k == journal.KindProbe
}

func sameDiagnosis(a, b checks.Report) bool {
	if a.Diagnosis == nil || b.Diagnosis == nil {
		return a.Diagnosis == b.Diagnosis
	}
	return a.Diagnosis.ID == b.Diagnosis.ID
}

// regrade grades a journal now.
func (s *sim) regrade(t *testing.T, events []journal.Event) checks.Report {
	t.Helper()
	ev := checks.New()
	m := s.moment()
	for _, e := range events {
		ev.Fold(e)
	}
	m.Evidence = ev
	rep, err := s.step.Grade("en", m)
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

// TestNeverOnTheWay: who watches is graded after each event, and a wrong
// solution passes at none of them.
func TestNeverOnTheWay(t *testing.T) {
	every(t, func(name string, s *sim, sol Solution, _ checks.Report) {
		if sol.Fails == nil {
			return
		}
		ev := checks.New()
		m := s.moment()
		m.Evidence = ev
		opened := slices.IndexFunc(s.events, func(e journal.Event) bool { return e.Seq == s.opened })
		for i, e := range s.events {
			ev.Fold(e)
			if i < opened || i%3 != 0 || watches(e.Kind) && i%9 != 0 { // what came before the step is no part of it
				continue
			}
			m.Now = e.Time
			rep, err := s.step.Grade("en", m)
			if err != nil {
				t.Fatal(err)
			}
			if rep.Verdict == checks.Passed {
				t.Errorf("%s: passes after event %d", name, e.Seq)
				return
			}
		}
	})
}

// TestClockJumps: the control plane's clock stands hours away from the
// session's, as after a laptop slept. The right solutions pass all the same.
func TestClockJumps(t *testing.T) {
	every(t, func(name string, s *sim, sol Solution, rep checks.Report) {
		for _, hours := range []int{-5, 5} {
			events := slices.Clone(s.events)
			for i := range events {
				if events[i].Source == journal.ControlPlane {
					events[i].Time = events[i].Time.Add(hour(hours))
				}
			}
			// a moment for the windows whose beginning cannot be compared
			got := s.regrade(t, append(events, s.idle(8)...))
			if got.Verdict == checks.Passed != (sol.Fails == nil) {
				t.Errorf("%s, %d h: %s, want %s\n%s", name, hours, got.Verdict, rep.Verdict, show(got))
			}
		}
	})
}

// idle is what comes while nobody does anything, for some windows of traffic.
func (s *sim) idle(windows int) []journal.Event {
	n := len(s.events)
	for range windows {
		s.advance(250 * ms)
	}
	more := slices.Clone(s.events[n:])
	s.events = s.events[:n]
	return more
}
