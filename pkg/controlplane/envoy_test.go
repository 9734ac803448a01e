package controlplane_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"lab/pkg/journal"
	"lab/pkg/xds/xdstest"
)

var types = []string{"CDS", "EDS", "LDS", "RDS"}

// world is a snapshot file with all four types; the weight is what changes.
func world(port, weight int, timeout string) string {
	return fmt.Sprintf(`resources:
- "@type": type.googleapis.com/envoy.config.cluster.v3.Cluster
  name: a
  connect_timeout: %s
  type: EDS
  eds_cluster_config: {eds_config: {resource_api_version: V3, ads: {}}}
- "@type": type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment
  cluster_name: a
  endpoints:
  - lb_endpoints:
    - endpoint: {address: {socket_address: {address: 127.0.0.1, port_value: 9}}}
      load_balancing_weight: %d
- "@type": type.googleapis.com/envoy.config.listener.v3.Listener
  name: l
  address: {socket_address: {address: 127.0.0.1, port_value: %d}}
  filter_chains:
  - filters:
    - name: envoy.filters.network.http_connection_manager
      typed_config:
        "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
        stat_prefix: in
        rds: {route_config_name: r, config_source: {resource_api_version: V3, ads: {}}}
        http_filters:
        - name: envoy.filters.http.router
          typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}
- "@type": type.googleapis.com/envoy.config.route.v3.RouteConfiguration
  name: r
  virtual_hosts:
  - {name: all, domains: ["*"], routes: [{match: {prefix: /}, route: {cluster: a}}]}
`, timeout, weight, port)
}

func (p *plane) acked(mark int, version string) {
	p.t.Helper()
	for _, typ := range types {
		p.sink.Wait(p.t, mark, "the ACK of "+typ+" "+version, xdstest.Acked(typ, version))
	}
}

// Envoy comes back to a restarted control plane with what it accepted last: no
// nonce, the node on the first request only, and the version of each type.
func TestEnvoyReturnsWithTheVersionItHas(t *testing.T) {
	port := xdstest.FreePort(t)
	p := start(t, world(port, 1, "1s"))
	xdstest.Start(t, p.addr)
	p.acked(0, "41")
	mark := p.save(world(port, 2, "0s"))
	p.sink.Wait(t, mark, "the NACK", xdstest.Request("CDS", journal.Nack))
	for _, typ := range types[1:] {
		p.sink.Wait(t, mark, "the ACK of "+typ, xdstest.Acked(typ, "42"))
	}
	p.stop()
	q := run(t, p.dir, p.addr)
	want := map[string]string{"CDS": "41", "EDS": "42", "LDS": "42", "RDS": "42"}
	for i, typ := range types {
		r := q.sink.Wait(t, 0, "the first request for "+typ, xdstest.Request(typ, journal.Subscribe)).Request
		if r.Version != want[typ] || r.Nonce != "" || r.HasNode != (i == 0) {
			t.Errorf("%s: version %q, nonce %q, node %v", typ, r.Version, r.Nonce, r.HasNode)
		}
	}
	q.sink.Wait(t, 0, "the second NACK", xdstest.Request("CDS", journal.Nack))
	q.acked(q.save(world(port, 3, "1s")), "43")
}

// BenchmarkSaveToACK measures from the begin of a save to the last ACK of its
// four types, through the real Envoy.
func BenchmarkSaveToACK(b *testing.B) {
	port := xdstest.FreePort(b)
	p := start(b, world(port, 1, "1s"))
	xdstest.Start(b, p.addr)
	p.acked(0, "41")
	var all []time.Duration
	for i := range b.N {
		from := time.Now()
		p.acked(p.save(world(port, 2+i%100, "1s")), fmt.Sprint(42+i))
		all = append(all, time.Since(from))
	}
	slices.Sort(all)
	b.ReportMetric(float64(all[len(all)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(all[len(all)*99/100].Microseconds())/1000, "p99-ms")
}
