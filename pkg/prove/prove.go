// Package prove plays the solutions of a lab, right and wrong, as a learner
// would: the real command line, a run of its own for each, the real Envoy. It
// is how a lab's author, and `make test`, know that the right answers pass and
// the wrong ones do not.
//
// For each step these must hold:
//   - every accepted solution passes;
//   - every wrong one gets the verdict that it names, its check is not passed,
//     and the diagnosis is the one that it names;
//   - doing nothing, doing an accepted solution before the step is opened, and
//     doing another step's accepted solution do not pass;
//   - every check is failed by some wrong solution.
//
// A case that cannot be played (a part did not start, a wait ran out) is
// neither: it is counted apart, and the proof fails.
package prove

import (
	"context"
	"fmt"
	"sync"
	"time"

	"lab/checks"
	"lab/pkg/curriculum"
)

// Config is what to prove, and with what.
type Config struct {
	Lab      *curriculum.Lab
	Binary   string // lab itself
	Envoy    string // path or version; "" is the default
	Step     string // "" is every step
	N        int    // times each case is played
	Parallel int    // cases at a time
	Dir      string // folder for the runs, emptied case by case
	Keep     bool   // keep the folders of cases that went wrong
	Seed     int64  // of the first round; each round has its own
	Done     func(Outcome)
}

// The kinds of cases.
const (
	Accepted = "accepted"
	Wrong    = "wrong"
	Nothing  = "nothing" // nothing is done
	Before   = "before"  // an accepted solution, before the step is opened
	Other    = "other"   // an accepted solution of another step
)

// Case is one thing to play.
type Case struct {
	Step *curriculum.Step
	Kind string
	Name string // of the solution, or of the other step
	acts []curriculum.Act
	from *curriculum.Step // whose acts they are
	want *curriculum.Solution
}

// Outcome is how a case went.
type Outcome struct {
	Case   Case
	Round  int
	Report *checks.Report // nil where it was not graded
	Err    error          // why it could not be played
	Bad    string         // what is wrong with the outcome, "" when it is as it must be
	Took   time.Duration
	Dir    string // kept folder
}

// Cases lists what a proof plays.
func Cases(lab *curriculum.Lab, only string) ([]Case, error) {
	var out []Case
	for _, st := range lab.Steps {
		if only != "" && st.ID != only {
			continue
		}
		for i := range st.Accepted {
			s := &st.Accepted[i]
			out = append(out, Case{Step: st, Kind: Accepted, Name: s.Name, acts: s.Acts, from: st, want: s})
		}
		for i := range st.Wrong {
			s := &st.Wrong[i]
			out = append(out, Case{Step: st, Kind: Wrong, Name: s.Name, acts: s.Acts, from: st, want: s})
		}
		out = append(out, Case{Step: st, Kind: Nothing, Name: "-"},
			Case{Step: st, Kind: Before, Name: st.Accepted[0].Name, acts: st.Accepted[0].Acts, from: st})
		for _, other := range lab.Steps {
			if other != st {
				out = append(out, Case{Step: st, Kind: Other, Name: other.ID, acts: other.Accepted[0].Acts, from: other})
			}
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no step %q", only)
	}
	return out, nil
}

// Run plays every case and gives the outcomes in the order of the cases.
func Run(ctx context.Context, c Config) ([]Outcome, error) {
	cases, err := Cases(c.Lab, c.Step)
	if err != nil {
		return nil, err
	}
	out := make([]Outcome, len(cases)*c.N)
	work := make(chan int)
	var wg sync.WaitGroup
	for range c.Parallel {
		wg.Go(func() {
			for i := range work {
				round := i / len(cases)
				out[i] = play(ctx, c, cases[i%len(cases)], round, i)
				c.Done(out[i])
			}
		})
	}
	for i := range out {
		select {
		case work <- i:
		case <-ctx.Done():
		}
	}
	close(work)
	wg.Wait()
	return out, ctx.Err()
}

// judge says what is wrong with a report, or "".
func (c Case) judge(r *checks.Report) string {
	switch c.Kind {
	case Accepted:
		if r.Verdict != checks.Passed {
			return fmt.Sprintf("a right solution is refused: %s, %s", r.Verdict, firstOpen(r))
		}
		return ""
	case Wrong:
		return c.judgeWrong(r)
	}
	if r.Verdict == checks.Passed {
		return "it passes"
	}
	return ""
}

func (c Case) judgeWrong(r *checks.Report) string {
	if r.Verdict == checks.Passed {
		return "a wrong solution passes"
	}
	if r.Verdict != c.want.Verdict {
		return fmt.Sprintf("verdict %q, want %q: %s", r.Verdict, c.want.Verdict, firstOpen(r))
	}
	for _, x := range r.Checks {
		if x.ID == c.want.Fails.Check && x.Verdict == checks.Passed {
			return fmt.Sprintf("check %s passes", x.ID)
		}
	}
	got := ""
	if r.Diagnosis != nil {
		got = r.Diagnosis.ID
	}
	if got != c.want.Fails.Diagnosis {
		return fmt.Sprintf("diagnosis %q, want %q", got, c.want.Fails.Diagnosis)
	}
	return ""
}

// firstOpen names the first check that is not passed, with what was observed.
func firstOpen(r *checks.Report) string {
	for _, x := range r.Checks {
		if x.Verdict != checks.Passed {
			return fmt.Sprintf("%s is %s: %s", x.ID, x.Verdict, x.Observed)
		}
	}
	return ""
}

// Unkilled lists the checks that no wrong solution failed, as "step/check".
func Unkilled(outs []Outcome) []string {
	open := map[string]bool{}
	var order []string
	for _, o := range outs {
		if o.Report == nil || o.Case.Kind != Wrong {
			continue
		}
		for _, x := range o.Report.Checks {
			key := o.Case.Step.ID + "/" + x.ID
			if _, seen := open[key]; !seen {
				open[key] = true
				order = append(order, key)
			}
			if x.Verdict == checks.NotYet && x.ID == o.Case.want.Fails.Check {
				open[key] = false
			}
		}
	}
	var out []string
	for _, k := range order {
		if open[k] {
			out = append(out, k)
		}
	}
	return out
}
