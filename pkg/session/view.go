package session

import (
	"strings"
	"time"

	"lab/pkg/journal"
	"lab/pkg/report"
)

// trafficWindow is the span of requests that status sums up.
const trafficWindow = 5 * time.Second

// view is what status tells of the conversation, folded from the journal.
type view struct {
	types     map[string]*typeView
	stream    *journal.Stream
	streamAt  time.Time
	texts     map[string]string // text readouts of the Envoy that runs now
	values    map[string]uint64
	hosts     map[string][]journal.Host // by cluster
	loaded    *journal.Snapshot
	refused   *journal.Snapshot
	ended     map[string]journal.Process // parts that are down, by role
	probes    []journal.Probe
	hits      []hitAt
	envoyPid  int
	strangers map[int64]bool               // streams of this control plane that are not the run's Envoy
	warming   map[string]time.Time         // Cluster -> since when
	snapshots map[string]*journal.Snapshot // by version, the last few
}

type typeView struct {
	report.TypeState
	bySent  map[string]journal.Response // nonce -> response, of this stream
	reject  *report.Rejection
	accept  map[string]string // name -> hash, as accepted last
	withhld *journal.Withheld
}

type hitAt struct {
	at time.Time
	journal.Hit
}

func newView() *view {
	return &view{types: map[string]*typeView{}, texts: map[string]string{}, values: map[string]uint64{},
		hosts: map[string][]journal.Host{}, ended: map[string]journal.Process{}, snapshots: map[string]*journal.Snapshot{}, warming: map[string]time.Time{}, strangers: map[int64]bool{}}
}

func (v *view) typ(t string) *typeView {
	tv := v.types[t]
	if tv == nil {
		tv = &typeView{bySent: map[string]journal.Response{}}
		v.types[t] = tv
	}
	return tv
}

func (v *view) fold(e journal.Event) {
	switch e.Kind {
	case journal.KindStreamOpen:
		if e.Stream.Client == journal.Stranger {
			v.strangers[e.Stream.ID] = true
			return
		}
		v.foldStream(e)
	case journal.KindResponse:
		if v.strangers[e.Response.Stream] {
			return
		}
		tv := v.typ(e.Response.Type)
		tv.Sent, tv.withhld = e.Response.Version, nil
		tv.bySent[e.Response.Nonce] = *e.Response
	case journal.KindRequest:
		if !v.strangers[e.Request.Stream] {
			v.foldRequest(*e.Request)
		}
	case journal.KindWithheld:
		if v.strangers[e.Withheld.Stream] {
			return
		}
		v.typ(e.Withheld.Type).withhld = e.Withheld
	case journal.KindSnapshotLoaded:
		v.loaded, v.refused = e.Snapshot, nil
		v.snapshots[e.Snapshot.Version] = e.Snapshot
	case journal.KindSnapshotRefused:
		v.refused = e.Snapshot
	case journal.KindStats:
		v.foldStats(e.Stats, e.Time)
	case journal.KindHosts:
		v.hosts[e.Hosts.Cluster] = e.Hosts.Hosts
	case journal.KindProcess:
		v.foldProcess(*e.Process)
	case journal.KindProbe:
		if e.Probe.Name != "steady" {
			return
		}
		v.probes = append(v.probes, *e.Probe)
		for len(v.probes) > 1 && e.Time.Sub(v.probes[0].To) > trafficWindow {
			v.probes = v.probes[1:]
		}
	case journal.KindHit:
		v.hits = append(v.hits, hitAt{e.Time, *e.Hit})
		for e.Time.Sub(v.hits[0].at) > trafficWindow {
			v.hits = v.hits[1:]
		}
	}
}

// foldStream: nonces mean nothing on another stream.
func (v *view) foldStream(e journal.Event) {
	if e.Stream.State == "closed" && v.stream != nil && (v.stream.ID != e.Stream.ID || v.stream.Pid != e.Stream.Pid) {
		return // an older stream, after a new one opened
	}
	v.stream, v.streamAt = e.Stream, e.Time
	if e.Stream.State == "opened" {
		for _, tv := range v.types {
			tv.bySent = map[string]journal.Response{}
		}
	}
}

