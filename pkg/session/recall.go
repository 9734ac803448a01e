package session

import (
	"slices"

	"lab/pkg/journal"
)

// recallRest bounds the events kept beside the conversation.
const recallRest = 1000

// recall keeps the events that a verdict may cite, so that their sentences can
// be told without reading the journal: the conversation since the stream that
// the current step began with, and the last of everything else.
type recall struct {
	talk []journal.Event
	rest []journal.Event
}

func (r *recall) fold(e journal.Event) {
	switch e.Kind {
	case journal.KindHit:
		return
	case journal.KindStats, journal.KindHosts, journal.KindProbe, journal.KindAccess, journal.KindNote, journal.KindCheck:
		if len(r.rest) >= 2*recallRest {
			r.rest = slices.Delete(r.rest, 0, recallRest)
		}
		r.rest = append(r.rest, e)
		return
	case journal.KindStep:
		if e.Step.State == "opened" {
			r.forget()
		}
	}
	r.talk = append(r.talk, e)
}

// forget drops what was said before the last two streams opened: with a cold
// start in between, a step may still cite the one before.
func (r *recall) forget() {
	streams := 0
	for i, e := range slices.Backward(r.talk) {
		if e.Kind == journal.KindStreamOpen && e.Stream.State == "opened" {
			streams++
		}
		if streams == 2 {
			r.talk = slices.Delete(r.talk, 0, i)
			return
		}
	}
}

// events are those that are kept, in order.
func (r *recall) events() []journal.Event {
	all := slices.Concat(r.talk, r.rest)
	slices.SortFunc(all, func(a, b journal.Event) int { return int(a.Seq - b.Seq) })
	return all
}
