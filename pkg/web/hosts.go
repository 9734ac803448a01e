package web

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"lab/pkg/journal"
)

// hosts is what each Cluster of Envoy balances over, and until when Envoy keeps
// a host out, as far as that can be told from outside.
type hosts struct {
	changed  int64
	serving  int                         // pid of the Envoy whose lists these are
	clusters map[string]map[string]*host // by name, then address
	known    map[string]outlier          // by hash of a Cluster
	current  map[string]outlier          // by name: what Envoy accepted
}

// host is one host of a Cluster.
type host struct {
	cluster, address string
	flags            []string
	ejected          time.Time // zero while it is in
	earliest, latest time.Time // between these Envoy puts it back
	returned         time.Time // when it came back last
	times            int       // the multiplier of the last ejection
}

// outlier is the outlier_detection of a Cluster.
type outlier struct{ interval, base, most time.Duration }

func newHosts() hosts {
	return hosts{clusters: map[string]map[string]*host{}, known: map[string]outlier{}, current: map[string]outlier{}}
}

// begin: a new Envoy has no hosts.
func (h *hosts) begin(seq int64) {
	h.changed = seq
	clear(h.clusters)
	clear(h.current)
}

func (h *hosts) exited(seq int64, pid int) {
	if pid == h.serving {
		h.begin(seq)
	}
}

// learn keeps the settings of Clusters: their bodies stand once in a journal.
func (h *hosts) learn(resources []journal.Resource) {
	for _, r := range resources {
		if r.Type != "CDS" || r.Body == nil {
			continue
		}
		if len(h.known) >= maxOpen {
			clear(h.known)
		}
		if o, ok := outlierOf(r.Body); ok {
			h.known[r.Hash] = o
		}
	}
}

// accept: from now on Envoy has these Clusters.
func (h *hosts) accept(refs []journal.Ref) {
	clear(h.current)
	for _, ref := range refs {
		if o, ok := h.known[ref.Hash]; ok {
			h.current[ref.Name] = o
		}
	}
}

// outlierOf reads the settings with Envoy's defaults (Envoy docs,
// api-v3/config/cluster/v3/outlier_detection.proto).
func outlierOf(body map[string]any) (outlier, bool) {
	raw, ok := body["outlier_detection"].(map[string]any)
	if !ok {
		return outlier{}, false
	}
	o := outlier{interval: 10 * time.Second, base: 30 * time.Second}
	for key, to := range map[string]*time.Duration{"interval": &o.interval, "base_ejection_time": &o.base, "max_ejection_time": &o.most} {
		if s, ok := raw[key].(string); ok {
			if d, err := time.ParseDuration(s); err == nil && d > 0 {
				*to = d
			}
		}
	}
	if o.most == 0 {
		o.most = max(300*time.Second, o.base)
	}
	return o, true
}

// foldHosts takes the list of one Cluster. During a hot restart two Envoys have
// one each; the newer one's counts.
func (m *Model) foldHosts(e journal.Event) {
	h, ev := &m.hosts, e.Hosts
	if m.epochs[ev.Pid] < m.epochs[h.serving] {
		return
	}
	if ev.Pid != h.serving {
		h.serving = ev.Pid
		clear(h.clusters)
	}
	h.changed = e.Seq
	was := h.clusters[ev.Cluster]
	before, known := len(was), was != nil
	delete(h.clusters, ev.Cluster)
	if ev.Gone {
		m.add(e, row{kind: "cluster-gone", lane: envoy, text: short(ev.Cluster)})
		return
	}
	now := map[string]*host{}
	var out, back []string
	for _, x := range ev.Hosts[:min(len(ev.Hosts), maxOpen)] {
		n := was[x.Address]
		if n == nil {
			n = &host{cluster: short(ev.Cluster), address: short(x.Address)}
		}
		n.flags = shorts(x.Flags)
		switch isOut := slices.Contains(x.Flags, "failed_outlier_check"); {
		case isOut && n.ejected.IsZero():
			n.eject(e.Time, h.current[ev.Cluster])
			out = append(out, n.address)
		case !isOut && !n.ejected.IsZero():
			n.ejected, n.returned = time.Time{}, e.Time
			back = append(back, n.address)
		}
		now[x.Address] = n
	}
	h.clusters[ev.Cluster] = now
	if len(out) > 0 {
		m.add(e, row{kind: "ejected", lane: envoy, text: short(ev.Cluster), names: shorts(out)})
	}
	if len(back) > 0 {
		m.add(e, row{kind: "returned", lane: envoy, text: short(ev.Cluster), names: shorts(back)})
	}
	if !known || before != len(now) {
		m.add(e, row{kind: "hosts", lane: envoy, text: short(ev.Cluster), count: len(now), failed: before})
	}
}

// eject estimates when Envoy will put the host back: base_ejection_time times a
// multiplier, then at the next tick of interval, whose phase cannot be seen. The
// multiplier grows by one with each ejection and falls by one with each interval
// in service, about (Envoy docs, intro/arch_overview/upstream/outlier, "Ejection
// algorithm"; docs/page.md).
func (h *host) eject(at time.Time, o outlier) {
	least, most := 1, 1
	if h.times > 0 && o.interval > 0 {
		passed := float64(at.Sub(h.returned)) / float64(o.interval)
		least = max(1, h.times+1-int(math.Ceil(passed)))
		most = max(1, h.times+1-max(0, int(passed)-1))
	}
	h.ejected, h.times = at, most
	if o.base == 0 { // not known: no estimate
		h.earliest, h.latest = time.Time{}, time.Time{}
		return
	}
	h.earliest = at.Add(min(o.base*time.Duration(least), o.most))
	h.latest = at.Add(min(o.base*time.Duration(most), o.most) + o.interval)
}

// list gives the hosts in a fixed order.
func (h *hosts) list() []host {
	var out []host
	for _, cluster := range slices.Sorted(maps.Keys(h.clusters)) {
		for _, x := range h.clusters[cluster] {
			out = append(out, *x)
		}
	}
	slices.SortFunc(out, func(a, b host) int {
		return cmp.Or(cmp.Compare(a.cluster, b.cluster), cmp.Compare(a.address, b.address))
	})
	return out[:min(len(out), maxOpen)]
}
