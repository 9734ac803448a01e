package accesslog

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	data "github.com/envoyproxy/go-control-plane/envoy/data/accesslog/v3"
	als "github.com/envoyproxy/go-control-plane/envoy/service/accesslog/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"lab/pkg/journal"
)

// deadline is how long a test waits for what must come.
const deadline = 10 * time.Second

type sink struct {
	mu     sync.Mutex
	events []journal.Event
}

func (s *sink) Emit(e journal.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, e)
}

func (s *sink) groups() (out []journal.AccessGroup, notes []journal.Note) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.events {
		if e.Access != nil {
			out = append(out, e.Access.Groups...)
		}
		if e.Note != nil {
			notes = append(notes, *e.Note)
		}
	}
	return out, notes
}

func serve(t *testing.T, owner int) (*Server, *sink, string) {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := lis.Addr().String()
	lis.Close()
	out := &sink{}
	s, err := Start(Config{Addr: addr, Header: "x-lab-probe", Owner: func(string) int { return owner }, Sink: out, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s, out, addr
}

func client(t *testing.T, addr string) als.AccessLogService_StreamAccessLogsClient {
	t.Helper()
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	t.Cleanup(func() { cancel(); conn.Close() })
	stream, err := als.NewAccessLogServiceClient(conn).StreamAccessLogs(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return stream
}

func message(entries ...*data.HTTPAccessLogEntry) *als.StreamAccessLogsMessage {
	return &als.StreamAccessLogsMessage{LogEntries: &als.StreamAccessLogsMessage_HttpLogs{
		HttpLogs: &als.StreamAccessLogsMessage_HTTPAccessLogEntries{LogEntry: entries}}}
}

func one(mark, path string) *data.HTTPAccessLogEntry {
	return &data.HTTPAccessLogEntry{
		CommonProperties: &data.AccessLogCommon{
			StartTime: timestamppb.New(time.Now().Add(-time.Second)), Duration: durationpb.New(20 * time.Millisecond),
			UpstreamCluster: "orders", UpstreamRequestAttemptCount: 2,
			UpstreamRemoteAddress: &core.Address{Address: &core.Address_SocketAddress{SocketAddress: &core.SocketAddress{
				Address: "127.0.0.1", PortSpecifier: &core.SocketAddress_PortValue{PortValue: 41001}}}},
			ResponseFlags: &data.ResponseFlags{UpstreamConnectionFailure: true, UpstreamRetryLimitExceeded: true},
		},
		Request:  &data.HTTPRequestProperties{Path: path, RequestHeaders: map[string]string{"x-lab-probe": mark}},
		Response: &data.HTTPResponseProperties{ResponseCode: wrapperspb.UInt32(503), ResponseCodeDetails: "d"},
	}
}

func awaitN(t *testing.T, b *Batch, n int) []journal.AccessGroup {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	groups, seen := b.Await(ctx, n)
	if seen != n {
		t.Fatalf("%d of %d entries came in %s", seen, n, deadline)
	}
	return groups
}

// TestBatchAndJournal: what a batch gets, and what the journal has then.
func TestBatchAndJournal(t *testing.T) {
	t.Parallel()
	s, out, addr := serve(t, 4711)
	b := s.Batch("send")
	stream := client(t, addr)
	other := one(b.Mark(), "/a")
	other.CommonProperties.IntermediateLogEntry = true
	if err := stream.Send(message(one(b.Mark(), "/a?x=1"), one(b.Mark(), "/a?x=2"), other, one(s.Mark("steady"), "/"))); err != nil {
		t.Fatal(err)
	}
	got := awaitN(t, b, 2)
	want := journal.AccessGroup{Probe: "send", Path: "/a", Status: 503, Flags: "URX,UF", Details: "d", Cluster: "orders",
		Upstream: "127.0.0.1:41001", Attempts: 2, Count: 2, Last: got[0].Last, MinMS: 20, MaxMS: 20}
	if len(got) != 1 || got[0] != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if groups, _ := out.groups(); len(groups) == 0 || groups[0].Count != 2 || groups[0].Probe != "send" {
		t.Errorf("the journal has %+v", groups)
	}
	b.Close()
	if s.Find(b.ID()) != nil {
		t.Error("a closed batch is found")
	}
}

// TestMarks: only a mark that this server gave out makes a request lab's own.
func TestMarks(t *testing.T) {
	t.Parallel()
	s, _, _ := serve(t, 1)
	elsewhere, _, _ := serve(t, 1)
	if p, b := s.read(s.Mark("steady")); p != "steady" || b != "-" {
		t.Error(p, b)
	}
	good := s.Mark("steady")
	for _, bad := range []string{"", "steady", "steady/-", "steady/-/", elsewhere.Mark("steady"), good + "0", "slow" + strings.TrimPrefix(good, "steady"),
		strings.Repeat("/", 1000)} {
		if p, b := s.read(bad); p != "" || b != "" {
			t.Errorf("%q is taken for %s %s", bad, p, b)
		}
	}
}

// TestHostileEntries: a message that is too long ends its stream, and of an
// entry that is long the journal gets a part.
func TestHostileEntries(t *testing.T) {
	t.Parallel()
	s, out, addr := serve(t, 0)
	long := one("", "/"+strings.Repeat("a", 2*maxMessage))
	first := client(t, addr)
	_ = first.Send(message(long)) // it may be refused while it is sent
	if _, err := first.CloseAndRecv(); err == nil {
		t.Error("a message of 2 MB was taken")
	}
	b := s.Batch("send")
	e := one(b.Mark(), "/")
	e.Request.OriginalPath = "/" + strings.Repeat("é", 5000)
	e.CommonProperties.UpstreamCluster = strings.Repeat("ü", 5000)
	e.CommonProperties.StartTime = timestamppb.New(time.Now().Add(time.Hour))
	e.CommonProperties.Duration = durationpb.New(-time.Hour)
	e.Response.ResponseCodeDetails = strings.Repeat("x", 5000)
	second := client(t, addr)
	if err := second.Send(message(&data.HTTPAccessLogEntry{}, e)); err != nil {
		t.Fatal(err)
	}
	awaitN(t, b, 1)
	groups, _ := out.groups()
	for _, g := range groups {
		if len(g.Path) > maxPath || len(g.Details) > maxDetails || len(g.Cluster) > maxName || g.Last.After(time.Now()) || g.MinMS < 0 {
			t.Errorf("%d %d %d %s %v", len(g.Path), len(g.Details), len(g.Cluster), g.Last, g.MinMS)
		}
	}
	if len(groups) != 2 {
		t.Errorf("%d groups", len(groups))
	}
}

// TestTooManyKinds: a window tells so many kinds apart, and says how many it
// left out.
func TestTooManyKinds(t *testing.T) {
	out := &sink{}
	w := window{sink: out, now: time.Now}
	for i := range maxGroups + 7 {
		w.add(entry{key: key{path: fmt.Sprint("/", i)}})
	}
	w.flush()
	groups, notes := out.groups()
	if len(groups) != maxGroups || len(notes) != 1 || notes[0].Code != "access-not-counted" || notes[0].Args["count"] != "7" {
		t.Errorf("%d groups, %+v", len(groups), notes)
	}
}

// TestStrangers are refused, noted once, and change nothing.
func TestStrangers(t *testing.T) {
	t.Parallel()
	_, out, addr := serve(t, journal.Stranger)
	for range 3 {
		stream := client(t, addr)
		_ = stream.Send(message(one("", "/"))) // it may have been refused already
		if _, err := stream.CloseAndRecv(); err == nil || !strings.Contains(err.Error(), "not an Envoy of this run") {
			t.Errorf("got %v", err)
		}
	}
	if groups, notes := out.groups(); len(groups) != 0 || len(notes) != 1 || notes[0].Code != "access-stranger" {
		t.Errorf("%+v %+v", groups, notes)
	}
}

// TestOldBatchesAreForgotten: who begins batches and never asks holds no memory.
func TestOldBatchesAreForgotten(t *testing.T) {
	t.Parallel()
	s, _, _ := serve(t, 1)
	first := s.Batch("send")
	for range maxBatches {
		s.Batch("send")
	}
	if s.Find(first.ID()) != nil || len(s.batches) != maxBatches || len(s.order) != maxBatches {
		t.Errorf("%d batches, %d ids", len(s.batches), len(s.order))
	}
}

// TestLoopbackOnly: no other address is listened on.
func TestLoopbackOnly(t *testing.T) {
	for _, addr := range []string{"0.0.0.0:0", "[::]:0", ":0", "localhost:0", "192.0.2.1:41000", "127.0.0.1"} {
		if s, err := Start(Config{Addr: addr}); err == nil {
			s.Close()
			t.Errorf("%s is listened on", addr)
		}
	}
}
