// Package xds serves one snapshot at a time to every Envoy that connects, over
// an aggregated discovery stream (state of the world), and journals the
// conversation as it was on the wire.
//
// The server is go-control-plane's, over its SnapshotCache; this package adds
// what v0.14.0 lacks: a rejected version is not sent again, the types of a
// snapshot go out in order, and where something is withheld the journal says
// why. It must not read files, start processes or decide about versions: that
// is pkg/controlplane's part.
package xds

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"github.com/envoyproxy/go-control-plane/pkg/server/sotw/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"

	"lab/pkg/journal"
)

// The orders in which the types of a snapshot go out.
const (
	Ordered = "ordered" // CDS, EDS, LDS, RDS, SDS, others
	Random  = "random"  // as go-control-plane does it: whichever watch comes first
)

const (
	patience  = 250 * time.Millisecond // for a send, or for the ACK of a fresh response
	stopGrace = time.Second            // for streams to end by themselves
)

// Options say how a server works.
type Options struct {
	Sink  journal.Sink
	Now   func() time.Time
	Order string // Ordered, also when empty, or Random
	Pid   int    // of this process, for the journal

	// Without a repair, for the test that shows what the repair is good for.
	stormy bool // a rejected version is offered again at once
	ads    bool // the cache withholds an answer that has not all names asked
}

// Server serves the snapshot that was pushed last. All methods are safe for
// concurrent use.
type Server struct {
	opt   Options
	rec   *Recorder
	cache cache.SnapshotCache
	turn  chan struct{} // held by the one push that is under way

	mu      sync.Mutex // guards what follows, and keeps it in step with the cache
	view    view       // what the cache answers from
	target  view       // what it answers from when the push has ended
	pushes  int64
	streams map[*stream]struct{}
	moved   chan struct{} // closed, and made anew, when a stream made progress
}

// everyNode puts all clients under one key: the lab has one snapshot for all,
// and no client is unknown.
type everyNode struct{}

func (everyNode) ID(*core.Node) string { return "" }

// New makes a server that has nothing to serve yet: requests wait for the
// first Push.
func New(opt Options) *Server {
	return &Server{
		opt:     opt,
		rec:     NewRecorder(opt.Sink, opt.Now, opt.Pid),
		cache:   cache.NewSnapshotCache(opt.ads, everyNode{}, nil),
		turn:    make(chan struct{}, 1),
		streams: map[*stream]struct{}{},
		moved:   make(chan struct{}),
	}
}

// Serve answers on lis until ctx ends or the listener fails, and closes lis.
// Streams get a second to end by themselves. It may be called once.
func (s *Server) Serve(ctx context.Context, lis net.Listener) error {
	gs := grpc.NewServer(
		grpc.StreamInterceptor(s.rec.Stream),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: 30 * time.Second, Timeout: 10 * time.Second}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 5 * time.Second, PermitWithoutStream: true}),
	)
	discovery.RegisterAggregatedDiscoveryServiceServer(gs, &service{server: s, ctx: ctx})
	failed := make(chan error, 1)
	go func() { failed <- gs.Serve(lis) }()
	select {
	case err := <-failed:
		gs.Stop()
		return err
	case <-ctx.Done():
	}
	hard := time.AfterFunc(stopGrace, gs.Stop)
	defer hard.Stop()
	gs.GracefulStop()
	if err := <-failed; !errors.Is(err, grpc.ErrServerStopped) {
		return err
	}
	return nil // ctx ended before gRPC had begun
}

// service is the gRPC face of a Server while it serves.
type service struct {
	discovery.UnimplementedAggregatedDiscoveryServiceServer
	server *Server
	ctx    context.Context
}

// StreamAggregatedResources gives each stream a server of its own from
// go-control-plane, so that its watches are known by stream.
func (v *service) StreamAggregatedResources(ss discovery.AggregatedDiscoveryService_StreamAggregatedResourcesServer) error {
	st := v.server.open(ss)
	defer v.server.close(st)
	return sotw.NewServer(v.ctx, st, nil).StreamHandler(st, resource.AnyType)
}

// DeltaAggregatedResources is refused: Delta is not served yet. The recorder
// journals the stream and this reason.
func (v *service) DeltaAggregatedResources(discovery.AggregatedDiscoveryService_DeltaAggregatedResourcesServer) error {
	return status.Error(codes.Unimplemented,
		"this control plane speaks the state-of-the-world variant only: set api_type GRPC, not DELTA_GRPC")
}
