package upstreams

import (
	"sync"
	"time"

	"lab/pkg/journal"
)

// hitWindow is how long requests are summed up before the journal hears of
// them: 4 lines a second at most, and soon enough for somebody who watches.
const hitWindow = 250 * time.Millisecond

// hits sums up the requests that reached an upstream.
type hits struct {
	name string
	sink journal.Sink
	now  func() time.Time

	mu      sync.Mutex // also held while emitting: events keep their order
	pending journal.Hit
}

// add counts a request, which found the upstream under this fault.
func (h *hits) add(fault string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.pending.Fault != fault {
		h.emit()
	}
	h.pending = journal.Hit{Upstream: h.name, Fault: fault, Count: h.pending.Count + 1, Last: h.now()}
}

// flush tells the journal now what is pending.
func (h *hits) flush() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.emit()
}

func (h *hits) emit() {
	if h.pending.Count == 0 {
		return
	}
	hit := h.pending
	h.pending = journal.Hit{}
	h.sink.Emit(journal.Event{Time: h.now(), Source: journal.Upstream, Kind: journal.KindHit, Hit: &hit})
}

// run emits at the end of each window until stop is closed.
func (h *hits) run(stop <-chan struct{}) {
	tick := time.NewTicker(hitWindow)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			h.flush()
		case <-stop:
			h.flush()
			return
		}
	}
}
