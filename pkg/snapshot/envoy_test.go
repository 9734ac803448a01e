package snapshot

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/anypb"

	"lab/envoy"
)

// A file means here what it means to Envoy: the cases of the corpus are given
// to the real one, as files of its file-based discovery, with unknown fields
// refused (a binary xDS answer can't carry any). The outcome is kept in the
// corpus, and asked anew in each run.
const (
	outcomeSuccess  = "success"
	outcomeRejected = "rejected" // read, and not liked
	outcomeFailure  = "failure"  // not read
)

func TestAgreesWithEnvoy(t *testing.T) {
	all := corpus(t)
	e := startAsked(t)
	asked := 0
	for i, c := range all {
		if c.topic == "mixed" { // several types in one file, or a crash of Envoy
			continue
		}
		asked++
		outcome := e.ask(t, kindOf(c), c.yaml)
		if *update {
			all[i].envoy = outcome
			continue
		}
		if outcome != c.envoy {
			t.Errorf("%s: Envoy says %s, the corpus has %s", c.id(), outcome, c.envoy)
		}
		set, list := Load("snapshot.yaml", c.yaml)
		accepted := len(list.Errors()) == 0
		if accepted && outcome == outcomeSuccess && kindOf(c) == "cds" {
			e.compare(t, c.id(), set)
		}
		// "judged" cases are valid messages that Envoy does not like: they go
		// out and get a NACK. Unknown names count as rejected too.
		judged := strings.HasPrefix(c.name, "judged-")
		switch {
		case judged && !(accepted && outcome == outcomeRejected),
			!judged && accepted && outcome != outcomeSuccess,
			!accepted && outcome == outcomeSuccess && c.why == "":
			t.Errorf("%s: Load accepts: %v, Envoy: %s", c.id(), accepted, outcome)
		case c.why != "" && accepted:
			t.Errorf("%s: there is no refusal to explain: %s", c.id(), c.why)
		}
	}
	if *update {
		store(t, all)
	}
	if asked < 80 {
		t.Errorf("only %d cases were asked", asked)
	}
	t.Logf("%d cases asked", asked)
}

// kindOf tells which of Envoy's files a case belongs into.
func kindOf(c corpusCase) string {
	for typ, kind := range map[string]string{"listener.v3.Listener": "lds", "RouteConfiguration": "rds", "ClusterLoadAssignment": "eds"} {
		if strings.Contains(string(c.yaml), typ) {
			return kind
		}
	}
	return "cds"
}

// asked is an Envoy that reads its four files, and whose counters tell what it
// thought of the last one.
type asked struct {
	dir, admin string
	client     *http.Client
}

var statOf = map[string]string{
	"cds": "cluster_manager.cds.", "lds": "listener_manager.lds.", "rds": "http.static.rds.r1.", "eds": "cluster.e1.",
}

func startAsked(t *testing.T) *asked {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	b, err := envoy.Find(ctx, envoy.Options{Want: os.Getenv("LAB_TEST_ENVOY")})
	if err != nil {
		t.Fatalf("no Envoy: %v", err)
	}
	e := &asked{dir: t.TempDir(), client: &http.Client{Timeout: 10 * time.Second}}
	for _, kind := range []string{"cds", "lds", "rds", "eds"} {
		e.write(t, kind, []byte("resources: []\n"))
	}
	config := filepath.Join(e.dir, "bootstrap.yaml")
	if err := os.WriteFile(config, []byte(strings.ReplaceAll(askedBootstrap, "DIR", e.dir)), 0o600); err != nil {
		t.Fatal(err)
	}
	address := filepath.Join(e.dir, "admin")
	log, err := os.Create(filepath.Join(e.dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd := exec.CommandContext(ctx, b.Path, "-c", config, "--use-dynamic-base-id", "--concurrency", "1",
		"--reject-unknown-dynamic-fields", "--admin-address-path", address, "--log-level", "warn")
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cancel(); _ = cmd.Wait() })
	e.wait(t, "Envoy to be LIVE", func() bool {
		raw, err := os.ReadFile(address)
		if err != nil || len(raw) == 0 {
			return false
		}
		e.admin = "http://" + strings.TrimSpace(string(raw))
		body, err := e.get("/ready")
		return err == nil && strings.TrimSpace(body) == "LIVE"
	})
	return e
}

// wait polls until done, or fails and says what it waited for.
func (e *asked) wait(t *testing.T, what string, done func() bool) {
	t.Helper()
	deadline := time.After(60 * time.Second)
	for !done() {
		select {
		case <-deadline:
			log, _ := os.ReadFile(filepath.Join(e.dir, "log"))
			t.Fatalf("waited 60 s for %s; Envoy's log:\n%s", what, log[max(0, len(log)-4000):])
		case <-time.After(2 * time.Millisecond):
		}
	}
}

