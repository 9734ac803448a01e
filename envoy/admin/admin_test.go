package admin_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"lab/envoy"
	"lab/envoy/admin"
	"lab/pkg/child"
	"lab/pkg/journal"

	"github.com/google/go-cmp/cmp"
)

// patience is how long a test waits for what takes milliseconds on a quiet
// machine.
const patience = 30 * time.Second

// bootstrap reads its Clusters from a file, so that they can change.
const bootstrap = `{
 "node": {"id": "n", "cluster": "c"},
 "admin": {"address": {"socket_address": {"address": "127.0.0.1", "port_value": 0}}},
 "dynamic_resources": {"cds_config": {"path_config_source": {"path": %q}, "resource_api_version": "V3"}},
 "static_resources": {"listeners": [{"name": "front", "address": {"socket_address": {"address": "127.0.0.1", "port_value": 0}},
  "filter_chains": [{"filters": [{"name": "tcp", "typed_config": {
   "@type": "type.googleapis.com/envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy", "stat_prefix": "tcp", "cluster": "web"}}]}]}]}
}`

func cluster(name string, endpoints ...string) string {
	return fmt.Sprintf(`{"@type": "type.googleapis.com/envoy.config.cluster.v3.Cluster", "name": %q, "type": "STATIC",
 "load_assignment": {"cluster_name": %q, "endpoints": [{"lb_endpoints": [%s]}]}}`, name, name, strings.Join(endpoints, ","))
}

func endpoint(port int, health string) string {
	return fmt.Sprintf(`{"health_status": %q, "endpoint": {"address": {"socket_address": {"address": "127.0.0.1", "port_value": %d}}}}`, health, port)
}

// writeClusters replaces the file in one step, as Envoy's watch needs it.
func writeClusters(t *testing.T, file, version string, clusters ...string) {
	t.Helper()
	text := fmt.Sprintf(`{"version_info": %q, "resources": [%s]}`, version, strings.Join(clusters, ","))
	if err := os.WriteFile(file+".new", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		t.Fatal(err)
	}
}

// startEnvoy runs the real Envoy until the test ends. It gives the file of its
// Clusters.
func startEnvoy(t *testing.T) (envoy.Process, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	b, err := envoy.Find(ctx, envoy.Options{Want: os.Getenv("LAB_TEST_ENVOY")})
	if err != nil {
		t.Fatalf("no Envoy to test with: %v", err)
	}
	dir := t.TempDir()
	clusters := filepath.Join(dir, "cds.json")
	writeClusters(t, clusters, "1", cluster("web", endpoint(41001, "HEALTHY"), endpoint(41002, "UNHEALTHY")))
	file := filepath.Join(dir, "bootstrap.json")
	if err := os.WriteFile(file, fmt.Appendf(nil, bootstrap, clusters), 0o600); err != nil {
		t.Fatal(err)
	}
	id, err := envoy.PickBaseID(rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())))
	if err != nil {
		t.Fatal(err)
	}
	n := &envoy.Native{
		Binary: b.Path, Bootstrap: file, BaseID: id, Dir: dir, LogDir: dir,
		DrainTime: time.Second, ParentShutdown: 2 * time.Second, Spawn: child.Start,
	}
	p, err := n.Start(0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		envoy.Stop(p, 5*time.Second)
		if err := n.Clean(); err != nil {
			t.Error(err)
		}
	})
	ctx, cancel = context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := p.WaitReady(ctx); err != nil {
		t.Fatal(err)
	}
	return p, clusters
}

