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
	talks     map[int]*talk // by pid of the Envoy
	serving   int           // pid of the Envoy that is LIVE, or was last; at a cold start the one that starts
	newest    int           // pid of the one that started last: new streams are its own where the system does not show whose
	owners    map[streamKey]int
	loaded    *journal.Snapshot
	refused   *journal.Snapshot
	ended     map[string]journal.Process // parts that are down, by role
	probes    []journal.Probe
	hits      []hitAt
	snapshots map[string]*journal.Snapshot // by version, the last few
}

// streamKey tells streams apart: each control plane process counts them anew.
type streamKey struct {
	pid int
	id  int64
}

// talk is what one Envoy was told, what it answered, and what its admin
// interface says. During a hot restart there are two.
type talk struct {
	types    map[string]*typeView
	stream   *journal.Stream
	streamAt time.Time
	texts    map[string]string // text readouts
	values   map[string]uint64
	hosts    map[string][]journal.Host // by Cluster
	warming  map[string]time.Time      // Cluster -> since when
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
	return &view{talks: map[int]*talk{}, owners: map[streamKey]int{},
		ended: map[string]journal.Process{}, snapshots: map[string]*journal.Snapshot{}}
}

func newTalk() *talk {
	return &talk{types: map[string]*typeView{}, texts: map[string]string{}, values: map[string]uint64{},
		hosts: map[string][]journal.Host{}, warming: map[string]time.Time{}}
}

// now is the conversation of the Envoy that serves.
func (v *view) now() *talk { return v.talk(v.serving) }

func (v *view) talk(pid int) *talk {
	t := v.talks[pid]
	if t == nil {
		t = newTalk()
		v.talks[pid] = t
	}
	return t
}

// on is the conversation that a stream belongs to; nil for a stranger's.
func (v *view) on(pid int, id int64) *talk {
	owner, known := v.owners[streamKey{pid, id}]
	if owner == journal.Stranger {
		return nil
	}
	if !known { // its opening is lost
		owner = v.newest
	}
	return v.talk(owner)
}

func (t *talk) typ(name string) *typeView {
	tv := t.types[name]
	if tv == nil {
		tv = &typeView{bySent: map[string]journal.Response{}}
		t.types[name] = tv
	}
	return tv
}

