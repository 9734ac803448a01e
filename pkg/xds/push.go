package xds

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"

	"lab/pkg/snapshot"
)

// errVersion is a fault of the caller: an open watch compares versions.
var errVersion = errors.New("xds: the version is empty, or in force already")

// Push serves set, whose Version must be set and differ from the one in force,
// from now on. It returns when the snapshot was sent on every stream that was
// ready for it. Pushes take turns; an error means that set is not served: ctx
// ended before its turn came, or the version does not serve. A ctx that
// ends later cuts the waits short, never the push.
func (s *Server) Push(ctx context.Context, set *snapshot.Set) error {
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-s.turn }()

	s.mu.Lock()
	if set.Version == "" || set.Version == s.target.rest.version {
		s.mu.Unlock()
		return errVersion
	}
	s.pushes++
	s.target = viewOf(set, s.pushes)
	target, urls := s.target, s.urls()
	s.mu.Unlock()

	if s.opt.Order == Random {
		return s.put(target)
	}
	for _, url := range urls {
		s.settle(ctx, url)
		s.mu.Lock()
		next := s.view.with(url, target.part(url))
		s.mu.Unlock()
		if err := s.put(next); err != nil {
			return err
		}
		s.await(ctx, patience, func() bool { return s.sent(url, target.rest.push) })
	}
	return s.put(target)
}

// urls are the types that a push has to touch, in the order in which they go
// out. Server.mu is held.
func (s *Server) urls() []string {
	all := map[string]struct{}{}
	for _, url := range sendOrder {
		all[url] = struct{}{}
	}
	for _, v := range []view{s.view, s.target} {
		for url := range v.parts {
			all[url] = struct{}{}
		}
	}
	for st := range s.streams {
		for url := range st.types {
			all[url] = struct{}{}
		}
	}
	return slices.SortedFunc(maps.Keys(all), bySendOrder)
}

// put makes v what the cache answers from. The cache answers the open watches
// of the types that changed before SetSnapshot returns.
func (s *Server) put(v view) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for st := range s.streams {
		for url, a := range st.types {
			if push := v.part(url).push; a.open && push != s.view.part(url).push {
				a.open, a.offered = false, push
			}
		}
	}
	s.view = v
	// The context must not end here: half of the answers would be lost. Their
	// channels have room, so the cache never waits for it.
	return s.cache.SetSnapshot(context.Background(), "", v)
}

// sent tells whether the answers of a push have gone out. Server.mu is held.
func (s *Server) sent(url string, push int64) bool {
	for st := range s.streams {
		if a, ok := st.types[url]; ok && a.offered == push && a.sent != push {
			return false
		}
	}
	return true
}

// settle waits for streams that have not yet acknowledged the last response of
// a type: they get the next version only after that, and the types behind it
// would overtake it. A response that is unacknowledged for longer is not
// waited for: Envoy withholds the ACK of a CDS response while a cluster warms,
// and it is the EDS behind it that ends the warming.
func (s *Server) settle(ctx context.Context, url string) {
	s.mu.Lock()
	_, wait := s.unsettled(url)
	s.mu.Unlock()
	s.await(ctx, wait, func() bool { _, wait := s.unsettled(url); return wait <= 0 })

	s.mu.Lock()
	late, _ := s.unsettled(url)
	version := s.target.rest.version
	s.mu.Unlock()
	why := noAck
	if url == resource.ClusterType {
		why = warming
	}
	for _, st := range late {
		s.withhold(st, url, silence{why, version, nil})
	}
}

// unsettled gives the streams whose last response of a type is unacknowledged,
// and how long the youngest of those responses is still worth a wait.
// Server.mu is held.
func (s *Server) unsettled(url string) (late []*stream, wait time.Duration) {
	for st := range s.streams {
		a, ok := st.types[url]
		if !ok || a.open || a.sent == 0 {
			continue
		}
		late = append(late, st)
		wait = max(wait, patience-s.opt.Now().Sub(a.sentAt))
	}
	return late, wait
}

// await waits until done, for at most d. Done is called with Server.mu held.
func (s *Server) await(ctx context.Context, d time.Duration, done func() bool) {
	t := time.NewTimer(d)
	defer t.Stop()
	for {
		s.mu.Lock()
		ok, moved := done(), s.moved
		s.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-moved:
		case <-t.C:
			return
		case <-ctx.Done():
			return
		}
	}
}