func TestClientReadsRealEnvoy(t *testing.T) {
	t.Parallel()
	p, _ := startEnvoy(t)
	c := admin.New(p.AdminAddr())
	t.Cleanup(c.Close)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()

	if live, state, err := c.Ready(ctx); !live || state != "LIVE" || err != nil {
		t.Errorf("ready: %v %q %v", live, state, err)
	}
	info, err := c.ServerInfo(ctx)
	if err != nil || info.State != "LIVE" || info.Epoch != 0 || info.BaseID == "" || info.HotRestartVersion == "" ||
		!regexp.MustCompile(`^\d+\.\d+\.\d+$`).MatchString(info.Version) {
		t.Errorf("server info: %+v, %v", info, err)
	}
	values, texts, err := c.Stats(ctx, admin.Filter)
	if err != nil || values["cluster.web.membership_total"] != 2 || values["cluster.web.membership_healthy"] != 1 ||
		texts["cluster_manager.cds.version_text"] != "1" || values["server.live"] != 1 {
		t.Errorf("stats: %v %v %v", values, texts, err)
	}
	clusters, err := c.Clusters(ctx)
	want := []admin.ClusterStatus{{Name: "web", Hosts: []admin.Host{
		{Address: "127.0.0.1:41001"},
		{Address: "127.0.0.1:41002", Flags: []string{"failed_eds_health"}},
	}}}
	if diff := cmp.Diff(want, clusters); diff != "" || err != nil {
		t.Errorf("clusters (-want +got): %s %v", diff, err)
	}
	listeners, err := c.Listeners(ctx)
	if err != nil || !strings.HasPrefix(listeners["front"], "127.0.0.1:") || strings.HasSuffix(listeners["front"], ":0") {
		t.Errorf("listeners: %v, %v", listeners, err)
	}
	dump, err := c.ConfigDump(ctx)
	if err != nil || !strings.Contains(string(dump), "EndpointsConfigDump") {
		t.Errorf("config dump: %.100s, %v", dump, err)
	}
	if _, _, err := c.Stats(ctx, "("); err == nil {
		t.Error("no error for a filter that is no regular expression")
	}
}

func TestClientTakesNumbersExactly(t *testing.T) {
	t.Parallel()
	body := `{"stats":[{"name":"a","value":18446744073709551615},{"name":"b","value":9007199254740993},{"name":"t","value":"x\"y"},{"histograms":{"computed_quantiles":[]}}]}`
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(body)) }))
	t.Cleanup(srv.Close)
	c := admin.New(strings.TrimPrefix(srv.URL, "http://"))
	values, texts, err := c.Stats(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]uint64{"a": 18446744073709551615, "b": 9007199254740993}, values); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]string{"t": `x"y`}, texts); diff != "" {
		t.Error(diff)
	}
	for _, bad := range []string{"", "<html>", `{"stats":[{"name":"a","value":-1}]}`, `{"stats":[{"name":"a","value":{}}]}`, `{"stats":[`} {
		body = bad
		if v, _, err := c.Stats(t.Context(), ""); err == nil {
			t.Errorf("%q gave %v", bad, v)
		}
	}
}

func TestFilter(t *testing.T) {
	t.Parallel()
	re := regexp.MustCompile(admin.Filter)
	for name, want := range map[string]bool{
		"cluster_manager.cds.version_text":                     true,
		"cluster_manager.cds.update_rejected":                  true,
		"cluster_manager.cds.init_fetch_timeout":               true,
		"cluster_manager.warming_clusters":                     true,
		"cluster_manager.cluster_modified":                     true,
		"listener_manager.lds.update_success":                  true,
		"listener_manager.total_listeners_warming":             true,
		"listener_manager.listener_create_failure":             true,
		"cluster.web.version_text":                             true,
		"cluster.a.b.membership_healthy":                       true,
		"cluster.web.upstream_cx_connect_fail":                 true,
		"cluster.web.upstream_rq_per_try_timeout":              true,
		"cluster.web.outlier_detection.ejections_active":       true,
		"cluster.web.lb_healthy_panic":                         true,
		"http.ingress.rds.r1.version_text":                     true,
		"http.ingress.no_cluster":                              true,
		"sds.cert.version_text":                                true,
		"control_plane.connected_state":                        true,
		"control_plane.identifier":                             true,
		"server.hot_restart_epoch":                             true,
		"cluster_manager.cds.version":                          false,
		"cluster_manager.cds.update_time":                      false,
		"listener_manager.lds.update_duration":                 false,
		"cluster.web.upstream_rq_total":                        false,
		"cluster.web.upstream_rq_active":                       false,
		"cluster.web.upstream_cx_total":                        false,
		"http.ingress.downstream_rq_total":                     false,
		"http.ingress.rds.r1.version":                          false,
		"server.uptime":                                        false,
		"server.memory_allocated":                              false,
		"listener.127.0.0.1_1.http.ingress.downstream_rq_2xx":  false,
		"listener_manager.worker_0.dispatcher.loop_duration_u": false,
	} {
		if re.MatchString(name) != want {
			t.Errorf("%s: %v, want %v", name, !want, want)
		}
	}
}

// events collects what a sampler emits.
type events struct {
	ch    chan journal.Event
	other []journal.Event // taken from ch while another was waited for
}

func (e *events) Emit(ev journal.Event) { e.ch <- ev }

