package report

import (
	"maps"
	"path"
	"slices"
	"strings"

	"lab/pkg/journal"
)

// Story explains events. What an event means depends on those before it: a NACK
// names a nonce, and only the response with that nonce says which version was
// refused. So each event is first explained (or not), and then learned.
type Story struct {
	s     Style
	sent  map[answer]journal.Response
	last  map[subscription]journal.Response
	hosts map[string][]journal.Host // by cluster
	stats map[string]uint64
}

// answer is what a nonce belongs to. Streams are counted by each control plane
// process anew, nonces by each stream.
type answer struct {
	pid    int
	stream int64
	nonce  string
}

type subscription struct {
	pid    int
	stream int64
	typ    string
}

// NewStory begins with nothing known.
func NewStory(s Style) *Story {
	return &Story{s: s, sent: map[answer]journal.Response{}, last: map[subscription]journal.Response{},
		hosts: map[string][]journal.Host{}, stats: map[string]uint64{}}
}

// Learn takes in an event that later ones are explained from.
func (t *Story) Learn(e journal.Event) {
	switch {
	case e.Response != nil:
		r := *e.Response
		t.sent[answer{r.Pid, r.Stream, r.Nonce}] = r
		t.last[subscription{r.Pid, r.Stream, r.Type}] = r
	case e.Stats != nil:
		if e.Stats.Full { // the first sample of a process: nothing of another one holds
			clear(t.stats)
		}
		maps.Copy(t.stats, e.Stats.Values)
	case e.Hosts != nil && e.Hosts.Gone:
		delete(t.hosts, e.Hosts.Cluster)
	case e.Hosts != nil:
		t.hosts[e.Hosts.Cluster] = e.Hosts.Hosts
	}
}

// Sentence explains e, which is not learned yet, in one sentence or two; ""
// where there is nothing to say about it.
func (t *Story) Sentence(e journal.Event) string {
	switch {
	case e.Run != nil:
		return t.s.t("report.say.run", args{"Name": e.Run.Lab, "Envoy": e.Run.EnvoyVersion, "Runtime": e.Run.Runtime, "Seed": e.Run.Seed})
	case e.Stream != nil:
		return t.stream(*e.Stream)
	case e.Request != nil:
		return t.request(*e.Request)
	case e.Response != nil:
		return t.response(*e.Response)
	case e.Withheld != nil:
		w := e.Withheld
		return t.s.t(withheldID(w.Reason), args{"Type": w.Type, "Version": w.Version, "Names": w.Names, "Reason": w.Reason})
	case e.Snapshot != nil:
		return t.snapshot(e.Kind, *e.Snapshot)
	case e.Stats != nil:
		return t.statsChange(*e.Stats)
	case e.Hosts != nil:
		return t.hostsChange(*e.Hosts)
	}
	return t.happening(e)
}

// stream tells who closed it, because that says which side to look at.
func (t *Story) stream(st journal.Stream) string {
	a := args{"Stream": st.ID, "Peer": st.Peer, "Method": st.Method, "Reason": st.Reason}
	switch {
	case st.State == "opened":
		return t.s.t("report.say.stream-opened", a)
	case st.Reason == "client":
		return t.s.t("report.say.stream-closed-by-envoy", a)
	case st.Reason == "server":
		return t.s.t("report.say.stream-closed-by-control-plane", a)
	}
	return t.s.t("report.say.stream-closed", a)
}

// request explains a DiscoveryRequest by its class. Its version is the one that
// Envoy runs, also in a NACK; the version that it is about comes from the nonce
// (Envoy docs, api-docs/xds_protocol, "ACK, NACK and resource type instance version").
func (t *Story) request(r journal.Request) string {
	a := args{"Type": r.Type, "Nonce": r.Nonce, "Version": r.Version, "Names": r.Names, "Node": r.NodeID, "Sent": ""}
	if resp, ok := t.sent[answer{r.Pid, r.Stream, r.Nonce}]; ok {
		a["Sent"] = resp.Version
	}
	switch r.Class {
	case journal.Subscribe:
		return t.s.t("report.say.subscribe", a)
	case journal.Ack:
		return t.s.t("report.say.ack", a)
	case journal.Nack:
		return t.s.t("report.say.nack", a)
	case journal.Resubscribe:
		return t.s.t("report.say.resubscribe", a)
	case journal.Stale:
		return t.s.t("report.say.stale", a)
	}
	return t.s.t("report.say.request", a)
}

