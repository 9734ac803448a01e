package traffic

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"lab/pkg/journal"
)

// every is the length of a window.
const every = 250 * time.Millisecond

// group is what requests that went alike have in common.
type group struct {
	status        int
	upstream, err string
}

// tally sums up requests. Its From is when the first of them was sent, its To
// when the last was done.
type tally struct {
	from, to     time.Time
	sent, failed int
	groups       map[group]*journal.ProbeGroup
}

func (t *tally) add(r result) {
	if t.sent == 0 || r.sent.Before(t.from) {
		t.from = r.sent
	}
	if r.done.After(t.to) {
		t.to = r.done
	}
	t.sent++
	if r.failed() {
		t.failed++
	}
	key := group{r.status, r.upstream, r.err}
	g := t.groups[key]
	if g == nil {
		if t.groups == nil {
			t.groups = map[group]*journal.ProbeGroup{}
		}
		g = &journal.ProbeGroup{Status: r.status, Upstream: r.upstream, Error: r.err}
		t.groups[key] = g
	}
	g.Count++
	if r.sent.After(g.Last) {
		g.Last = r.sent
	}
	g.MaxMS = max(g.MaxMS, float64(r.done.Sub(r.sent).Microseconds())/1000)
}

// list gives the groups in a fixed order.
func (t *tally) list() []journal.ProbeGroup {
	out := make([]journal.ProbeGroup, 0, len(t.groups))
	for _, g := range t.groups {
		out = append(out, *g)
	}
	slices.SortFunc(out, func(a, b journal.ProbeGroup) int {
		return cmp.Or(cmp.Compare(a.Status, b.Status), cmp.Compare(a.Upstream, b.Upstream), cmp.Compare(a.Error, b.Error))
	})
	return out
}

// window sums up requests for the journal. A request is in the window in which
// it was done, so From may be long before the window began, and From is what
// proves that all of a window's requests were sent after something else
// happened; for one group, journal.ProbeGroup.Last is when the latest of its
// requests was sent.
type window struct {
	name string
	sink journal.Sink
	now  func() time.Time

	mu      sync.Mutex // also held while emitting: events keep their order
	sum     tally
	skipped map[string]int // by reason
	early   bool           // a failure has already ended a window before its time
}

// record counts a request. The first failure since the last full window goes to
// the journal at once, so that who watches sees it; what follows waits for the
// window's end, so that a dead Envoy does not fill the journal.
func (w *window) record(r result) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if r.skip != "" {
		w.miss(r.skip)
		return
	}
	w.sum.add(r)
	if r.failed() && !w.early {
		w.early = true
		w.emit()
	}
}

// skip notes a request that was not sent.
func (w *window) skip(reason string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.miss(reason)
}

func (w *window) miss(reason string) {
	if w.skipped == nil {
		w.skipped = map[string]int{}
	}
	w.skipped[reason]++
}

func (w *window) flush() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.early = false
	w.emit()
}

func (w *window) emit() {
	if w.sum.sent > 0 {
		w.sink.Emit(journal.Event{Time: w.now(), Source: journal.Client, Kind: journal.KindProbe, Probe: &journal.Probe{
			Name: w.name, From: w.sum.from, To: w.sum.to, Sent: w.sum.sent, Failed: w.sum.failed, Groups: w.sum.list(),
		}})
	}
	for _, reason := range slices.Sorted(maps.Keys(w.skipped)) {
		w.sink.Emit(journal.Event{Time: w.now(), Source: journal.Client, Kind: journal.KindNote, Note: &journal.Note{
			Code: "probe-not-counted",
			Args: map[string]string{"name": w.name, "reason": reason, "count": strconv.Itoa(w.skipped[reason])},
		}})
	}
	w.sum, w.skipped = tally{}, nil
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
