package report

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"lab/pkg/journal"
)

// sorted gives the keys in order, so that a report of a map is always the same.
func sorted[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

// hostsChange compares a host list with the one before it.
func (t *Story) hostsChange(h journal.Hosts) string {
	before, known := t.hosts[h.Cluster]
	a := args{"Cluster": h.Cluster, "Before": len(before), "Count": len(h.Hosts)}
	if h.Gone {
		return t.s.t("report.say.cluster-gone", a)
	}
	was, is := flags(before), flags(h.Hosts)
	if !known {
		a["Names"] = sorted(is)
		return t.s.t("report.say.hosts-first", a)
	}
	var added, gone, out []string
	for _, addr := range sorted(is) {
		old, there := was[addr]
		if !there {
			added = append(added, addr)
		} else if old != is[addr] {
			out = append(out, t.s.t(pick(is[addr] == "", "report.say.host-healthy", "report.say.host-flags"),
				args{"Cluster": h.Cluster, "Address": addr, "Flags": is[addr]}))
		}
	}
	for _, addr := range sorted(was) {
		if _, there := is[addr]; !there {
			gone = append(gone, addr)
		}
	}
	if len(added)+len(gone) > 0 {
		a["Added"], a["Gone"] = added, gone
		out = append([]string{t.s.t("report.say.hosts", a)}, out...)
	}
	return strings.Join(out, "\n")
}

// flags are the health flags of each address; "" means healthy.
func flags(hosts []journal.Host) map[string]string {
	m := map[string]string{}
	for _, h := range hosts {
		m[h.Address] = strings.Join(h.Flags, ", ")
	}
	return m
}

// happening explains what is not part of the conversation.
func (t *Story) happening(e journal.Event) string {
	switch {
	case e.Process != nil:
		return t.process(*e.Process)
	case e.Probe != nil && e.Probe.Name == slow:
		return t.slow(*e.Probe)
	case e.Probe != nil:
		return t.probe(*e.Probe)
	case e.Access != nil:
		return t.access(*e.Access)
	case e.Hit != nil:
		h := e.Hit
		return t.s.t("report.say.hit", args{"Name": h.Upstream, "Count": h.Count, "Fault": h.Fault})
	case e.Command != nil:
		line := e.Command.Name
		for _, k := range sorted(e.Command.Args) {
			line += " " + k + "=" + e.Command.Args[k]
		}
		return t.s.t("report.say.command", args{"Command": line})
	case e.Step != nil:
		return t.step(*e.Step)
	case e.Answer != nil:
		an := e.Answer
		id := pick(an.Prediction, "report.say.prediction", "report.say.answer")
		return t.s.t(id, args{"Question": an.Question, "Value": an.Value})
	case e.Check != nil:
		return t.s.t("report.say.check", args{"Step": e.Check.Step, "Verdict": t.s.verdict(e.Check.Verdict)})
	case e.Note != nil:
		return t.note(*e.Note)
	}
	return ""
}

// process tells how a part began or ended. Who ended it is said: a part that lab
// stopped is no accident.
func (t *Story) process(p journal.Process) string {
	a := args{"Pid": p.Pid, "Epoch": p.Epoch, "Exit": p.Exit, "Signal": p.Signal, "By": p.By, "Part": t.part(p.Role), "Envoy": p.Role == "envoy"}
	switch p.State {
	case "started":
		return t.s.t("report.say.started", a)
	case "ready":
		return t.s.t("report.say.ready", a)
	case "exited":
		return t.s.t("report.say.exited", a)
	case "lost":
		return t.s.t("report.say.lost", a)
	}
	a["State"] = p.State
	return t.s.t("report.say.process", a)
}

// part is a role at the start of a sentence.
func (t *Story) part(role string) string {
	switch role {
	case "envoy", "control-plane", "session", "upstream":
		return t.s.t("report.say.part."+role, nil)
	}
	return role
}

// step tells a move in the lab.
func (t *Story) step(st journal.Step) string {
	a := args{"Step": st.ID, "Rung": st.Rung}
	switch st.State {
	case "opened", "passed", "skipped", "shown", "hint":
		return t.s.t("report.say.step-"+st.State, a)
	}
	a["State"] = st.State
	return t.s.t("report.say.step", a)
}

// note explains a note whose code it knows, and shows the others as they are.
func (t *Story) note(n journal.Note) string {
	a := args{"Code": n.Code}
	var list []string
	for _, k := range sorted(n.Args) {
		a[k] = n.Args[k]
		if k == "file" {
			a[k] = path.Base(n.Args[k])
		}
		list = append(list, k+"="+n.Args[k])
	}
	if id := "report.note." + n.Code; t.s.Words.Has(id) {
		return t.s.t(id, a)
	}
	a["List"] = list
	return t.s.t("report.note.other", a)
}

// probe sums up requests: how many, how long, and how the failed ones failed.
func (t *Story) probe(p journal.Probe) string {
	a := args{"Count": p.Sent, "Failed": p.Failed, "Duration": t.s.duration(p.To.Sub(p.From)), "Name": p.Name}
	if p.Sent == 0 {
		return t.s.t("report.say.probe-none", a)
	}
	counts, ups := map[string]int{}, map[string]int{}
	for _, g := range p.Groups {
		how := fmt.Sprint(g.Status)
		if g.Status == 0 {
			how = t.s.t("report.say.no-answer", args{"Error": g.Error})
		}
		if failed(g) || p.Failed == 0 {
			counts[how] += g.Count
		}
		if g.Upstream != "" {
			ups[g.Upstream] += g.Count
		}
	}
	a["How"], a["Upstreams"] = times(counts), times(ups)
	if p.Failed > 0 {
		return t.s.t("report.say.probe-failed", a)
	}
	return t.s.t("report.say.probe-ok", a)
}

// times lists counts: 200 ×14.
func times(counts map[string]int) []string {
	var out []string
	for _, k := range sorted(counts) {
		out = append(out, fmt.Sprintf("%s ×%d", k, counts[k]))
	}
	return out
}
