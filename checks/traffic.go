package checks

import (
	"time"

	"lab/pkg/journal"
)

// traffic is the steady requests of a step. Between two events that an
// expression may count from, windows are added up from the second on, so that
// a step that stays open for days stays small.
type traffic struct {
	windows []window
	fresh   int       // windows since the last mark
	last    time.Time // end of the last window, of this step or before
}

// window is one or more journal.Probe in a row.
type window struct {
	first, event int64 // numbers of its first and last Probe
	from, to     time.Time
	sent         int
	failedEvent  int64
	groups       []group
}

type group struct {
	upstream string
	failed   bool
	count    int
	last     time.Time
}

// mark says that an event came from which traffic may be counted.
func (t *traffic) mark() { t.fresh = 0 }

func (t *traffic) fold(e journal.Event) {
	p := e.Probe
	if p.Name != steady {
		return
	}
	t.last = p.To
	t.fresh++
	if t.fresh <= 2 { // the first may have begun before the mark
		t.windows = append(t.windows, window{first: e.Seq, from: p.From})
	}
	t.windows[len(t.windows)-1].add(e)
}

func (w *window) add(e journal.Event) {
	p := e.Probe
	w.event, w.to = e.Seq, p.To
	w.sent += p.Sent
	for _, g := range p.Groups {
		failed := g.Status == 0 || g.Status >= 500
		if failed && w.failedEvent == 0 {
			w.failedEvent = e.Seq
		}
		w.count(group{g.Upstream, failed, g.Count, g.Last})
	}
}

func (w *window) count(g group) {
	for i := range w.groups {
		have := &w.groups[i]
		if have.upstream == g.upstream && have.failed == g.failed {
			have.count += g.count
			if g.last.After(have.last) {
				have.last = g.last
			}
			return
		}
	}
	w.groups = append(w.groups, g)
}

// between sums up the traffic after one act and before another; the latter's
// event is 0 where there is none.
//
// The order of the journal decides, since clocks of two processes may differ:
// the first window after an act may have begun before it, the second has not.
// In that first window, and in the one during which the later act came, the
// time of a group's last request tells whether some of it is within.
func (t *traffic) between(from, until act) Window {
	out := Window{To: map[string]int{}}
	first := true
	for i := range t.windows {
		w := &t.windows[i]
		if w.event <= from.event {
			continue
		}
		begins := first && (w.farFrom(from.time) || !w.from.After(from.time))
		ends := until.event != 0 && w.event > until.event
		first = false
		if begins || ends {
			w.partly(&out, func(g group) bool {
				return (!begins || g.last.After(from.time) || w.farFrom(from.time)) && (!ends || !g.last.After(until.time))
			})
		} else {
			w.whole(&out)
		}
		if ends {
			break
		}
	}
	return out
}

// farFrom tells that the clocks of two processes differ, so that their times
// cannot be compared.
func (w *window) farFrom(t time.Time) bool {
	return t.Before(w.from.Add(-clocksMayDiffer)) || t.After(w.to.Add(clocksMayDiffer))
}

func (w *window) whole(out *Window) {
	out.Sent += w.sent
	out.Last = w.event
	for _, g := range w.groups {
		out.To[g.upstream] += g.count
		if g.failed {
			out.Failed += g.count
			out.failedAt(w.failedEvent)
		}
	}
}

// partly counts one request of each group that has some within.
func (w *window) partly(out *Window, within func(group) bool) {
	for _, g := range w.groups {
		if !within(g) {
			continue
		}
		out.To[g.upstream]++
		if g.failed {
			out.Failed++
			out.failedAt(w.failedEvent)
		}
	}
}

func (w *Window) failedAt(event int64) {
	if w.FailedEvent == 0 {
		w.FailedEvent = event
	}
}
