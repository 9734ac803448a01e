package xds

import (
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"go.uber.org/goleak"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"

	"lab/pkg/xds/xdstest"
)

const (
	cds = resource.ClusterType
	eds = resource.EndpointType
	lds = resource.ListenerType
	rds = resource.RouteType
	sds = resource.SecretType
)

// lab is a server on a loopback port and its journal.
type lab struct {
	*Server
	t    testing.TB
	sink *xdstest.Sink
	addr string
	stop func() // ends the server and waits for it
}

func serve(t testing.TB, opt Options) *lab {
	t.Helper()
	// Cleanups run backwards: this one sees what everything else left behind.
	t.Cleanup(func() { goleak.VerifyNone(t) })
	sink := xdstest.NewSink()
	opt.Sink, opt.Now, opt.Pid = sink, time.Now, 7
	s := New(opt)
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, lis) }()
	l := &lab{Server: s, t: t, sink: sink, addr: lis.Addr().String()}
	stopped := false
	l.stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("Serve: %v", err)
			}
		case <-time.After(xdstest.Patience):
			t.Error("Serve did not return")
		}
	}
	t.Cleanup(l.stop)
	return l
}

func (l *lab) push(version string, messages ...proto.Message) {
	l.t.Helper()
	if err := l.Push(l.t.Context(), xdstest.Set(l.t, version, messages...)); err != nil {
		l.t.Fatalf("push %s: %v", version, err)
	}
}

// client is an xDS client that says what the test tells it to, and nothing
// else.
type client struct {
	t      testing.TB
	stream discovery.AggregatedDiscoveryService_StreamAggregatedResourcesClient
	got    chan *discovery.DiscoveryResponse
	node   *core.Node
	probes int
}

func (l *lab) dial() *client {
	l.t.Helper()
	conn, err := grpc.NewClient(l.addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		l.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	stream, err := discovery.NewAggregatedDiscoveryServiceClient(conn).StreamAggregatedResources(ctx)
	if err != nil {
		l.t.Fatal(err)
	}
	c := &client{t: l.t, stream: stream, got: make(chan *discovery.DiscoveryResponse, 4096),
		node: &core.Node{Id: "fake", Cluster: "fake"}}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			resp, err := stream.Recv()
			if err != nil {
				return
			}
			c.got <- resp
		}
	}()
	l.t.Cleanup(func() { cancel(); _ = conn.Close(); <-ended })
	return c
}

// ask sends a request; the first one carries the node.
func (c *client) ask(url, version, nonce string, names ...string) {
	c.t.Helper()
	c.send(&discovery.DiscoveryRequest{TypeUrl: url, VersionInfo: version, ResponseNonce: nonce, ResourceNames: names})
}

func (c *client) nack(url, version, nonce string, names ...string) {
	c.t.Helper()
	c.send(&discovery.DiscoveryRequest{TypeUrl: url, VersionInfo: version, ResponseNonce: nonce, ResourceNames: names,
		ErrorDetail: &status.Status{Code: 13, Message: "rejected"}})
}

func (c *client) send(req *discovery.DiscoveryRequest) {
	c.t.Helper()
	req.Node, c.node = c.node, nil
	if err := c.stream.Send(req); err != nil {
		c.t.Fatal(err)
	}
}

// take gives the next response.
func (c *client) take(what string) *discovery.DiscoveryResponse {
	c.t.Helper()
	select {
	case r := <-c.got:
		return r
	case <-time.After(xdstest.Patience):
		c.t.Fatalf("waited %v for %s", xdstest.Patience, what)
		return nil
	}
}

// expect takes the next response and compares its type and version.
func (c *client) expect(url, version string) *discovery.DiscoveryResponse {
	c.t.Helper()
	r := c.take(short(url) + " " + version)
	if r.GetTypeUrl() != url || r.GetVersionInfo() != version {
		c.t.Fatalf("got %s %q, want %s %q", short(r.GetTypeUrl()), r.GetVersionInfo(), short(url), version)
	}
	return r
}

// ackTo takes the response of a type and version and acknowledges it.
func (c *client) ackTo(url, version string, names ...string) *discovery.DiscoveryResponse {
	c.t.Helper()
	r := c.expect(url, version)
	c.ask(url, version, r.GetNonce(), names...)
	return r
}

// nothing shows that no response is under way: the answer to a question about
// a type of its own overtakes none that was sent before.
func (c *client) nothing() {
	c.t.Helper()
	c.probes++
	probe := fmt.Sprintf("type.googleapis.com/test.Probe%d", c.probes)
	c.ask(probe, "", "")
	if r := c.take("the answer to the probe"); r.GetTypeUrl() != probe {
		c.t.Fatalf("got %s %q, want no response", short(r.GetTypeUrl()), r.GetVersionInfo())
	}
}

func namesOf(r *discovery.DiscoveryResponse) []string {
	out := []string{}
	for _, a := range r.GetResources() {
		out = append(out, nameOf(a.GetValue()))
	}
	return out
}
