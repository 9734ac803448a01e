package report

import (
	"fmt"
	"slices"
	"strings"

	"lab/pkg/journal"
)

// probes sums up windows of requests that went alike.
type probes struct {
	held *journal.Event
	key  string
}

// add takes a window if it went like those before it; false asks for sum first.
func (p *probes) add(e journal.Event) bool {
	key := outcome(e.Probe)
	if p.held == nil {
		probe := *e.Probe
		probe.Groups = slices.Clone(e.Probe.Groups)
		e.Probe = &probe
		p.held, p.key = &e, key
		return true
	}
	if key != p.key {
		return false
	}
	sum := p.held.Probe
	sum.Sent += e.Probe.Sent
	sum.Failed += e.Probe.Failed
	sum.To = e.Probe.To
	for _, g := range e.Probe.Groups {
		i := slices.IndexFunc(sum.Groups, func(h journal.ProbeGroup) bool {
			return h.Status == g.Status && h.Upstream == g.Upstream && h.Error == g.Error
		})
		if i < 0 {
			sum.Groups = append(sum.Groups, g)
			continue
		}
		sum.Groups[i].Count += g.Count
		sum.Groups[i].MaxMS = max(sum.Groups[i].MaxMS, g.MaxMS)
		sum.Groups[i].Last = g.Last
	}
	return true
}

// sum gives what was added since the last call; false where nothing was.
func (p *probes) sum() (journal.Event, bool) {
	if p.held == nil {
		return journal.Event{}, false
	}
	e := *p.held
	p.held = nil
	return e, true
}

// outcome is the same for windows that may be summed up: of the same generator,
// with the same kinds of failures.
func outcome(p *journal.Probe) string {
	var kinds []string
	for _, g := range p.Groups {
		if failed(g) {
			kinds = append(kinds, fmt.Sprintf("%d %s", g.Status, g.Error))
		}
	}
	slices.Sort(kinds)
	return p.Name + "\x00" + strings.Join(slices.Compact(kinds), "\x00")
}

// failed is the journal's definition (journal.ProbeGroup).
func failed(g journal.ProbeGroup) bool { return g.Status == 0 || g.Status >= 500 }
