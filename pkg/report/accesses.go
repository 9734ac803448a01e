package report

import (
	"fmt"
	"slices"
	"strings"

	"lab/pkg/journal"
)

// slow is the name of the probe of lab send --slow: rare, and told like a command.
const slow = "slow"

// accesses sums up windows of Envoy's access log whose requests ended alike.
// Until other kinds of ends come, what was told once is not told again: a host
// that is down for a minute is one line.
type accesses struct {
	held  *journal.Event
	key   string
	again bool // tell what was told
}

// add takes a window if its requests ended like those before it; false asks for
// sum first.
func (a *accesses) add(e journal.Event) bool {
	key := endings(e.Access.Groups)
	if a.key == key {
		if a.held != nil {
			sum := a.held.Access
			sum.To, sum.Groups = e.Access.To, append(sum.Groups, e.Access.Groups...)
		}
		return true
	}
	if a.held != nil {
		return false
	}
	access := *e.Access
	access.Groups = slices.Clone(access.Groups)
	e.Access = &access
	a.held, a.key = &e, key
	return true
}

// sum gives what was added since the last call; false where nothing was.
func (a *accesses) sum() (journal.Event, bool) {
	if a.held == nil {
		return journal.Event{}, false
	}
	e := *a.held
	a.held = nil
	if a.again {
		a.key = ""
	}
	return e, true
}

// endings is the same for windows that may be summed up.
func endings(groups []journal.AccessGroup) string {
	var kinds []string
	for _, g := range groups {
		kinds = append(kinds, ending(g))
	}
	slices.Sort(kinds)
	return strings.Join(slices.Compact(kinds), "\x00")
}

// ending is how requests ended: "503 UF upstream_reset_before_response_started{…}".
func ending(g journal.AccessGroup) string {
	if g.Flags == "" {
		return fmt.Sprintf("%d %s", g.Status, g.Details)
	}
	return fmt.Sprintf("%d %s %s", g.Status, g.Flags, g.Details)
}

// wrong gives the groups of requests that did not end well: Envoy has a flag for
// them, or the status says so.
func wrong(groups []journal.AccessGroup) []journal.AccessGroup {
	return slices.DeleteFunc(slices.Clone(groups), func(g journal.AccessGroup) bool {
		return g.Flags == "" && g.Status >= 200 && g.Status < 500
	})
}

// access tells how Envoy finished requests.
func (t *Story) access(a journal.Access) string {
	counts, n := map[string]int{}, 0
	for _, g := range a.Groups {
		counts[ending(g)] += g.Count
		n += g.Count
	}
	return t.s.t("report.say.access", args{"Count": n, "How": times(counts), "Duration": t.s.duration(a.To.Sub(a.From))})
}

// slow tells the begin or the end of a request of lab send --slow.
func (t *Story) slow(p journal.Probe) string {
	a := args{"Duration": t.s.duration(p.To.Sub(p.From))}
	if p.Sent == 0 {
		return t.s.t("report.say.slow-begun", a)
	}
	for _, g := range p.Groups {
		a["Status"], a["Upstream"], a["Error"] = g.Status, g.Upstream, g.Error
	}
	return t.s.t(pick(p.Failed > 0, "report.say.slow-failed", "report.say.slow-served"), a)
}
