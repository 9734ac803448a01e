package xds

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"sync"
	"sync/atomic"
	"time"

	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/anypb"

	"lab/pkg/journal"
)

// Recorder journals the messages of xDS streams as they are on the wire. It
// stands between gRPC and a control plane and knows nothing about the latter:
// go-control-plane's own callbacks run before a response is sent and show a
// node that was not in the request.
type Recorder struct {
	sink journal.Sink
	now  func() time.Time
	pid  int
	last atomic.Int64
}

// NewRecorder makes a recorder whose streams are numbered from 1. Pid is the
// process that serves them.
func NewRecorder(sink journal.Sink, now func() time.Time, pid int) *Recorder {
	return &Recorder{sink: sink, now: now, pid: pid}
}

// Stream is a grpc.StreamServerInterceptor. The journal has the messages of a
// stream in the order in which the control plane received and sent them; a
// response stands there once its send has returned.
func (r *Recorder) Stream(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	s := &recorded{ServerStream: ss, rec: r, id: r.last.Add(1), dialog: dialog{}}
	s.ctx = context.WithValue(ss.Context(), streamKey{}, s.id)
	open := journal.Stream{ID: s.id, Pid: r.pid, State: "opened", Method: method(info.FullMethod), Peer: peerOf(s.ctx)}
	r.emit(journal.Event{Kind: journal.KindStreamOpen, Stream: &open})
	err := handler(srv, s)

	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	end := open
	end.State, end.Reason = "closed", reason(s.ctx, err)
	r.emit(journal.Event{Kind: journal.KindStreamOpen, Stream: &end})
	return err
}

func (r *Recorder) emit(e journal.Event) {
	e.Time, e.Source = r.now(), journal.ControlPlane
	r.sink.Emit(e)
}

type streamKey struct{}

// streamID is the number that the recorder gave to the stream of ctx; 0 where
// none did.
func streamID(ctx context.Context) int64 {
	id, _ := ctx.Value(streamKey{}).(int64)
	return id
}

// recorded is one stream. Its lock is held from before a send until the
// response is journaled, so that the ACK, which can arrive before Send has
// returned, is journaled behind it.
type recorded struct {
	grpc.ServerStream
	ctx context.Context
	rec *Recorder
	id  int64

	mu     sync.Mutex
	dialog dialog
	closed bool
}

func (s *recorded) Context() context.Context { return s.ctx }

func (s *recorded) RecvMsg(m any) error {
	if err := s.ServerStream.RecvMsg(m); err != nil {
		return err
	}
	req, ok := m.(*discovery.DiscoveryRequest)
	if !ok {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.rec.emit(journal.Event{Kind: journal.KindRequest, Request: s.request(req)})
	}
	return nil
}

func (s *recorded) SendMsg(m any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.ServerStream.SendMsg(m); err != nil {
		return err
	}
	if resp, ok := m.(*discovery.DiscoveryResponse); ok {
		s.rec.emit(journal.Event{Kind: journal.KindResponse, Response: s.response(resp)})
	}
	return nil
}

func (s *recorded) request(req *discovery.DiscoveryRequest) *journal.Request {
	out := &journal.Request{
		Stream: s.id, Pid: s.rec.pid, Type: short(req.GetTypeUrl()),
		Version: req.GetVersionInfo(), Nonce: req.GetResponseNonce(), Names: req.GetResourceNames(),
		Class: s.dialog.request(req), HasNode: req.GetNode() != nil, NodeID: req.GetNode().GetId(),
	}
	if d := req.GetErrorDetail(); d != nil {
		out.Error = &journal.Error{Code: d.GetCode(), Message: d.GetMessage()}
	}
	return out
}

func (s *recorded) response(resp *discovery.DiscoveryResponse) *journal.Response {
	s.dialog.response(resp)
	out := &journal.Response{
		Stream: s.id, Pid: s.rec.pid, Type: short(resp.GetTypeUrl()),
		Version: resp.GetVersionInfo(), Nonce: resp.GetNonce(), Resources: []journal.Ref{},
	}
	for _, a := range resp.GetResources() {
		out.Resources = append(out.Resources, refOf(a))
	}
	return out
}

// refOf names a resource by the bytes that went over the wire. The server
// encodes deterministically, so the hash is the one that pkg/snapshot has.
func refOf(a *anypb.Any) journal.Ref {
	sum := sha256.Sum256(a.GetValue())
	return journal.Ref{Name: nameOf(a.GetValue()), Hash: hex.EncodeToString(sum[:8])}
}

// nameOf reads field 1 of an encoded resource. In every xDS resource type that
// is its name (ClusterLoadAssignment calls it cluster_name), so a type that is
// not linked into this program has one too.
func nameOf(b []byte) (name string) {
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return name
		}
		b = b[n:]
		if num == 1 && typ == protowire.BytesType {
			v, n := protowire.ConsumeBytes(b)
			if n < 0 {
				return name
			}
			name, b = string(v), b[n:]
			continue
		}
		if n = protowire.ConsumeFieldValue(num, typ, b); n < 0 {
			return name
		}
		b = b[n:]
	}
	return name
}

// method is the last part of "/package.Service/Method".
func method(full string) string {
	for i := len(full) - 1; i >= 0; i-- {
		if full[i] == '/' {
			return full[i+1:]
		}
	}
	return full
}

func peerOf(ctx context.Context) string {
	if p, ok := peer.FromContext(ctx); ok {
		return p.Addr.String()
	}
	return ""
}

// reason says why a stream ended: the client closed it, or the control plane
// did, with its error where it had one.
func reason(ctx context.Context, err error) string {
	switch {
	case ctx.Err() != nil:
		return "client"
	case err != nil:
		return status.Convert(err).Message()
	}
	return "server"
}
