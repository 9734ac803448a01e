package web

import (
	"maps"
	"strconv"
	"time"

	"lab/pkg/journal"
)

// bucket is the requests that were done in one second.
type bucket struct {
	second  int64 // Unix time
	changed int64
	groups  map[series]int
	slowest float64 // in milliseconds
}

// series is the requests that are drawn in one colour.
type series struct {
	Upstream string // "": no upstream answered
	Status   string // "200"; the error where there was no answer
	Failed   bool
}

func (b *bucket) copy() bucket {
	c := *b
	c.groups = maps.Clone(b.groups)
	return c
}

// failed is that of journal.ProbeGroup.
func failed(g journal.ProbeGroup) bool {
	return g.Status == 0 || g.Status >= 400 || g.Error != "" || g.Upstream == ""
}

func statusOf(g journal.ProbeGroup) string {
	if g.Status == 0 {
		return short(g.Error)
	}
	return strconv.Itoa(g.Status)
}

// calmAfter is how long no request must fail before a row of failures ends.
const calmAfter = 2 * time.Second

// foldProbe counts requests for the plots and for a row, which grows as long as
// nothing else happens and requests go as they went.
func (m *Model) foldProbe(e journal.Event) {
	p := e.Probe
	m.count(e)
	if p.Sent == 0 {
		return
	}
	r := m.lastRequests(e)
	if p.Failed > 0 {
		r.failedAt = e.Time
	}
	r.changed = e.Seq
	r.count += p.Sent
	r.failed += p.Failed
	for _, g := range p.Groups {
		bounded(r.statuses, statusOf(g), g.Count)
		if g.Upstream != "" {
			bounded(r.upstreams, short(g.Upstream), g.Count)
		}
	}
}

// lastRequests is the row that a probe adds to.
func (m *Model) lastRequests(e journal.Event) *row {
	p := e.Probe
	if n := len(m.rows); n > 0 && m.rows[n-1].text == p.Name {
		switch r := m.rows[n-1]; {
		case r.kind == "requests" && p.Failed == 0, r.kind == "failing" && e.Time.Sub(r.failedAt) < calmAfter:
			return r
		}
	}
	kind := "requests"
	if p.Failed > 0 {
		kind = "failing"
	}
	m.add(e, row{kind: kind, text: short(p.Name), statuses: map[string]int{}, upstreams: map[string]int{}})
	return m.rows[len(m.rows)-1]
}

// count adds a probe to the second in which it ended. A clock that jumps back
// leaves the seconds in their order.
func (m *Model) count(e journal.Event) {
	p := e.Probe
	at := p.To.Unix()
	var b *bucket
	if n := len(m.buckets); n > 0 && m.buckets[n-1].second >= at {
		b = m.buckets[n-1]
	} else {
		b = &bucket{second: at, groups: map[series]int{}}
		if n == maxSeconds {
			m.end = max(m.end, m.buckets[0].changed)
			m.buckets = append(m.buckets[:0:0], m.buckets[1:]...)
		}
		m.buckets = append(m.buckets, b)
	}
	b.changed = e.Seq
	for _, g := range p.Groups {
		bounded(b.groups, series{short(g.Upstream), statusOf(g), failed(g)}, g.Count)
		b.slowest = max(b.slowest, g.MaxMS)
	}
}

// bounded adds to a count; what is one kind too many is left out of the
// picture, and stays in the journal.
func bounded[K comparable](counts map[K]int, key K, n int) {
	if _, known := counts[key]; known || len(counts) < maxGroups {
		counts[key] += n
	}
}