func (v *view) fold(e journal.Event) {
	switch e.Kind {
	case journal.KindStreamOpen:
		v.foldStream(e)
	case journal.KindResponse:
		if t := v.on(e.Response.Pid, e.Response.Stream); t != nil {
			tv := t.typ(e.Response.Type)
			tv.Sent, tv.withhld = e.Response.Version, nil
			tv.bySent[e.Response.Nonce] = *e.Response
		}
	case journal.KindRequest:
		if t := v.on(e.Request.Pid, e.Request.Stream); t != nil {
			v.foldRequest(t.typ(e.Request.Type), *e.Request)
		}
	case journal.KindWithheld:
		if t := v.on(e.Withheld.Pid, e.Withheld.Stream); t != nil {
			t.typ(e.Withheld.Type).withhld = e.Withheld
		}
	case journal.KindSnapshotLoaded:
		v.loaded, v.refused = e.Snapshot, nil
		v.snapshots[e.Snapshot.Version] = e.Snapshot
	case journal.KindSnapshotRefused:
		v.refused = e.Snapshot
	case journal.KindStats:
		if t := v.talks[e.Stats.Pid]; t != nil {
			t.foldStats(e.Stats, e.Time)
		}
	case journal.KindHosts:
		if t := v.talks[e.Hosts.Pid]; t != nil {
			t.hosts[e.Hosts.Cluster] = e.Hosts.Hosts
		}
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
	key := streamKey{e.Stream.Pid, e.Stream.ID}
	if e.Stream.State == "closed" {
		t := v.on(key.pid, key.id)
		delete(v.owners, key)
		if t != nil && t.stream != nil && t.stream.ID == key.id && t.stream.Pid == key.pid {
			t.stream, t.streamAt = e.Stream, e.Time // not that of an older stream, after a new one opened
		}
		return
	}
	owner := e.Stream.Client
	if owner == 0 { // the system does not show it
		owner = v.newest
	}
	v.owners[key] = owner
	if owner == journal.Stranger {
		return
	}
	t := v.talk(owner)
	t.stream, t.streamAt = e.Stream, e.Time
	for _, tv := range t.types {
		tv.bySent = map[string]journal.Response{}
	}
}

func (v *view) foldRequest(tv *typeView, r journal.Request) {
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

func (t *talk) foldStats(st *journal.Stats, at time.Time) {
	if st.Full {
		clear(t.texts)
		clear(t.values)
	}
	for n, x := range st.Values {
		t.values[n] = x
		t.warm(n, x, at)
	}
	for n, x := range st.Texts {
		t.texts[n] = x
	}
	for _, n := range st.Gone {
		t.warm(n, 0, at)
		delete(t.values, n)
		delete(t.texts, n)
	}
}

// warm keeps since when a Cluster warms (Envoy docs,
// configuration/upstream/cluster_manager/cluster_stats, warming_state).
func (t *talk) warm(stat string, value uint64, at time.Time) {
	name, is := strings.CutSuffix(stat, ".warming_state")
	name, ofCluster := strings.CutPrefix(name, "cluster.")
	switch {
	case !is || !ofCluster:
	case value == 0:
		delete(t.warming, name)
	case t.warming[name].IsZero():
		t.warming[name] = at
	}
}

// warmingNow lists what warms, and the load assignment that it waits for where
// Envoy has none of that name.
func (t *talk) warmingNow(now time.Time) []report.Warming {
	var out []report.Warming
	for _, name := range sorted(t.warming) {
		w := report.Warming{Type: "CDS", Name: name, Seconds: now.Sub(t.warming[name]).Seconds()}
		if eds := t.types["EDS"]; eds == nil || eds.accept[name] == "" {
			w.For = "EDS " + name
		}
		out = append(out, w)
	}
	return out
}

func (v *view) foldProcess(p journal.Process) {
	switch {
	case p.Role == roleEnvoy && p.State == "started":
		if p.Epoch == 0 { // no older Envoy is left
			clear(v.talks)
			v.serving = p.Pid
			delete(v.ended, p.Role)
		}
		v.talks[p.Pid] = newTalk()
		v.newest = p.Pid
	case p.Role == roleEnvoy && p.State == "ready":
		v.serving = p.Pid
	case p.Role == roleEnvoy && p.State == "exited":
		v.foldEnd(p)
	case p.State == "started":
		delete(v.ended, p.Role)
	case p.State == "exited":
		v.ended[p.Role] = p
	}
}

// foldEnd: an epoch that drained ends, or a new one that failed; or it is the
// one that serves, of which the conversation is kept, to be read.
func (v *view) foldEnd(p journal.Process) {
	if p.Pid != v.serving {
		delete(v.talks, p.Pid)
		v.newest = v.serving
		return
	}
	v.ended[p.Role] = p
	t := v.talk(p.Pid)
	clear(t.texts)
	clear(t.values)
	clear(t.hosts)
	clear(t.warming)
}

// inEffect is the version_text of a type; EDS and RDS have one for each
// resource, and where those differ there is no one answer.
func (t *talk) inEffect(kind string) string {
	switch kind {
	case "CDS":
		return t.texts["cluster_manager.cds.version_text"]
	case "LDS":
		return t.texts["listener_manager.lds.version_text"]
	}
	found := map[string]bool{}
	for n, x := range t.texts {
		if !strings.HasSuffix(n, ".version_text") || x == "" { // "": subscribed, nothing came yet
			continue
		}
		switch {
		case kind == "EDS" && strings.HasPrefix(n, "cluster."),
			kind == "RDS" && strings.HasPrefix(n, "http.") && strings.Contains(n, ".rds."),
			kind == "SDS" && strings.HasPrefix(n, "sds."):
			found[x] = true
		}
	}
	return strings.Join(sorted(found), ",")
}
