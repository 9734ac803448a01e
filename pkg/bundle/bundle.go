// Package bundle is the evidence of a run in one file, and its verdicts again
// without Envoy.
//
// A bundle is gzip over lines: a head, the events of the journal as they are,
// and a seal with their hash and the attempts, each chained to the one before.
// It holds no paths, so unpacking it can write nowhere; what it may hold is
// bounded, so it can neither fill a disk nor a memory.
//
// What the seal is worth: it finds a bundle that was cut, mixed up or changed
// by somebody who did not know how. It is no signature. Who can write a journal
// can seal it, so a hub that must not be deceived looks at more than the seal
// (docs/threat-model.md).
//
// The package is pure but for the reader and writer that it is given.
package bundle

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"

	"lab/checks"
	"lab/pkg/curriculum"
	"lab/pkg/journal"
)

// Format is that of a bundle; a higher one is refused.
const Format = 1

// The bounds of a bundle that is read. An hour of a run has about 2 MB.
const (
	maxBytes  = 1 << 30 // unpacked
	maxEvents = 4_000_000
)

// Head is the first line.
type Head struct {
	Bundle     int    `json:"bundle"` // Format
	Lab        string `json:"lab"`
	Content    string `json:"content"` // of the lab that graded
	Seed       int64  `json:"seed"`
	LabVersion string `json:"lab_version"`
}

// Seal is the last line.
type Seal struct {
	Events   int       `json:"events"`
	SHA256   string    `json:"sha256"` // over head and events, as they stand in the bundle
	Attempts []Attempt `json:"attempts"`
}

// Attempt is one grading, made again from the events.
type Attempt struct {
	Event     int64          `json:"event"` // of the check
	Step      string         `json:"step"`
	Verdict   checks.Verdict `json:"verdict"`
	Diagnosis string         `json:"diagnosis,omitempty"`
	Checks    []Outcome      `json:"checks"`
	// Chain is SHA-256 over the chain before, the events up to this check and
	// this attempt without its chain.
	Chain string `json:"chain"`
}

// Outcome is the verdict of one check, with the events that show it.
type Outcome struct {
	ID      string         `json:"id"`
	Verdict checks.Verdict `json:"verdict"`
	Events  []int64        `json:"events,omitempty"`
}

// grader makes the attempts again while events go by.
type grader struct {
	lab   *curriculum.Lab
	ev    *checks.Evidence
	held  []journal.Event // behind what the next check may have graded
	run   *journal.Run
	chain string
	lines hash.Hash
	out   []Attempt
}

func newGrader(lab *curriculum.Lab) *grader {
	return &grader{lab: lab, ev: checks.New(), lines: sha256.New(), out: []Attempt{}}
}

// maxHeld bounds how far a check may lie behind the last event that it graded:
// what other goroutines wrote meanwhile.
const maxHeld = 10_000

// add takes the next event, with its line. A check graded the evidence through
// an event that may lie a little before it; so folding lags behind.
func (g *grader) add(e journal.Event, line []byte) error {
	g.lines.Write(line)
	if e.Run != nil {
		g.run = e.Run
	}
	if e.Kind == journal.KindCheck {
		if err := g.attempt(e); err != nil {
			return err
		}
	}
	g.held = append(g.held, e)
	if len(g.held) > maxHeld {
		g.foldThrough(g.held[len(g.held)/2].Seq)
	}
	return nil
}

func (g *grader) foldThrough(seq int64) {
	n := 0
	for n < len(g.held) && g.held[n].Seq <= seq {
		g.ev.Fold(g.held[n])
		n++
	}
	g.held = append([]journal.Event(nil), g.held[n:]...)
}

func (g *grader) attempt(e journal.Event) error {
	step, ok := g.lab.Step(e.Check.Step)
	if !ok || g.run == nil {
		return fmt.Errorf("event %d grades step %q, which this lab does not have", e.Seq, e.Check.Step)
	}
	if e.Check.Through >= e.Seq || e.Check.Through < g.ev.Seq() {
		return fmt.Errorf("event %d grades through event %d, out of order", e.Seq, e.Check.Through)
	}
	g.foldThrough(e.Check.Through)
	rep, err := step.Grade("en", curriculum.Moment{Evidence: g.ev, Now: e.Check.At,
		Values: curriculum.Values{Params: g.run.Params, Upstreams: g.run.Upstreams, Command: "lab"}})
	if err != nil {
		return err
	}
	a := Attempt{Event: e.Seq, Step: rep.Step, Verdict: rep.Verdict, Checks: []Outcome{}}
	if rep.Diagnosis != nil {
		a.Diagnosis = rep.Diagnosis.ID
	}
	for _, c := range rep.Checks {
		o := Outcome{ID: c.ID, Verdict: c.Verdict}
		for _, it := range c.Evidence {
			o.Events = append(o.Events, it.Event)
		}
		a.Checks = append(a.Checks, o)
	}
	raw, err := json.Marshal(a)
	if err != nil {
		return err
	}
	h := sha256.New()
	fmt.Fprintf(h, "%s\n%x\n%s\n", g.chain, g.lines.Sum(nil), raw)
	g.chain = hex.EncodeToString(h.Sum(nil))
	a.Chain = g.chain
	g.out = append(g.out, a)
	return nil
}
