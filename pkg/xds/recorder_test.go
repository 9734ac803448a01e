package xds

import (
	"slices"
	"strings"
	"testing"

	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	grpcstatus "google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"lab/pkg/journal"
	"lab/pkg/xds/xdstest"
)

func TestClassOfARequest(t *testing.T) {
	type move struct {
		nonce   string
		version string
		err     bool
		sent    string // not "": a response with this nonce, instead of a request
		want    string
	}
	for name, moves := range map[string][]move{
		"ack":              {{want: journal.Subscribe}, {sent: "1"}, {nonce: "1", want: journal.Ack}, {nonce: "1", want: journal.Resubscribe}},
		"nack":             {{want: journal.Subscribe}, {sent: "1"}, {nonce: "1", err: true, want: journal.Nack}, {nonce: "1", want: journal.Resubscribe}},
		"stale":            {{want: journal.Subscribe}, {sent: "1"}, {sent: "2"}, {nonce: "1", want: journal.Stale}, {nonce: "2", want: journal.Ack}},
		"stale rejection":  {{want: journal.Subscribe}, {sent: "1"}, {sent: "2"}, {nonce: "1", err: true, want: journal.Nack}, {nonce: "2", want: journal.Ack}},
		"passed over":      {{want: journal.Subscribe}, {sent: "1"}, {nonce: "1", version: "0", want: journal.Resubscribe}, {nonce: "1", want: journal.Resubscribe}},
		"no nonce again":   {{want: journal.Subscribe}, {want: journal.Resubscribe}, {sent: "1"}, {want: journal.Stale}},
		"nonce from afore": {{nonce: "9", want: journal.Subscribe}, {sent: "1"}, {nonce: "9", want: journal.Stale}},
	} {
		d := dialog{}
		for i, m := range moves {
			if m.sent != "" {
				d.response(&discovery.DiscoveryResponse{TypeUrl: cds, Nonce: m.sent})
				continue
			}
			req := &discovery.DiscoveryRequest{TypeUrl: cds, ResponseNonce: m.nonce, VersionInfo: m.version}
			if m.err {
				req.ErrorDetail = &status.Status{}
			}
			if got := d.request(req); got != m.want {
				t.Errorf("%s, move %d: %s, want %s", name, i, got, m.want)
			}
		}
	}
}

// A request is journaled as it came: the library fills a node in.
func TestNodeIsRecordedOnlyWhereItWas(t *testing.T) {
	l := serve(t, Options{})
	l.push("1", xdstest.Static("a"))
	c := l.dial()
	c.ask(cds, "", "")
	c.ackTo(cds, "1")
	first := l.sink.Wait(t, 0, "the first request", xdstest.Request("CDS", journal.Subscribe)).Request
	ack := l.sink.Wait(t, 0, "the ACK", xdstest.Request("CDS", journal.Ack)).Request
	if !first.HasNode || first.NodeID != "fake" || ack.HasNode || ack.NodeID != "" {
		t.Errorf("node of the first request %v %q, of the ACK %v %q", first.HasNode, first.NodeID, ack.HasNode, ack.NodeID)
	}
	if first.Pid != 7 || first.Stream != 1 || ack.Stream != 1 {
		t.Errorf("pid %d, streams %d and %d", first.Pid, first.Stream, ack.Stream)
	}
}

func TestStreamsAreNumberedAndSayWhyTheyEnded(t *testing.T) {
	l := serve(t, Options{})
	l.push("1", xdstest.Static("a"))
	a, b := l.dial(), l.dial()
	a.ask(cds, "", "")
	a.expect(cds, "1")
	b.ask(cds, "", "")
	b.expect(cds, "1")
	if err := a.stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	ids := map[int64]bool{}
	for _, e := range l.sink.After(0) {
		if e.Stream != nil && e.Stream.State == "opened" {
			ids[e.Stream.ID] = true
			if e.Stream.Method != "StreamAggregatedResources" || !strings.HasPrefix(e.Stream.Peer, "127.0.0.1:") {
				t.Errorf("stream %+v", *e.Stream)
			}
		}
	}
	if !ids[1] || !ids[2] {
		t.Errorf("streams %v, want 1 and 2", ids)
	}
	b.send(&discovery.DiscoveryRequest{}) // no type URL
	e := l.sink.Wait(t, 0, "a stream that ended with an error", func(e journal.Event) bool {
		return e.Stream != nil && e.Stream.State == "closed" && strings.Contains(e.Stream.Reason, "type URL")
	})
	if e.Time.IsZero() || e.Source != journal.ControlPlane {
		t.Errorf("event %+v", e)
	}
}

// The hash on the wire is the one of the file: the server encodes as
// pkg/snapshot does.
func TestHashOnTheWireIsTheSnapshots(t *testing.T) {
	l := serve(t, Options{})
	set := xdstest.Set(t, "1", full(t, 1)...)
	if err := l.Push(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	c := l.dial()
	c.subscribe("1")
	for _, r := range set.Resources {
		e := l.sink.Wait(t, 0, "the response of "+r.Type, xdstest.Sent(r.Type, "1"))
		if !slices.Contains(e.Response.Resources, journal.Ref{Name: r.Name, Hash: r.Hash}) {
			t.Errorf("%s: sent %v, want %s %s", r.Type, e.Response.Resources, r.Name, r.Hash)
		}
	}
}

func TestNameOfABrokenResource(t *testing.T) {
	raw, err := proto.Marshal(xdstest.Static("a"))
	if err != nil {
		t.Fatal(err)
	}
	for n := range raw {
		if got := nameOf(raw[:n]); got != "" && got != "a" {
			t.Errorf("%d bytes: %q", n, got)
		}
	}
	if got := nameOf(raw); got != "a" {
		t.Errorf("whole: %q", got)
	}
}

func TestDeltaIsRefusedWithAReason(t *testing.T) {
	l := serve(t, Options{})
	conn, err := grpc.NewClient(l.addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	stream, err := discovery.NewAggregatedDiscoveryServiceClient(conn).DeltaAggregatedResources(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err = stream.Recv(); grpcstatus.Code(err) != codes.Unimplemented {
		t.Errorf("error %v, want Unimplemented", err)
	}
	e := l.sink.Wait(t, 0, "the end of the stream", func(e journal.Event) bool {
		return e.Stream != nil && e.Stream.State == "closed"
	})
	if e.Stream.Method != "DeltaAggregatedResources" || !strings.Contains(e.Stream.Reason, "DELTA_GRPC") {
		t.Errorf("stream %+v", *e.Stream)
	}
}
