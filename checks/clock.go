package checks

import (
	"time"

	"lab/pkg/journal"
)

// moment is an event with the time at which it happened, by the session's
// clock.
type moment struct {
	event int64
	time  time.Time
}

// mayDiffer bounds how far the clocks of two processes are taken to be apart.
const mayDiffer = time.Second

// clock keeps the times of a step's events, but for the traffic's own. The
// control plane has a clock of its own, and after a laptop slept the two may
// be hours apart. The order of the journal puts its events between two of the
// session's; a time that is far outside is replaced by that of the later one.
type clock struct {
	of   map[int64]time.Time
	last time.Time // of the session's last event
	open []bounded // control plane events since then
}

type bounded struct {
	event int64
	after time.Time // it is later than this, by the session's clock
}

func newClock() clock { return clock{of: map[int64]time.Time{}} }

func (c *clock) fold(e journal.Event) {
	if e.Source == journal.ControlPlane {
		c.of[e.Seq] = e.Time
		c.open = append(c.open, bounded{e.Seq, c.last})
		return
	}
	for _, b := range c.open {
		t := c.of[b.event]
		if t.After(e.Time.Add(mayDiffer)) || !b.after.IsZero() && t.Before(b.after.Add(-mayDiffer)) {
			c.of[b.event] = e.Time
		}
	}
	c.open = c.open[:0]
	c.last = e.Time
	if !windowed(e) {
		c.of[e.Seq] = e.Time
	}
}
