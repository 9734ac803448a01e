package accesslog

import (
	"cmp"
	"slices"
	"strconv"
	"sync"
	"time"

	"lab/pkg/journal"
)

const (
	// every is the length of a window.
	every = 250 * time.Millisecond
	// maxGroups is how many kinds of outcomes one window tells apart. What comes
	// beyond is counted in a note.
	maxGroups = 256
)

// key is what requests that ended alike have in common.
type key struct {
	probe, path       string
	status            int
	flags, details    string
	cluster, upstream string
	attempts          int
}

// tally sums up entries. Its from is when the first of them began, its to when
// the last ended.
type tally struct {
	count    int // without those that were missed
	missed   int
	from, to time.Time
	groups   map[key]*journal.AccessGroup
}

func (t *tally) add(e entry) {
	g := t.groups[e.key]
	ms := float64(e.duration.Microseconds()) / 1000
	if g == nil {
		if len(t.groups) == maxGroups {
			t.missed++
			return
		}
		if t.groups == nil {
			t.groups = map[key]*journal.AccessGroup{}
		}
		g = &journal.AccessGroup{Probe: e.probe, Path: e.path, Status: e.status, Flags: e.flags, Details: e.details,
			Cluster: e.cluster, Upstream: e.upstream, Attempts: e.attempts, MinMS: ms}
		t.groups[e.key] = g
	}
	if t.count == 0 || e.began.Before(t.from) {
		t.from = e.began
	}
	if end := e.began.Add(e.duration); end.After(t.to) {
		t.to = end
	}
	t.count++
	g.Count++
	if e.began.After(g.Last) {
		g.Last = e.began
	}
	g.MinMS, g.MaxMS = min(g.MinMS, ms), max(g.MaxMS, ms)
}

// list gives the groups in a fixed order.
func (t *tally) list() []journal.AccessGroup {
	out := make([]journal.AccessGroup, 0, len(t.groups))
	for _, g := range t.groups {
		out = append(out, *g)
	}
	slices.SortFunc(out, func(a, b journal.AccessGroup) int {
		return cmp.Or(cmp.Compare(a.Probe, b.Probe), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Status, b.Status),
			cmp.Compare(a.Flags, b.Flags), cmp.Compare(a.Details, b.Details), cmp.Compare(a.Cluster, b.Cluster),
			cmp.Compare(a.Upstream, b.Upstream), cmp.Compare(a.Attempts, b.Attempts))
	})
	return out
}

// window sums up entries for the journal. An entry is in the window in which it
// came, so From may be long before the window began.
type window struct {
	sink journal.Sink
	now  func() time.Time

	mu  sync.Mutex // also held while emitting: events keep their order
	sum tally
}

func (w *window) add(e entry) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sum.add(e)
}

func (w *window) flush() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.sum.count > 0 {
		w.sink.Emit(journal.Event{Time: w.now(), Source: journal.Envoy, Kind: journal.KindAccess, Access: &journal.Access{
			From: w.sum.from, To: w.sum.to, Groups: w.sum.list()}})
	}
	if w.sum.missed > 0 {
		w.sink.Emit(journal.Event{Time: w.now(), Source: journal.Session, Kind: journal.KindNote, Note: &journal.Note{
			Code: "access-not-counted", Args: map[string]string{"count": strconv.Itoa(w.sum.missed)}}})
	}
	w.sum = tally{}
}

// run ends a window after each interval until stop is closed, and then the last.
func (w *window) run(stop <-chan struct{}) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			w.flush()
		case <-stop:
			w.flush()
			return
		}
	}
}
