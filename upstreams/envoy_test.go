package upstreams

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lab/envoy"
	"lab/envoy/admin"
	"lab/pkg/child"
)

// bootstrap is an Envoy with one cluster of one host. Requests to /short have
// half a second; the connect timeout is half a second too.
const bootstrap = `
admin: {address: {socket_address: {address: 127.0.0.1, port_value: 0}}}
static_resources:
  listeners:
  - name: main
    address: {socket_address: {address: 127.0.0.1, port_value: 0}}
    filter_chains:
    - filters:
      - name: hcm
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
          stat_prefix: main
          route_config:
            virtual_hosts:
            - name: all
              domains: ["*"]
              routes:
              - {match: {prefix: /short}, route: {cluster: c, timeout: 0.5s}}
              - {match: {prefix: /}, route: {cluster: c, timeout: 60s}}
          http_filters:
          - name: router
            typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}
          access_log:
          - name: file
            typed_config:
              "@type": type.googleapis.com/envoy.extensions.access_loggers.file.v3.FileAccessLog
              path: %s
              log_format:
                json_format: {path: "%%REQ(:PATH)%%", code: "%%RESPONSE_CODE%%", flags: "%%RESPONSE_FLAGS%%",
                  details: "%%RESPONSE_CODE_DETAILS%%", ms: "%%DURATION%%"}
  clusters:
  - name: c
    connect_timeout: 0.5s
    load_assignment:
      cluster_name: c
      endpoints: [{lb_endpoints: [{endpoint: {address: {socket_address: {address: 127.0.0.1, port_value: %s}}}}]}]
`

// logLine is one line of the access log.
type logLine struct {
	Path    string
	Code    int
	Flags   string
	Details string
	MS      int
}

type testEnvoy struct {
	admin  *admin.Client
	base   string // "http://127.0.0.1:41000"
	log    string
	client *http.Client
}

func startEnvoy(t *testing.T, upstreamPort string) *testEnvoy {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	binary, err := envoy.Find(ctx, envoy.Options{Want: os.Getenv("LAB_TEST_ENVOY")})
	if err != nil {
		t.Fatalf("no Envoy to test with: %v", err)
	}
	dir := t.TempDir()
	e := &testEnvoy{log: filepath.Join(dir, "access.log"), client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}
	file := filepath.Join(dir, "bootstrap.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, bootstrap, e.log, upstreamPort), 0o600); err != nil {
		t.Fatal(err)
	}
	id, err := envoy.PickBaseID(rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())))
	if err != nil {
		t.Fatal(err)
	}
	native := &envoy.Native{Binary: binary.Path, Bootstrap: file, BaseID: id, Dir: dir, LogDir: dir, Spawn: child.Start,
		DrainTime: time.Second, ParentShutdown: 2 * time.Second}
	process, err := native.Start(0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		envoy.Stop(process, deadline)
		if err := native.Clean(); err != nil {
			t.Error(err)
		}
	})
	if err := process.WaitReady(ctx); err != nil {
		t.Fatal(err)
	}
	e.admin = admin.New(process.AdminAddr())
	t.Cleanup(e.admin.Close)
	listeners, err := e.admin.Listeners(ctx)
	if err != nil || listeners["main"] == "" {
		t.Fatalf("listeners %v, %v", listeners, err)
	}
	e.base = "http://" + listeners["main"]
	return e
}

// poll waits until ok.
func poll(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	end := time.After(deadline)
	for !ok() {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("waited for %s", what)
		}
	}
}

func (e *testEnvoy) stats(t *testing.T) map[string]uint64 {
	t.Helper()
	values, _, err := e.admin.Stats(t.Context(), `^cluster\.c\.`)
	if err != nil {
		t.Fatal(err)
	}
	return values
}

// send sends one request and gives what Envoy logged about it.
func (e *testEnvoy) send(t *testing.T, path string) (line logLine) {
	t.Helper()
	res, err := e.client.Get(e.base + path)
	if err == nil {
		_, _ = io.Copy(io.Discard, res.Body) // Envoy's flags tell whether it was cut
		res.Body.Close()
	}
	poll(t, "the access log line of "+path, func() bool {
		raw, err := os.ReadFile(e.log)
		if err != nil {
			return false
		}
		for one := range bytes.Lines(raw) {
			if json.Unmarshal(one, &line) == nil && line.Path == path {
				return true
			}
		}
		return false
	})
	return line
}