// next gives the next event that matches, whatever stands between.
func (e *events) next(t *testing.T, what string, match func(journal.Event) bool) journal.Event {
	t.Helper()
	if i := slices.IndexFunc(e.other, match); i >= 0 {
		ev := e.other[i]
		e.other = slices.Delete(e.other, i, i+1)
		return ev
	}
	deadline := time.After(patience)
	for {
		select {
		case ev := <-e.ch:
			if match(ev) {
				return ev
			}
			e.other = append(e.other, ev)
		case <-deadline:
			t.Fatalf("no event in %s: %s", patience, what)
		}
	}
}

func note(code string) func(journal.Event) bool {
	return func(e journal.Event) bool { return e.Kind == journal.KindNote && e.Note.Code == code }
}

func hosts(cluster string) func(journal.Event) bool {
	return func(e journal.Event) bool { return e.Kind == journal.KindHosts && e.Hosts.Cluster == cluster }
}

func TestSampler(t *testing.T) {
	t.Parallel()
	p, file := startEnvoy(t)
	got := &events{ch: make(chan journal.Event, 1000)}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	s := &admin.Sampler{
		Client: admin.New(p.AdminAddr()), Sink: got, Pid: p.Pid(), Epoch: p.Epoch(),
		Interval: 20 * time.Millisecond, Now: func() time.Time { return at },
	}
	t.Cleanup(s.Client.Close)

	if err := s.SampleNow(t.Context()); err != nil {
		t.Fatal(err)
	}
	first := <-got.ch
	if st := first.Stats; st == nil || !st.Full || st.Pid != p.Pid() || st.Values["cluster.web.membership_total"] != 2 ||
		st.Texts["cluster_manager.cds.version_text"] != "1" || !first.Time.Equal(at) || first.Source != journal.Envoy {
		t.Fatalf("first: %+v %+v", first, first.Stats)
	}
	h := (<-got.ch).Hosts
	want := &journal.Hosts{Pid: p.Pid(), Cluster: "web", Hosts: []journal.Host{
		{Address: "127.0.0.1:41001"}, {Address: "127.0.0.1:41002", Flags: []string{"failed_eds_health"}},
	}}
	if diff := cmp.Diff(want, h); diff != "" {
		t.Errorf("hosts (-want +got): %s", diff)
	}
	if err := s.SampleNow(t.Context()); err != nil || len(got.ch) != 0 {
		t.Fatalf("nothing changed, but %d events, %v", len(got.ch), err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan struct{})
	go func() { s.Run(ctx); close(stopped) }()
	t.Cleanup(func() { cancel(); <-stopped })

	writeClusters(t, file, "2", cluster("web", endpoint(41001, "HEALTHY")), cluster("extra"))
	changed := got.next(t, "CDS version 2", func(e journal.Event) bool {
		return e.Kind == journal.KindStats && e.Stats.Texts["cluster_manager.cds.version_text"] == "2"
	})
	if changed.Stats.Full || changed.Stats.Values["server.live"] != 0 {
		t.Errorf("more than the changes: %+v", changed.Stats)
	}
	got.next(t, "one host of web", func(e journal.Event) bool { return hosts("web")(e) && len(e.Hosts.Hosts) == 1 })

	writeClusters(t, file, "3", cluster("web", endpoint(41001, "HEALTHY")))
	got.next(t, "a stat of extra is gone", func(e journal.Event) bool {
		return e.Kind == journal.KindStats && strings.Contains(strings.Join(e.Stats.Gone, " "), "cluster.extra.")
	})
	got.next(t, "extra is gone", func(e journal.Event) bool { return hosts("extra")(e) && e.Hosts.Gone })

	if err := p.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	e := got.next(t, "the admin interface fell silent", note("admin-silent"))
	if e.Note.Args["error"] == "" || e.Note.Args["pid"] == "" || e.Source != journal.Session {
		t.Errorf("%+v", e.Note)
	}
	if err := p.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	got.next(t, "the admin interface is back", note("admin-back"))

	envoy.Stop(p, 5*time.Second)
	got.next(t, "the admin interface fell silent at the end", note("admin-silent"))
	if err := s.SampleNow(t.Context()); err == nil {
		t.Error("no error from a sample of an Envoy that has ended")
	}
	cancel()
	<-stopped
	close(got.ch)
	for e := range got.ch {
		got.other = append(got.other, e)
	}
	for _, e := range got.other {
		if e.Kind == journal.KindNote || e.Kind == journal.KindStats && e.Stats.Full {
			t.Errorf("one event too many: %+v %+v %+v", e, e.Note, e.Stats)
		}
	}
}
