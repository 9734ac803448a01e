package checks

import (
	"time"

	"lab/pkg/journal"
)

// steady is the name of the requests that count: those of the session, not
// those that a learner sends by hand.
const steady = "steady"

// separate is how many windows behind an event that an expression may count
// from stay as they are: the first may have begun before it, and traffic_later
// counts from up to a second behind it.
const separate = 8

// traffic is the steady requests of a step. What comes behind the separate
// windows is added up, so that a step that stays open for days stays small.
//
// A request is in the window in which it was answered, so a window's from,
// when its first request was sent, tells what it proves; a group's last is
// when its latest request was sent.
type traffic struct {
	windows []window
	fresh   int       // windows since the last mark
	marked  time.Time // the last mark
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
func (t *traffic) mark(at time.Time) { t.fresh, t.marked = 0, at }

func (t *traffic) fold(e journal.Event) {
	p := e.Probe
	if p.Name != steady {
		return
	}
	t.last = p.To
	t.fresh++
	n := len(t.windows)
	if t.fresh <= separate || n == 0 || !t.windows[n-1].from.After(t.marked) || !p.From.After(t.windows[n-1].from) {
		t.windows = append(t.windows, window{first: e.Seq, from: p.From})
	}
	t.windows[len(t.windows)-1].add(e)
}

func (w *window) add(e journal.Event) {
	p := e.Probe
	w.event, w.to = e.Seq, p.To
	w.sent += p.Sent
	for _, g := range p.Groups {
		// A body that was cut keeps its status, and Envoy can answer by itself:
		// only an upstream serves.
		failed := g.Status == 0 || g.Status >= 400 || g.Error != "" || g.Upstream == ""
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

// between sums up the requests sent after one moment and before another, whose
// event is 0 where there is none.
//
// A window that begins before the first moment proves nothing about how many
// were sent after it; but a group of failures whose latest was sent after it
// has at least one. In the window during which the second moment came, a group
// is within when its latest request is. In the windows behind, answers of slow
// requests may come that were sent within: a failure there counts, since the
// slow ones are those that fail.
func (t *traffic) between(from, until moment) Window {
	out := Window{To: map[string]int{}}
	ended := false
	for i := range t.windows {
		w := &t.windows[i]
		if w.event <= from.event && !w.reaches(from.time) {
			continue
		}
		begins := !w.from.After(from.time)
		ends := until.event != 0 && w.event > until.event
		switch {
		case ended:
			if !begins && !w.from.After(until.time) {
				w.partly(&out, func(g group) bool { return g.failed })
			}
		case begins || ends:
			w.partly(&out, func(g group) bool {
				return (!begins || g.last.After(from.time)) && (!ends || !g.last.After(until.time))
			})
		default:
			w.whole(&out)
			out.Lasted = w.to.Sub(from.time)
		}
		ended = ended || ends
	}
	return out
}

// reaches tells whether some request was sent after t. A window may be stored
// before an event of the control plane that came earlier, through a pipe.
func (w *window) reaches(t time.Time) bool {
	for _, g := range w.groups {
		if g.last.After(t) {
			return true
		}
	}
	return false
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