// TestSwitchWhilePending switches faults under requests that Envoy waits for:
// one that waits for a delay ends by it, unless the upstream goes away, which
// cuts it; and the next request meets the new fault.
func TestSwitchWhilePending(t *testing.T) {
	const before = "upstream_reset_before_response_started"
	u, s := start(t)
	e := startEnvoy(t, fmt.Sprint(u.port.num))
	for i, c := range []struct {
		first, then   string
		pending, next logLine
	}{
		{"delay=300ms", "status=503", logLine{Code: 200, Details: "via_upstream"}, logLine{Code: 503, Details: "via_upstream"}},
		{"slow-headers=300ms", "fin", logLine{Code: 200, Details: "via_upstream"}, logLine{Code: 503, Details: before + "{connection_termination}"}},
		{"hang", "refuse", logLine{Code: 503, Details: before + "{connection_termination}"}, logLine{Code: 503, Details: before + "{remote_connection_failure"}},
		{"hang-body", "black-hole", logLine{Code: 200, Details: "upstream_reset_after_response_started{"}, logLine{Code: 503, Details: before + "{connection_timeout}"}},
	} {
		set(t, u, c.first)
		hits := s.hits(c.first)
		paths := [2]string{fmt.Sprintf("/?pending=%d", i), fmt.Sprintf("/?next=%d", i)}
		pending := make(chan logLine)
		go func() { pending <- e.send(t, paths[0]) }()
		poll(t, "the request to reach the upstream", func() bool { u.Flush(); return s.hits(c.first) == hits+1 })
		set(t, u, c.then)
		if got := <-pending; got.Code != c.pending.Code || !strings.HasPrefix(got.Details, c.pending.Details) {
			t.Errorf("%s, then %s: the pending request ended by %+v", c.first, c.then, got)
		}
		if got := e.send(t, paths[1]); got.Code != c.next.Code || !strings.HasPrefix(got.Details, c.next.Details) {
			t.Errorf("%s, then %s: the next request ended by %+v", c.first, c.then, got)
		}
	}
}

// TestEnvoySeesEachFault switches one upstream through the faults, under one
// Envoy that keeps its connections, and reads what Envoy says of each.
func TestEnvoySeesEachFault(t *testing.T) {
	const before = "upstream_reset_before_response_started"
	u, s := start(t)
	e := startEnvoy(t, fmt.Sprint(u.port.num))
	for i, c := range []struct {
		fault, path string
		want        logLine
		stats       []string // counters of the cluster that go up by one
	}{
		{"ok", "/", logLine{Code: 200, Flags: "-", Details: "via_upstream"}, []string{"upstream_rq_200"}},
		{"status=503", "/", logLine{Code: 503, Flags: "-", Details: "via_upstream"}, []string{"upstream_rq_503"}},
		{"refuse", "/", logLine{Code: 503, Flags: "UF", Details: before + "{remote_connection_failure"}, []string{"upstream_cx_connect_fail"}},
		{"ok", "/", logLine{Code: 200, Flags: "-", Details: "via_upstream"}, []string{"upstream_rq_200"}},
		{"black-hole", "/", logLine{Code: 503, Flags: "UF", Details: before + "{connection_timeout}", MS: 500},
			[]string{"upstream_cx_connect_timeout", "upstream_cx_connect_fail"}},
		{"reset", "/", logLine{Code: 503, Flags: "UC", Details: before + "{connection_termination}"}, []string{"upstream_rq_total"}},
		{"fin", "/", logLine{Code: 503, Flags: "UC", Details: before + "{connection_termination}"}, []string{"upstream_rq_total"}},
		{"garbage", "/", logLine{Code: 502, Flags: "UPE", Details: before + "{protocol_error}"}, []string{"upstream_cx_protocol_error"}},
		{"truncate", "/", logLine{Code: 200, Flags: "UPE", Details: "upstream_reset_after_response_started{protocol_error}"},
			[]string{"upstream_cx_protocol_error"}},
		{"delay=1m0s", "/short", logLine{Code: 504, Flags: "UT", Details: "response_timeout", MS: 500}, []string{"upstream_rq_timeout", "upstream_rq_504"}},
		{"hang", "/short", logLine{Code: 504, Flags: "UT", Details: "response_timeout", MS: 500}, []string{"upstream_rq_timeout"}},
		{"slow-headers=1m0s", "/short", logLine{Code: 504, Flags: "UT", Details: "response_timeout", MS: 500}, []string{"upstream_rq_timeout"}},
		{"hang-body", "/short", logLine{Code: 200, Flags: "UT", Details: "response_timeout", MS: 500}, []string{"upstream_rq_timeout"}},
		{"slow-body=1m0s", "/short", logLine{Code: 200, Flags: "UT", Details: "response_timeout", MS: 500}, []string{"upstream_rq_timeout"}},
		{"flap=10m0s", "/", logLine{Code: 503, Flags: "UF", Details: before + "{remote_connection_failure"}, []string{"upstream_cx_connect_fail"}},
	} {
		set(t, u, c.fault)
		if u.serving == nil {
			poll(t, "Envoy to see that its connections are cut", func() bool { return e.stats(t)["cluster.c.upstream_cx_active"] == 0 })
		}
		old := e.stats(t)
		path := fmt.Sprintf("%s?case=%d", c.path, i)
		got, ms := e.send(t, path), 0
		got.MS, ms = 0, got.MS
		want := c.want
		want.Path, want.MS = path, 0
		if strings.HasPrefix(got.Details, want.Details) { // the text of a system error may follow
			got.Details = want.Details
		}
		if got != want || ms < c.want.MS-10 {
			t.Errorf("%s: Envoy logged %+v after %d ms, want %+v", c.fault, got, ms, c.want)
		}
		for _, name := range c.stats {
			name = "cluster.c." + name
			poll(t, c.fault+" to count in "+name, func() bool { return e.stats(t)[name] == old[name]+1 })
		}
	}
	u.Flush()
	counted := map[string]int{}
	for _, ev := range s.events {
		counted[ev.Hit.Fault] += ev.Hit.Count
	}
	for _, fault := range []string{"refuse", "black-hole", "flap=10m0s"} {
		if counted[fault] != 0 {
			t.Errorf("%d hits under %s", counted[fault], fault)
		}
	}
	if len(counted) != 11 {
		t.Errorf("hits under %d faults, want 11: %v", len(counted), counted)
	}
}
