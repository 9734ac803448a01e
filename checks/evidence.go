package checks

import (
	"time"

	"lab/pkg/journal"
)

// Evidence is what a journal says, folded one event at a time. It keeps the
// state that a step may use as its baseline, and the events of the step that
// is open, in detail. Its size is that of the state and of that step, plus
// every resource content that the journal ever held: a journal has a content
// only once.
//
// It is not safe for concurrent use: the one who folds also evaluates, or
// holds a lock.
type Evidence struct {
	seq int64
	run *journal.Run

	bodies map[string]map[string]any // by hash
	lines  map[string]int            // "type name hash" -> line in the snapshot in force
	loaded string                    // SHA-256 of the file last read
	broken bool                      // that reading was refused
	served string                    // version in force at the control plane
	unread bool                      // the file was saved, and the control plane does not read it

	processes []*Process // alive, or ended in the step
	streams   map[streamKey]*stream
	strangers map[streamKey]bool // streams of others than the run's Envoy
	latest    map[*Process]*envoyState

	step opened
}

// opened is the window of the step that is open.
type opened struct {
	Opening
	snapshots []*Snapshot
	refused   []*Refused
	requests  []*Request
	responses []*Response
	streams   []*Stream
	commands  []*Command
	answers   map[string]answer
	acts      []int64 // events that the learner, or the end of a part, caused
	traffic   traffic
	access    accessLog
	slow      []*SlowRequest
	times     clock
	lost      bool // events of the step are missing: the disk was full
}

type answer struct {
	event int64
	value string
}

// New gives evidence of nothing.
func New() *Evidence {
	return &Evidence{
		bodies: map[string]map[string]any{}, lines: map[string]int{},
		streams: map[streamKey]*stream{}, strangers: map[streamKey]bool{}, latest: map[*Process]*envoyState{},
		step: opened{answers: map[string]answer{}, times: newClock()},
	}
}

// Fold adds the next event of the journal. Events without a payload for their
// kind are skipped: the file may come from anybody.
func (ev *Evidence) Fold(e journal.Event) {
	ev.seq = e.Seq
	switch {
	case e.Kind == journal.KindRun && e.Run != nil:
		ev.run = e.Run
	case e.Kind == journal.KindStep && e.Step != nil:
		ev.foldStep(e)
	case e.Kind == journal.KindSnapshotLoaded && e.Snapshot != nil:
		ev.foldLoaded(e)
	case e.Kind == journal.KindSnapshotRefused && e.Snapshot != nil:
		ev.foldRefused(e)
	case e.Kind == journal.KindStreamOpen && e.Stream != nil:
		ev.foldStream(e)
	case e.Kind == journal.KindRequest && e.Request != nil:
		ev.foldRequest(e)
	case e.Kind == journal.KindResponse && e.Response != nil:
		ev.foldResponse(e)
	case e.Kind == journal.KindProcess && e.Process != nil:
		ev.foldProcess(e)
	case e.Kind == journal.KindStats && e.Stats != nil:
		ev.foldStats(e)
	case e.Kind == journal.KindHosts && e.Hosts != nil:
		ev.foldHosts(e)
	case e.Kind == journal.KindNote && e.Note != nil:
		ev.foldNote(e)
	case e.Kind == journal.KindProbe && e.Probe != nil:
		ev.step.traffic.fold(e)
		if e.Probe.Name == slow {
			ev.foldSlow(e)
		}
	case e.Kind == journal.KindAccess && e.Access != nil:
		ev.step.access.fold(e)
	case e.Kind == journal.KindCommand && e.Command != nil:
		ev.step.commands = append(ev.step.commands, &Command{
			Event: e.Seq, Time: e.Time, Name: e.Command.Name, Args: e.Command.Args})
		ev.act(e)
	case e.Kind == journal.KindAnswer && e.Answer != nil && e.Answer.Step == ev.step.ID:
		ev.step.answers[e.Answer.Question] = answer{e.Seq, e.Answer.Value}
	}
	ev.step.times.fold(e)
	if marksTime(e) {
		ev.step.traffic.mark(e.Time)
		ev.step.access.mark()
	}
}

// Seq is the number of the last event.
func (ev *Evidence) Seq() int64 { return ev.seq }

// Loaded is the SHA-256 of the file that was last read, in force or refused;
// "" before the first reading.
func (ev *Evidence) Loaded() string { return ev.loaded }

// Run is the event that opened the journal, nil before it.
func (ev *Evidence) Run() *journal.Run { return ev.run }

func (ev *Evidence) act(e journal.Event) {
	ev.step.acts = append(ev.step.acts, e.Seq)
}

// foldStep opens a window and forgets the details of the one before.
func (ev *Evidence) foldStep(e journal.Event) {
	if e.Step.State != "opened" {
		return
	}
	last, lastAccess := ev.step.traffic.last, ev.step.access.last
	ev.step = opened{
		Opening: Opening{Event: e.Seq, Time: e.Time, ID: e.Step.ID, Why: e.Step.Why},
		answers: map[string]answer{}, times: newClock(),
	}
	ev.step.traffic.last, ev.step.access.last = last, lastAccess
	alive := ev.processes[:0:0]
	for _, p := range ev.processes {
		if p.Alive {
			alive = append(alive, p)
			continue
		}
		delete(ev.latest, p)
	}
	ev.processes = alive
	for key, s := range ev.streams {
		if !s.Open {
			delete(ev.streams, key)
		}
	}
	for _, st := range ev.latest {
		st.forget()
	}
}

// timeOf gives the time of an event of this step, false for another one.
func (ev *Evidence) timeOf(event int64) (time.Time, bool) {
	if t, ok := ev.step.times.of[event]; ok {
		return t, true
	}
	for _, w := range ev.step.traffic.windows {
		if event == w.first || event == w.event || event == w.failedEvent {
			return w.to, true
		}
	}
	for _, a := range ev.step.access.groups {
		if event == a.Event {
			return a.Time, true
		}
	}
	for _, p := range ev.processes { // a part may be older than the step
		if event == p.Event {
			return p.Time, true
		}
	}
	return time.Time{}, false
}

// marksTime tells whether an expression may take this event as the moment from
// which traffic counts.
func marksTime(e journal.Event) bool {
	switch e.Kind {
	case journal.KindStats, journal.KindHosts, journal.KindNote, journal.KindCheck:
		return false
	}
	return !windowed(e)
}

// windowed tells whether the event sums up requests of a short time: there is
// one several times a second.
func windowed(e journal.Event) bool {
	switch e.Kind {
	case journal.KindHit, journal.KindAccess:
		return true
	case journal.KindProbe:
		return e.Probe == nil || e.Probe.Name != slow
	}
	return false
}
