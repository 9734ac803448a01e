package checks

import (
	"time"

	"lab/pkg/journal"
)

// slow is the name of requests that take their time on purpose (lab send --slow).
const slow = "slow"

// noteNotCounted says that the access log had more kinds of outcomes at a time
// than are kept apart.
const noteNotCounted = "access-not-counted"

// maxAccess bounds the groups that a step keeps. A step with more of them
// cannot be graded by its access log: what is not kept might contradict.
const maxAccess = 4096

// accessLog is what Envoy's access log said in a step. Groups of steady traffic
// that are alike are added up from the ninth window after a mark on, as the
// windows of the traffic are.
type accessLog struct {
	groups []*Access
	tail   map[accessKey]*Access // the groups of steady traffic that more may be added to
	fresh  int                   // windows since the last mark
	last   time.Time             // end of the last request, of this step or before
	lost   bool                  // some of the step is not kept
}

type accessKey struct {
	path, flags, details, cluster, upstream string
	status, attempts                        int
}

// mark says that an event came from which requests may be counted.
func (a *accessLog) mark() { a.fresh, a.tail = 0, nil }

func (a *accessLog) fold(e journal.Event) {
	if e.Access.To.After(a.last) {
		a.last = e.Access.To
	}
	a.fresh++
	for _, g := range e.Access.Groups {
		if !a.merged(g) {
			a.add(e, g)
		}
	}
}

func (a *accessLog) merged(g journal.AccessGroup) bool {
	have := a.tail[keyOf(g)]
	if g.Probe != steady || have == nil {
		return false
	}
	have.Count += g.Count
	have.MinMS, have.MaxMS = min(have.MinMS, g.MinMS), max(have.MaxMS, g.MaxMS)
	if g.Last.After(have.Last) {
		have.Last = g.Last
	}
	return true
}

func (a *accessLog) add(e journal.Event, g journal.AccessGroup) {
	if len(a.groups) == maxAccess {
		a.lost = true
		return
	}
	one := &Access{Event: e.Seq, Time: e.Time, From: e.Access.From, Last: g.Last, Probe: g.Probe, Path: g.Path,
		Status: g.Status, Flags: g.Flags, Details: g.Details, Cluster: g.Cluster, Upstream: g.Upstream,
		Attempts: g.Attempts, Count: g.Count, MinMS: g.MinMS, MaxMS: g.MaxMS}
	a.groups = append(a.groups, one)
	if g.Probe == steady && a.fresh > separate {
		if a.tail == nil {
			a.tail = map[accessKey]*Access{}
		}
		a.tail[keyOf(g)] = one
	}
}

func keyOf(g journal.AccessGroup) accessKey {
	return accessKey{g.Path, g.Flags, g.Details, g.Cluster, g.Upstream, g.Status, g.Attempts}
}

// foldSlow adds the begin or the end of a slow request: the end has the same
// From.
func (ev *Evidence) foldSlow(e journal.Event) {
	p := e.Probe
	if p.Sent == 0 {
		ev.step.slow = append(ev.step.slow, &SlowRequest{Event: e.Seq, From: p.From})
		return
	}
	for _, r := range ev.step.slow {
		if r.Done || !r.From.Equal(p.From) {
			continue
		}
		r.Done, r.Ended, r.To = true, e.Seq, p.To
		for _, g := range p.Groups {
			r.Status, r.Upstream, r.Error = g.Status, g.Upstream, g.Error
		}
		r.Served = p.Failed == 0
		return
	}
}

// giveUp ends the slow requests of a session that died: it took them along.
func (ev *Evidence) giveUp(e journal.Event) {
	for _, r := range ev.step.slow {
		if !r.Done {
			r.Done, r.Ended, r.To, r.Error = true, e.Seq, e.Time, "stopped"
		}
	}
}