func (v *view) foldRequest(r journal.Request) {
	tv := v.typ(r.Type)
	resp, known := tv.bySent[r.Nonce]
	switch {
	case r.Class == journal.Nack && known:
		tv.Nacked = resp.Version
		rej := &report.Rejection{Type: r.Type, Version: resp.Version, Nonce: r.Nonce, InEffect: r.Version}
		if r.Error != nil {
			rej.Error = r.Error.Message
		}
		if snap := v.snapshots[resp.Version]; snap != nil {
			place(rej, snap, tv.accept)
		}
		tv.reject = rej
	case (r.Class == journal.Ack || r.Class == journal.Resubscribe) && known && r.Version == resp.Version:
		tv.Acked, tv.reject = resp.Version, nil
		tv.accept = map[string]string{}
		for _, ref := range resp.Resources {
			tv.accept[ref.Name] = ref.Hash
		}
	}
}

// place names the resource that changed since the accepted version, where it
// is the only one.
func place(rej *report.Rejection, snap *journal.Snapshot, accepted map[string]string) {
	rej.File = snap.File
	var changed []journal.Resource
	for _, r := range snap.Resources {
		if r.Type == rej.Type && accepted[r.Name] != r.Hash {
			changed = append(changed, r)
		}
	}
	if len(changed) == 1 {
		rej.Resource, rej.Line = changed[0].Name, changed[0].Line
	}
}

func (v *view) foldStats(st *journal.Stats, at time.Time) {
	if st.Full || st.Pid != v.envoyPid {
		clear(v.texts)
		clear(v.values)
		v.envoyPid = st.Pid
	}
	for n, x := range st.Values {
		v.values[n] = x
		v.warm(n, x, at)
	}
	for n, x := range st.Texts {
		v.texts[n] = x
	}
	for _, n := range st.Gone {
		v.warm(n, 0, at)
		delete(v.values, n)
		delete(v.texts, n)
	}
}

// warm keeps since when a Cluster warms (Envoy docs,
// configuration/upstream/cluster_manager/cluster_stats, warming_state).
func (v *view) warm(stat string, value uint64, at time.Time) {
	name, is := strings.CutSuffix(stat, ".warming_state")
	name, ofCluster := strings.CutPrefix(name, "cluster.")
	switch {
	case !is || !ofCluster:
	case value == 0:
		delete(v.warming, name)
	case v.warming[name].IsZero():
		v.warming[name] = at
	}
}

// warmingNow lists what warms, and the load assignment that it waits for where
// Envoy has none of that name.
func (v *view) warmingNow(now time.Time) []report.Warming {
	var out []report.Warming
	for _, name := range sorted(v.warming) {
		w := report.Warming{Type: "CDS", Name: name, Seconds: now.Sub(v.warming[name]).Seconds()}
		if eds := v.types["EDS"]; eds == nil || eds.accept[name] == "" {
			w.For = "EDS " + name
		}
		out = append(out, w)
	}
	return out
}

func (v *view) foldProcess(p journal.Process) {
	switch p.State {
	case "started":
		delete(v.ended, p.Role)
		if p.Role == roleControlPlane { // it counts its streams anew
			clear(v.strangers)
		}
		if p.Role == roleEnvoy && p.Epoch == 0 { // a new Envoy starts from scratch
			v.types = map[string]*typeView{}
			clear(v.hosts)
		}
	case "exited":
		v.ended[p.Role] = p
		if p.Role == roleEnvoy {
			clear(v.texts)
			clear(v.values)
			clear(v.hosts)
			clear(v.warming)
		}
	}
}

// inEffect is the version_text of a type; EDS and RDS have one for each
// resource, and where those differ there is no one answer.
func (v *view) inEffect(t string) string {
	switch t {
	case "CDS":
		return v.texts["cluster_manager.cds.version_text"]
	case "LDS":
		return v.texts["listener_manager.lds.version_text"]
	}
	found := map[string]bool{}
	for n, x := range v.texts {
		if !strings.HasSuffix(n, ".version_text") || x == "" { // "": subscribed, nothing came yet
			continue
		}
		switch {
		case t == "EDS" && strings.HasPrefix(n, "cluster."),
			t == "RDS" && strings.HasPrefix(n, "http.") && strings.Contains(n, ".rds."),
			t == "SDS" && strings.HasPrefix(n, "sds."):
			found[x] = true
		}
	}
	return strings.Join(sorted(found), ",")
}
