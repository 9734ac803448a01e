package admin

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"time"

	"lab/pkg/journal"
)

// xdsStats are the stats of one subscription that change with the
// conversation. Left out: the hash and the times that only repeat it.
const xdsStats = `(version_text|update_(success|rejected|attempt|failure)|init_fetch_timeout)`

// Filter matches the stats that a sampler reads (Envoy docs,
// configuration/upstream/cluster_manager/cluster_stats and its neighbours).
// None of them changes with each request, so that a quiet Envoy under steady
// traffic fills no journal.
const Filter = `^(` +
	`cluster_manager\.(cds\.` + xdsStats + `|active_clusters|warming_clusters|cluster_(added|modified|removed|updated))` +
	`|listener_manager\.(lds\.` + xdsStats + `|total_listeners_\w+|listener_(create_success|create_failure|added|modified|removed))` +
	`|cluster\..+\.(` + xdsStats + `|membership_\w+|upstream_cx_(connect_fail|connect_timeout|overflow|none_healthy)` +
	`|upstream_rq_(timeout|per_try_timeout|pending_overflow|active_overflow)|lb_healthy_panic|outlier_detection\..+|warming_state)` +
	`|http\..+\.(rds\..+\.` + xdsStats + `|no_cluster|no_route)` +
	`|sds\..+\.` + xdsStats +
	`|control_plane\.\w+` +
	`|server\.(live|state|hot_restart_epoch)` +
	`)$`

// Sampler reads the admin interface of one Envoy process and emits what
// changed: stats.Values and Texts, and the hosts of each Cluster. The first
// sample is full. When the interface stops answering it emits one note
// "admin-silent", and "admin-back" when it answers again.
type Sampler struct {
	Client   *Client
	Sink     journal.Sink
	Pid      int // of the Envoy, for the events
	Epoch    int
	Interval time.Duration // between two samples; 100 ms sees a short ejection
	Now      func() time.Time

	mu     sync.Mutex // held for a whole sample, so that events keep their order
	full   bool       // the full sample was emitted
	silent bool
	values map[string]uint64
	texts  map[string]string
	hosts  map[string][]journal.Host
}

// Run samples until ctx is done.
func (s *Sampler) Run(ctx context.Context) {
	tick := time.NewTicker(s.Interval)
	defer tick.Stop()
	for {
		// An error is in the journal already, as a note.
		_ = s.SampleNow(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// SampleNow takes a sample that begins after the call and returns when its
// events are emitted. It may be called beside Run, from any goroutine.
func (s *Sampler) SampleNow(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	asking, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	err := s.sample(asking)
	if ctx.Err() != nil { // the caller stopped; that tells nothing about Envoy
		return ctx.Err()
	}
	if (err != nil) != s.silent {
		s.silent = err != nil
		s.note(err)
	}
	return err
}

// sample asks for everything before it emits anything: a sample is whole or
// not there.
func (s *Sampler) sample(ctx context.Context) error {
	values, texts, err := s.Client.Stats(ctx, Filter)
	if err != nil {
		return err
	}
	statsAt := s.Now()
	clusters, err := s.Client.Clusters(ctx)
	if err != nil {
		return err
	}
	hostsAt := s.Now()
	s.emitStats(statsAt, values, texts)
	s.emitHosts(hostsAt, clusters)
	return nil
}

func (s *Sampler) emitStats(at time.Time, values map[string]uint64, texts map[string]string) {
	st := &journal.Stats{
		Pid: s.Pid, Epoch: s.Epoch, Full: !s.full,
		Values: changed(s.values, values), Texts: changed(s.texts, texts),
		Gone: append(gone(s.values, values), gone(s.texts, texts)...),
	}
	s.values, s.texts, s.full = values, texts, true
	if st.Full || len(st.Values)+len(st.Texts)+len(st.Gone) > 0 {
		s.Sink.Emit(journal.Event{Time: at, Source: journal.Envoy, Kind: journal.KindStats, Stats: st})
	}
}

func (s *Sampler) emitHosts(at time.Time, clusters []ClusterStatus) {
	now := make(map[string][]journal.Host, len(clusters))
	for _, c := range clusters {
		now[c.Name] = sortedHosts(c.Hosts)
	}
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if old, ok := s.hosts[name]; !ok || !reflect.DeepEqual(old, now[name]) {
			s.emitCluster(at, journal.Hosts{Cluster: name, Hosts: now[name]})
		}
	}
	for _, name := range gone(s.hosts, now) {
		s.emitCluster(at, journal.Hosts{Cluster: name, Gone: true})
	}
	s.hosts = now
}

func (s *Sampler) emitCluster(at time.Time, h journal.Hosts) {
	h.Pid, h.Epoch = s.Pid, s.Epoch
	s.Sink.Emit(journal.Event{Time: at, Source: journal.Envoy, Kind: journal.KindHosts, Hosts: &h})
}

func (s *Sampler) note(err error) {
	n := journal.Note{Code: "admin-back", Args: map[string]string{
		"pid": strconv.Itoa(s.Pid), "epoch": strconv.Itoa(s.Epoch),
	}}
	if err != nil {
		n.Code, n.Args["error"] = "admin-silent", fmt.Sprint(err)
	}
	s.Sink.Emit(journal.Event{Time: s.Now(), Source: journal.Session, Kind: journal.KindNote, Note: &n})
}

// sortedHosts puts the hosts of a Cluster in the order of their addresses,
// since Envoy's own order may change without a change.
func sortedHosts(hosts []Host) []journal.Host {
	out := make([]journal.Host, 0, len(hosts))
	for _, h := range hosts {
		out = append(out, journal.Host{Address: h.Address, Flags: h.Flags})
	}
	slices.SortFunc(out, func(a, b journal.Host) int {
		if a.Address != b.Address {
			if a.Address < b.Address {
				return -1
			}
			return 1
		}
		return slices.Compare(a.Flags, b.Flags)
	})
	return out
}

// changed gives what of now is new or differs from old.
func changed[V comparable](old, now map[string]V) map[string]V {
	diff := map[string]V{}
	for k, v := range now {
		if was, ok := old[k]; !ok || was != v {
			diff[k] = v
		}
	}
	return diff
}

// gone lists the names of old that now lacks, sorted.
func gone[V any](old, now map[string]V) []string {
	var names []string
	for k := range old {
		if _, ok := now[k]; !ok {
			names = append(names, k)
		}
	}
	slices.Sort(names)
	return names
}
