// Package accesslog is where Envoy sends its access log: a gRPC server for the
// AccessLogService (Envoy docs, api-v3/service/accesslog/v3/als.proto). It sums
// the entries up in windows and tells the journal, and tells whoever sent
// requests how Envoy finished them.
//
// Whoever can reach the port can write what they like, so the caller says whose
// a connection is, entries of strangers are dropped, and everything that an
// entry holds is cut to a length. A request counts as lab's own only where it
// carries a mark that this server gave out.
//
// The package must not start processes, must not know which Envoy is the run's,
// and listens on loopback addresses only.
package accesslog

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	als "github.com/envoyproxy/go-control-plane/envoy/service/accesslog/v3"
	"golang.org/x/net/netutil"
	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"

	"lab/pkg/journal"
)

// What one client may take.
const (
	maxConns   = 64
	maxStreams = 64      // of one connection; Envoy opens one for each worker
	maxMessage = 1 << 20 // bytes
)

// stopGrace is how long streams may take to end by themselves: an Envoy that is
// gone has ended them already.
const stopGrace = 500 * time.Millisecond

// Config is what a Server needs; every field must be set.
type Config struct {
	Addr string // "127.0.0.1:41005"
	// Header is the request header that carries a mark, in lower case. The
	// Listener's access log must name it in additional_request_headers_to_log.
	Header string
	// Owner gives the process at the other end of a connection from peer:
	// the pid of a run's Envoy, 0 where it cannot be known, or
	// journal.Stranger. It is called once for each stream.
	Owner func(peer string) int
	Sink  journal.Sink
	Now   func() time.Time
}

// Server takes the access log of a run's Envoys. Its methods may be called from
// any goroutine.
type Server struct {
	als.UnimplementedAccessLogServiceServer
	cfg     Config
	secret  [16]byte // what makes a mark ours
	window  window
	server  *grpc.Server
	stop    chan struct{}
	running sync.WaitGroup
	once    sync.Once // notes the first stranger

	mu      sync.Mutex
	batches map[string]*Batch // by id, those that somebody waits for
	order   []string          // their ids, the oldest first
}

// Start listens and serves. An error is one of the system, or says that Addr is
// no loopback address.
func Start(c Config) (*Server, error) {
	at, err := netip.ParseAddrPort(c.Addr)
	if err != nil || !at.Addr().IsLoopback() {
		return nil, fmt.Errorf("accesslog: %q is no loopback address with a port", c.Addr)
	}
	lis, err := net.Listen("tcp", c.Addr)
	if err != nil {
		return nil, err
	}
	s := &Server{cfg: c, stop: make(chan struct{}), batches: map[string]*Batch{}, window: window{sink: c.Sink, now: c.Now}}
	_, _ = rand.Read(s.secret[:]) // never fails (crypto/rand)
	s.server = grpc.NewServer(
		grpc.MaxRecvMsgSize(maxMessage), grpc.MaxConcurrentStreams(maxStreams), grpc.ConnectionTimeout(5*time.Second),
		grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionIdle: 10 * time.Second}), // who has no stream frees its place
	)
	als.RegisterAccessLogServiceServer(s.server, s)
	s.running.Go(func() { _ = s.server.Serve(netutil.LimitListener(lis, maxConns)) }) // ends with Close
	s.running.Go(func() { s.window.run(s.stop) })
	return s, nil
}

// Close ends the server. When it returns, the journal has heard of every entry
// that came.
func (s *Server) Close() {
	timer := time.AfterFunc(stopGrace, s.server.Stop)
	s.server.GracefulStop()
	timer.Stop()
	close(s.stop)
	s.running.Wait()
}

// Flush tells the journal now of the entries that it has not heard of.
func (s *Server) Flush() { s.window.flush() }

// Mark gives the header's value for requests of a probe ("steady") that nobody
// waits for.
func (s *Server) Mark(probe string) string { return s.mark(probe, "-") }

// mark signs a probe and a batch, so that a request with it is known to be
// lab's: who asks for a path by hand cannot make it count as steady traffic.
func (s *Server) mark(probe, batch string) string {
	text := probe + "/" + batch
	h := hmac.New(sha256.New, s.secret[:])
	_, _ = h.Write([]byte(text)) // never fails (hash.Hash)
	return text + "/" + hex.EncodeToString(h.Sum(nil)[:8])
}

// read takes a mark apart; probe is "" for a value that is none of ours.
func (s *Server) read(value string) (probe, batch string) {
	f := strings.Split(value, "/")
	if len(f) != 3 || !hmac.Equal([]byte(s.mark(f[0], f[1])), []byte(value)) {
		return "", ""
	}
	return f[0], f[1]
}

// Batch is a number of requests whose entries somebody waits for.
type Batch struct {
	server *Server
	id     string
	probe  string

	mu    sync.Mutex
	sum   tally
	grown chan struct{} // closed and replaced when an entry comes
}

// maxBatches is how many may be waited for at a time; the oldest is forgotten.
const maxBatches = 64

// Batch begins one for the requests of a probe.
func (s *Server) Batch(probe string) *Batch {
	var id [6]byte
	_, _ = rand.Read(id[:]) // never fails (crypto/rand)
	b := &Batch{server: s, id: hex.EncodeToString(id[:]), probe: probe, grown: make(chan struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.order) == maxBatches {
		delete(s.batches, s.order[0])
		s.order = s.order[1:]
	}
	s.batches[b.id], s.order = b, append(s.order, b.id)
	return b
}

// Find gives the batch of an id, nil for one that is closed or forgotten.
func (s *Server) Find(id string) *Batch {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.batches[id]
}

// ID names the batch.
func (b *Batch) ID() string { return b.id }

// Mark is the header's value for the requests of the batch.
func (b *Batch) Mark() string { return b.server.mark(b.probe, b.id) }

// Close ends the wait for entries; one that comes later is journaled all the same.
func (b *Batch) Close() {
	b.server.mu.Lock()
	defer b.server.mu.Unlock()
	delete(b.server.batches, b.id)
	b.server.order = slices.DeleteFunc(b.server.order, func(id string) bool { return id == b.id })
}

// Await waits until n entries have come, or ctx ends, and gives those that
// have, and how many. The journal has heard of them then.
func (b *Batch) Await(ctx context.Context, n int) (groups []journal.AccessGroup, seen int) {
	for {
		b.mu.Lock()
		grown := b.grown
		seen = b.sum.count + b.sum.missed
		late := seen < n && ctx.Err() == nil
		if !late {
			groups = b.sum.list()
		}
		b.mu.Unlock()
		if !late {
			b.server.Flush()
			return groups, seen
		}
		select {
		case <-grown:
		case <-ctx.Done():
		}
	}
}

func (b *Batch) add(e entry) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sum.add(e)
	close(b.grown)
	b.grown = make(chan struct{})
}