// response tells what is in it, and how it differs from the one before of its type.
func (t *Story) response(r journal.Response) string {
	before, again := t.last[subscription{r.Pid, r.Stream, r.Type}]
	names := make([]string, len(r.Resources))
	for i, ref := range r.Resources {
		names[i] = ref.Name
	}
	a := args{"Type": r.Type, "Version": r.Version, "Nonce": r.Nonce, "Count": len(names), "Names": names}
	if again {
		a["Changed"], a["Gone"] = changes(before.Resources, r.Resources)
	} else {
		a["Changed"], a["Gone"] = []string(nil), []string(nil)
	}
	if len(names) == 0 {
		return t.s.t("report.say.response-empty", a)
	}
	return t.s.t("report.say.response", a)
}

// changes names the resources of now that are new or differ, and those of
// before that now lacks.
func changes(before, now []journal.Ref) (changed, gone []string) {
	for _, ref := range now {
		if !slices.Contains(before, ref) {
			changed = append(changed, ref.Name)
		}
	}
	for _, ref := range before {
		if !slices.ContainsFunc(now, func(n journal.Ref) bool { return n.Name == ref.Name }) {
			gone = append(gone, ref.Name)
		}
	}
	return changed, gone
}

// withheldID is the message for a reason; a reason of a later lab gets one that
// names it.
func withheldID(reason string) string {
	switch reason {
	case "names", "not-asked", "no-snapshot", "parked", "warming", "no-ack":
		return "report.withheld." + reason
	}
	return "report.withheld.other"
}

// snapshot tells a reading of the file. What was refused never reached Envoy, and
// the sentence says so: learners take it for a NACK.
func (t *Story) snapshot(kind journal.Kind, sn journal.Snapshot) string {
	counts := map[string]int{}
	for _, r := range sn.Resources {
		counts[r.Type]++
	}
	var parts []string
	for _, typ := range orderedTypes(counts) {
		parts = append(parts, t.s.t("report.say.count-of-type", args{"Type": typ, "N": counts[typ]}))
	}
	a := args{"File": path.Base(sn.File), "Version": sn.Version, "Count": len(sn.Problems), "Parts": parts, "Line": 0, "Explicit": sn.Explicit}
	if len(sn.Problems) > 0 {
		a["Line"] = sn.Problems[0].Line
	}
	switch {
	case kind == journal.KindSnapshotRefused:
		return t.s.t("report.say.snapshot-refused", a)
	case len(sn.Problems) > 0:
		return t.s.t("report.say.snapshot-warned", a)
	}
	return t.s.t("report.say.snapshot-loaded", a)
}

// connected is Envoy's gauge of its stream to the management server (Envoy
// docs, configuration/overview/mgmt_server, "Statistics").
const connected = "control_plane.connected_state"

// notable tells whether a sample holds what a reader should see unasked.
func notable(st *journal.Stats) bool {
	if st.Full {
		return false
	}
	for name := range st.Values {
		if name == connected || strings.HasSuffix(name, ".update_rejected") {
			return true
		}
	}
	return false
}

// statsChange tells the notable values with what they were before.
func (t *Story) statsChange(st journal.Stats) string {
	var out []string
	for _, name := range sorted(st.Values) {
		before, known := t.stats[name]
		a := args{"Name": name, "Before": before, "Value": st.Values[name]}
		switch {
		case st.Full || !known && st.Values[name] == 0: // where it begins, not a change
		case name == connected && st.Values[name] == 0:
			out = append(out, t.s.t("report.say.disconnected", a))
		case name == connected:
			out = append(out, t.s.t("report.say.connected", a))
		default:
			out = append(out, t.s.t("report.say.stat", a))
		}
	}
	const most = 5
	if len(out) > most {
		out = append(out[:most], t.s.t("report.say.stats-more", args{"Count": len(out) - most}))
	}
	return strings.Join(out, "\n")
}
