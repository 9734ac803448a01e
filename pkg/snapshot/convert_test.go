package snapshot

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
)

// TestRoundTrip writes every set of the corpus as YAML and reads it again.
func TestRoundTrip(t *testing.T) {
	for _, c := range corpus(t) {
		set, _ := Load("snapshot.yaml", c.yaml)
		if set == nil || len(set.Resources) == 0 {
			continue
		}
		var ms []proto.Message
		for _, r := range set.Resources {
			ms = append(ms, r.Message)
		}
		text, err := responseYAML(set.Version, ms)
		if err != nil {
			t.Fatalf("%s: %v", c.id(), err)
		}
		again, list := Load("snapshot.yaml", text)
		if again == nil {
			t.Errorf("%s: %v\n%s", c.id(), list.Err(), text)
		} else if again.ContentHash() != set.ContentHash() && !strings.HasSuffix(c.name, "two-slashes") {
			changes, err := Diff(set, again)
			t.Errorf("%s: %v, %v\n%s", c.id(), changes, err, text)
		}
	}
}

const whole = `version_info: "3"
resources:
- "@type": type.googleapis.com/envoy.config.cluster.v3.Cluster
  name: orders
  type: EDS
  connect_timeout: 1s
  eds_cluster_config: {service_name: e/1, eds_config: {ads: {}, resource_api_version: V3}}
- "@type": type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment
  cluster_name: e/1
  endpoints: [{lb_endpoints: [{endpoint: {address: {socket_address: {address: 127.0.0.1, port_value: 9}}}}]}]
- "@type": type.googleapis.com/envoy.config.listener.v3.Listener
  name: l
  address: {socket_address: {address: 127.0.0.1, port_value: 0}}
  filter_chains:
  - filters:
    - name: hcm
      typed_config:
        "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
        stat_prefix: "no"
        rds: {route_config_name: r1, config_source: {ads: {}, resource_api_version: V3}}
        http_filters: [{name: router, typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}}]
- "@type": type.googleapis.com/envoy.config.route.v3.RouteConfiguration
  name: r1
  virtual_hosts: [{name: v, domains: ["*"], routes: [{match: {prefix: /}, route: {cluster: orders}}]}]
`

// TestExport gives the files of a set to the real Envoy, which must take all
// of them, and imports what it then has.
func TestExport(t *testing.T) {
	set := load(t, whole)
	e := startAsked(t)
	var names []string
	left, err := set.Export(e.dir, func(name string, text []byte) error {
		names = append(names, name)
		if name == "cds.yaml" || name == "lds.yaml" {
			return nil
		}
		return os.WriteFile(filepath.Join(e.dir, name), text, 0o600)
	})
	if err != nil || len(left) > 0 {
		t.Fatal(left, err)
	}
	slices.Sort(names)
	if fmt.Sprint(names) != "[cds.yaml eds-e_1.yaml lds.yaml rds-r1.yaml]" {
		t.Fatal(names)
	}
	_, err = set.Export(e.dir, func(name string, text []byte) error {
		switch name {
		case "cds.yaml", "lds.yaml":
			if got := e.ask(t, name[:3], text); got != outcomeSuccess {
				t.Errorf("%s: %s\n%s", name, got, text)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var dump string
	e.wait(t, "the route and the endpoints in config_dump", func() bool {
		dump, err = e.get("/config_dump?include_eds")
		return err == nil && strings.Contains(dump, `"e/1"`) && strings.Contains(dump, `"domains"`) && strings.Contains(dump, `"active_state"`)
	})
	text, list := Import("dump.json", []byte(dump))
	if text == nil {
		t.Fatal(list.Err())
	}
	got := load(t, string(text))
	for _, r := range set.Resources {
		if got.Find(r.Type, r.Name) == nil {
			t.Errorf("the import lacks %s %s:\n%s", r.Type, r.Name, text)
		}
	}
	if r := got.Find("RDS", "r1"); r != nil && r.Hash != set.Find("RDS", "r1").Hash {
		t.Errorf("r1 came back otherwise:\n%s", text)
	}
}

func TestImport(t *testing.T) {
	text, list := Import("bootstrap.yaml", []byte(askedBootstrap))
	if text == nil {
		t.Fatal(list.Err())
	}
	set := load(t, string(text))
	if set.Find("CDS", "e1") == nil || set.Find("LDS", "static") == nil || len(set.Resources) != 2 {
		t.Errorf("%s", text)
	}
	for input, code := range map[string]string{
		"":                       "snapshot.import-empty",
		"admin: {}\n":            "snapshot.import-empty",
		"static_resource: {}\n":  "snapshot.unknown-field",
		"configs: [{}]\n":        "snapshot.import-empty",
		"a: [\n":                 "snapshot.syntax-node",
		"admin: \xff\n":          "snapshot.encoding",
		"static_resources: 5\n":  "snapshot.want-mapping",
		"{\"configs\": [5]}\n":   "snapshot.want-mapping",
		"resources: []\n":        "snapshot.unknown-field",
		"static_resources: *x\n": "snapshot.syntax-anchor",
	} {
		text, list := Import("f", []byte(input))
		if text != nil || len(list) == 0 || list[0].Code != code {
			t.Errorf("%q: %v", input, list.Err())
		}
	}
}

func TestDiff(t *testing.T) {
	a := load(t, whole)
	b := load(t, strings.NewReplacer("port_value: 9}", "port_value: 10}", "connect_timeout: 1s", "lb_policy: RANDOM", "name: r1\n", "name: r2\n").Replace(whole))
	changes, err := Diff(a, b)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range changes {
		got = append(got, fmt.Sprintf("%s %s %s %v", c.Type, c.Name, c.Kind, c.Fields))
	}
	want := []string{
		"CDS orders changed [{connect_timeout 1s <nil>} {lb_policy <nil> RANDOM}]",
		"EDS e/1 changed [{endpoints[0].lb_endpoints[0].endpoint.address.socket_address.port_value 9 10}]",
		"RDS r1 removed []",
		"RDS r2 added []",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s", strings.Join(got, "\n"))
	}
	if same, err := Diff(a, a); same != nil || err != nil {
		t.Error(same, err)
	}
}
