package checks

import (
	"slices"
	"strconv"

	"lab/pkg/journal"
)

// point is a value from an event on. The first point of a series in a step is
// what the step began with.
type point[V any] struct {
	event int64
	value V
	gone  bool
}

type hostList = point[[]string]

func (ev *Evidence) foldStats(e journal.Event) {
	p := ev.find(e.Stats.Pid, e.Stats.Epoch)
	if p == nil {
		return
	}
	st := ev.state(p)
	st.read = true
	for name, v := range e.Stats.Values {
		st.values[name] = append(st.values[name], point[uint64]{event: e.Seq, value: v})
	}
	for name, v := range e.Stats.Texts {
		st.texts[name] = append(st.texts[name], point[string]{event: e.Seq, value: v})
	}
	for _, name := range e.Stats.Gone {
		if _, ok := st.texts[name]; ok {
			st.texts[name] = append(st.texts[name], point[string]{event: e.Seq, gone: true})
		}
		if _, ok := st.values[name]; ok {
			st.values[name] = append(st.values[name], point[uint64]{event: e.Seq, gone: true})
		}
	}
}

func (ev *Evidence) foldHosts(e journal.Event) {
	p := ev.find(e.Hosts.Pid, e.Hosts.Epoch)
	if p == nil {
		return
	}
	list := hostList{event: e.Seq, gone: e.Hosts.Gone}
	for _, h := range e.Hosts.Hosts {
		list.value = append(list.value, h.Address)
	}
	st := ev.state(p)
	st.hosts[e.Hosts.Cluster] = append(st.hosts[e.Hosts.Cluster], list)
}

// forget keeps the last point of each series, as the next step's beginning.
func (st *envoyState) forget() {
	trim(st.hosts)
	trim(st.values)
	trim(st.texts)
}

func trim[V any](series map[string][]point[V]) {
	for name, pts := range series {
		if last := pts[len(pts)-1]; last.gone {
			delete(series, name)
		} else {
			series[name] = []point[V]{last}
		}
	}
}

// at gives the value of a series at an event, false where it has none there.
func at[V any](pts []point[V], event int64) (v V, ok bool) {
	i, found := slices.BinarySearchFunc(pts, event, func(p point[V], e int64) int {
		switch {
		case p.event < e:
			return -1
		case p.event > e:
			return 1
		}
		return 0
	})
	if !found {
		i--
	}
	if i < 0 || pts[i].gone {
		return v, false
	}
	return pts[i].value, true
}

func decimal(n int) string { return strconv.Itoa(n) }
