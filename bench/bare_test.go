package bench

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"github.com/envoyproxy/go-control-plane/pkg/server/v3"
	"google.golang.org/grpc"

	"lab/envoy"
	"lab/pkg/child"
	"lab/pkg/curriculum"
	"lab/pkg/snapshot"
)

// texts are the lab's first file for a bare Envoy: as it is, and what an edit
// makes of it.
type texts struct {
	lab  *curriculum.Lab
	vals curriculum.Values
}

// newTexts fills the lab's file with a Listener port and a backend that answers
// 200 for every upstream.
func newTexts(b *testing.B) texts {
	b.Helper()
	found, err := curriculum.Find("08-xds")
	if err != nil {
		b.Fatal(err)
	}
	backend := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	b.Cleanup(backend.Close)
	v := curriculum.Values{Params: found.Params(1), Upstreams: map[string]string{}, Ports: map[string]int{"access-log": freePort(b)}, Command: "lab"}
	for _, u := range found.Upstreams {
		v.Upstreams[u.Name] = backend.Listener.Addr().String()
	}
	for _, name := range found.Listeners {
		v.Ports[name] = freePort(b)
	}
	return texts{found, v}
}

func (x texts) port() int { return x.vals.Ports["http"] }

// set reads the lab's file after an edit.
func (x texts) set(b *testing.B, edit func(string) string) *snapshot.Set {
	b.Helper()
	text, err := x.lab.Snapshot(x.vals)
	if err != nil {
		b.Fatal(err)
	}
	set, problems := snapshot.Load("snapshot.yaml", []byte(edit(text)))
	if set == nil {
		b.Fatal(problems)
	}
	return set
}

// none, without and refused are the edits of the benchmarks.
func none(text string) string { return text }

// without takes an endpoint out: a save that Envoy accepts.
func without(text string) string {
	head, rest, _ := strings.Cut(text, "# orders-1\n")
	return head[:strings.LastIndex(head, "\n")+1] + rest
}

// refused is a Cluster that Envoy refuses.
func refused(text string) string {
	return strings.Replace(text, "connect_timeout: 1s", "connect_timeout: 0s", 1)
}

// answer is an answer of a bare Envoy to a response.
type answer struct {
	typ, version string
	nack         bool
	at           time.Time
}

// bare is go-control-plane as its documentation uses it, in this process.
type bare struct {
	cache   cache.SnapshotCache
	answers chan answer
	addr    string
}

// allNodes has one snapshot for whoever asks.
type allNodes struct{}

func (allNodes) ID(*core.Node) string { return "bare" }

func newBare(b *testing.B) *bare {
	b.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	s := &bare{cache: cache.NewSnapshotCache(true, allNodes{}, nil), answers: make(chan answer, 1<<16), addr: lis.Addr().String()}
	gs := grpc.NewServer()
	discovery.RegisterAggregatedDiscoveryServiceServer(gs, server.NewServer(context.Background(), s.cache,
		server.CallbackFuncs{StreamRequestFunc: s.heard}))
	go func() { _ = gs.Serve(lis) }() // ends with Stop
	b.Cleanup(gs.Stop)
	return s
}

func (s *bare) heard(_ int64, r *discovery.DiscoveryRequest) error {
	if r.GetResponseNonce() == "" {
		return nil
	}
	select {
	case s.answers <- answer{r.GetTypeUrl(), r.GetVersionInfo(), r.GetErrorDetail() != nil, time.Now()}:
	default: // a storm of NACKs that nobody reads any more
	}
	return nil
}

// push serves a set and returns when it began to.
func (s *bare) push(b *testing.B, version string, set *snapshot.Set) time.Time {
	b.Helper()
	byType := map[resource.Type][]types.Resource{}
	for _, r := range set.Resources {
		byType[r.TypeURL] = append(byType[r.TypeURL], r.Message)
	}
	snap, err := cache.NewSnapshot(version, byType)
	if err != nil {
		b.Fatal(err)
	}
	at := time.Now()
	if err := s.cache.SetSnapshot(context.Background(), "bare", snap); err != nil {
		b.Fatal(err)
	}
	return at
}

// acked waits until every type has acknowledged the version, and gives when
// each did.
func (s *bare) acked(b *testing.B, version string) map[string]time.Time {
	b.Helper()
	at := map[string]time.Time{}
	late := time.After(20 * time.Second)
	for len(at) < 4 {
		select {
		case a := <-s.answers:
			if a.version == version && !a.nack {
				at[a.typ] = a.at
			}
		case <-late:
			b.Fatalf("waited 20 s for the bare Envoy to acknowledge version %s, had %v", version, at)
		}
	}
	return at
}

// startEnvoy starts a bare Envoy and gives what ends it.
func startEnvoy(b *testing.B, binary, ads string) (stop func()) {
	b.Helper()
	boot, err := envoy.Bootstrap(envoy.BootstrapConfig{NodeID: "bare", NodeCluster: "bare", ControlPlane: ads})
	if err != nil {
		b.Fatal(err)
	}
	file := filepath.Join(b.TempDir(), "boot.json")
	if err := os.WriteFile(file, boot, 0o600); err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command(binary, "-c", file, "--disable-hot-restart", "--concurrency", "1", "-l", "off")
	if err := child.Start(cmd); err != nil {
		b.Fatal(err)
	}
	return func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
}

// serving asks the Listener until it answers 200.
func serving(b *testing.B, port int) {
	b.Helper()
	c := http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	late := time.After(30 * time.Second)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		resp, err := c.Get("http://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return
			}
			err = fmt.Errorf("status %d", resp.StatusCode)
		}
		select {
		case <-tick.C:
		case <-late:
			b.Fatalf("waited 30 s for a 200 through the Listener: %v", err)
		}
	}
}

func freePort(b *testing.B) int {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}
