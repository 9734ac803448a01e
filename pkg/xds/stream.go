package xds

import (
	"errors"
	"time"

	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
)

// asked is the state of one type on one stream. Pushes are counted, and a
// count says what was sent: version strings may come back after a rollback.
type asked struct {
	open    bool  // a watch is open: the next version goes out at once
	offered int64 // the push whose resources were handed to the stream last
	sent    int64 // the push whose resources were sent last; 0: none
	sentAt  time.Time
	told    string // what was journaled as withheld last
}

// stream is one client's stream: its gRPC side, and the cache as it sees it.
type stream struct {
	discovery.AggregatedDiscoveryService_StreamAggregatedResourcesServer
	server *Server
	id     int64
	types  map[string]*asked // by type URL; guarded by Server.mu
}

func (s *Server) open(ss discovery.AggregatedDiscoveryService_StreamAggregatedResourcesServer) *stream {
	st := &stream{ss, s, streamID(ss.Context()), map[string]*asked{}}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.streams[st] = struct{}{}
	return st
}

func (s *Server) close(st *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.streams, st)
	s.progress()
}

// progress wakes whoever waits for a stream. Server.mu is held.
func (s *Server) progress() {
	close(s.moved)
	s.moved = make(chan struct{})
}

// Send sends a response and notes that it was sent, which ends the wait of the
// push that it belongs to.
func (st *stream) Send(resp *discovery.DiscoveryResponse) error {
	if err := st.AggregatedDiscoveryService_StreamAggregatedResourcesServer.Send(resp); err != nil {
		return err
	}
	st.server.mu.Lock()
	defer st.server.mu.Unlock()
	if a, ok := st.types[resp.GetTypeUrl()]; ok {
		a.sent, a.sentAt = a.offered, st.server.opt.Now()
	}
	st.server.progress()
	return nil
}

// CreateWatch is called by go-control-plane for each request whose nonce is
// current. The cache compares the version in the request with its own; here
// the request gets the version that was last sent on this stream, whatever the
// client says. After a NACK the client names an older one, and the cache would
// answer with the rejected version at once, over a thousand times a second.
func (st *stream) CreateWatch(req *cache.Request, sub cache.Subscription, out chan cache.Response) (func(), error) {
	s := st.server
	s.mu.Lock()
	cancel, silent, err := st.watch(req, sub, out)
	s.progress()
	s.mu.Unlock()
	for _, w := range silent {
		s.withhold(st, req.GetTypeUrl(), w)
	}
	return cancel, err
}

// watch is CreateWatch with Server.mu held.
func (st *stream) watch(req *cache.Request, sub cache.Subscription, out chan cache.Response) (func(), []silence, error) {
	s, url := st.server, req.GetTypeUrl()
	if !sub.IsWildcard() && len(req.GetResourceNames()) == 0 {
		// Unsubscribed: the cache would take no names for all of them.
		delete(st.types, url)
		return nil, nil, nil
	}
	a, known := st.types[url]
	if !known {
		a = &asked{}
		st.types[url] = a
	}
	rejected := req.GetErrorDetail() != nil
	current := s.view.part(url)
	if !s.opt.stormy {
		req.VersionInfo = ""
		if a.sent == current.push {
			req.VersionInfo = current.version
		}
	}
	cancel, err := s.cache.CreateWatch(req, sub, out)
	if a.open = len(out) == 0; !a.open {
		a.offered = current.push
		return cancel, nil, err
	}
	return cancel, s.silences(url, a, req.GetResourceNames(), sub.IsWildcard(), rejected), err
}

// CreateDeltaWatch belongs to Delta, which is not served: no stream gets here.
func (st *stream) CreateDeltaWatch(*cache.DeltaRequest, cache.Subscription, chan cache.DeltaResponse) (func(), error) {
	return nil, errors.ErrUnsupported
}