func (e *asked) get(path string) (string, error) {
	res, err := e.client.Get(e.admin + path)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	return string(raw), err
}

// write moves a new file into place, which is what Envoy watches for.
func (e *asked) write(t *testing.T, kind string, text []byte) {
	t.Helper()
	path := filepath.Join(e.dir, kind, "file.yaml")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(e.dir, "next"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(e.dir, "next"), path); err != nil {
		t.Fatal(err)
	}
}

func (e *asked) counters(t *testing.T, kind string) map[string]int {
	t.Helper()
	body, err := e.get("/stats?format=json&type=Counters&filter=" + strings.ReplaceAll(statOf[kind], ".", `\.`) + "update_")
	if err != nil {
		log, _ := os.ReadFile(filepath.Join(e.dir, "log"))
		t.Fatalf("%v; Envoy's log:\n%s", err, log[max(0, len(log)-4000):])
	}
	var stats struct {
		Stats []struct {
			Name  string
			Value int
		}
	}
	if err := json.Unmarshal([]byte(body), &stats); err != nil {
		t.Fatal(err)
	}
	out := map[string]int{}
	for _, s := range stats.Stats {
		out[strings.TrimPrefix(s.Name, statOf[kind]+"update_")] = s.Value
	}
	return out
}

// ask gives Envoy a file and tells what it made of it. Reading a file and
// counting the outcome is one turn of Envoy's main thread, on which its admin
// interface runs as well.
func (e *asked) ask(t *testing.T, kind string, text []byte) string {
	t.Helper()
	before := e.counters(t, kind)
	e.write(t, kind, text)
	var after map[string]int
	e.wait(t, "Envoy to read a file:\n"+string(text), func() bool {
		after = e.counters(t, kind)
		return after["attempt"] > before["attempt"]
	})
	for _, outcome := range []string{outcomeSuccess, outcomeRejected, outcomeFailure} {
		if after[outcome] > before[outcome] {
			return outcome
		}
	}
	return fmt.Sprintf("none: %v, then %v", before, after)
}

// compare holds the clusters of a set against those in Envoy's config_dump.
func (e *asked) compare(t *testing.T, id string, set *Set) {
	t.Helper()
	body, err := e.get("/config_dump?resource=dynamic_active_clusters")
	if err != nil {
		t.Fatal(err)
	}
	var dump struct {
		Configs []struct{ Cluster json.RawMessage }
	}
	if err := json.Unmarshal([]byte(body), &dump); err != nil {
		t.Fatal(err)
	}
	has := map[string]proto.Message{}
	for _, c := range dump.Configs {
		var a anypb.Any
		if err := (protojson.UnmarshalOptions{Resolver: resolver{}}).Unmarshal(c.Cluster, &a); err != nil {
			t.Fatalf("%s: %v", id, err)
		}
		m, err := a.UnmarshalNew()
		if err != nil {
			t.Fatalf("%s: %v", id, err)
		}
		has[m.(*clusterv3.Cluster).GetName()] = m
	}
	if len(has) != len(set.Resources) {
		t.Errorf("%s: Envoy has %d clusters, the set %d", id, len(has), len(set.Resources))
	}
	for _, r := range set.Resources {
		if !proto.Equal(has[r.Name], r.Message) { // cmp.Diff alone is slow on deep ones
			t.Errorf("%s: Envoy's (-) and ours (+):\n%s", id, cmp.Diff(has[r.Name], r.Message, protocmp.Transform()))
		}
	}
}

const askedBootstrap = `
admin: {address: {socket_address: {address: 127.0.0.1, port_value: 0}}}
node: {id: asked, cluster: asked}
dynamic_resources:
  cds_config: {path_config_source: {path: DIR/cds/file.yaml}, resource_api_version: V3}
  lds_config: {path_config_source: {path: DIR/lds/file.yaml}, resource_api_version: V3}
static_resources:
  clusters:
  - name: e1
    type: EDS
    eds_cluster_config: {eds_config: {path_config_source: {path: DIR/eds/file.yaml}, resource_api_version: V3}}
  listeners:
  - name: static
    address: {socket_address: {address: 127.0.0.1, port_value: 0}}
    filter_chains:
    - filters:
      - name: hcm
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
          stat_prefix: static
          rds: {route_config_name: r1, config_source: {path_config_source: {path: DIR/rds/file.yaml}, resource_api_version: V3}}
          http_filters: [{name: router, typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}}]
`
