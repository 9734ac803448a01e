package accesslog

import (
	"net"
	"strconv"
	"strings"
	"time"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	data "github.com/envoyproxy/go-control-plane/envoy/data/accesslog/v3"
	als "github.com/envoyproxy/go-control-plane/envoy/service/accesslog/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"lab/pkg/journal"
)

// What is kept of an entry, in bytes.
const (
	maxPath    = 200
	maxDetails = 200
	maxName    = 100
)

// entry is one request as Envoy logged it.
type entry struct {
	key
	batch    string
	began    time.Time
	duration time.Duration
}

// StreamAccessLogs is for gRPC: one stream of a worker of an Envoy.
func (s *Server) StreamAccessLogs(stream als.AccessLogService_StreamAccessLogsServer) error {
	from := ""
	if p, ok := peer.FromContext(stream.Context()); ok {
		from = p.Addr.String()
	}
	if s.cfg.Owner(from) == journal.Stranger {
		s.once.Do(func() {
			s.cfg.Sink.Emit(journal.Event{Time: s.cfg.Now(), Source: journal.Session, Kind: journal.KindNote,
				Note: &journal.Note{Code: "access-stranger", Args: map[string]string{"peer": from}}})
		})
		return status.Error(codes.PermissionDenied, "not an Envoy of this run")
	}
	for {
		m, err := stream.Recv()
		if err != nil {
			return nil //nolint:nilerr // the client ended it, or broke it: there is nobody to tell
		}
		for _, l := range m.GetHttpLogs().GetLogEntry() {
			if l.GetCommonProperties().GetIntermediateLogEntry() {
				continue // the request goes on
			}
			s.take(s.entry(l))
		}
	}
}

func (s *Server) take(e entry) {
	s.window.add(e)
	s.mu.Lock()
	b := s.batches[e.batch]
	s.mu.Unlock()
	if b != nil && b.probe == e.probe {
		b.add(e)
	}
}

// entry reads a log entry. Times are by Envoy's clock, which is the system's;
// the run's does not jump. One that is ahead is set back, so that no request
// seems to have begun after what it preceded.
func (s *Server) entry(l *data.HTTPAccessLogEntry) entry {
	c, req, resp := l.GetCommonProperties(), l.GetRequest(), l.GetResponse()
	e := entry{duration: c.GetDuration().AsDuration()}
	if e.duration <= 0 {
		e.duration = c.GetTimeToLastDownstreamTxByte().AsDuration()
	}
	e.duration = max(e.duration, 0)
	e.began = c.GetStartTime().AsTime()
	if latest := s.cfg.Now().Add(-e.duration); e.began.After(latest) {
		e.began = latest
	}
	e.probe, e.batch = s.read(req.GetRequestHeaders()[s.cfg.Header])
	path := req.GetOriginalPath() // before the route rewrote it
	if path == "" {
		path = req.GetPath()
	}
	path, _, _ = strings.Cut(path, "?")
	e.path = cut(path, maxPath)
	e.status = int(resp.GetResponseCode().GetValue())
	e.flags = Flags(c.GetResponseFlags())
	e.details = cut(resp.GetResponseCodeDetails(), maxDetails)
	e.cluster = cut(c.GetUpstreamCluster(), maxName)
	e.upstream = address(c.GetUpstreamRemoteAddress())
	e.attempts = int(c.GetUpstreamRequestAttemptCount())
	return e
}

// cut keeps n bytes at most, in whole characters.
func cut(s string, n int) string {
	if len(s) > n {
		s = s[:n]
	}
	return strings.ToValidUTF8(s, "")
}

// address writes a socket address as "127.0.0.1:41001", "" where there is none.
func address(a *core.Address) string {
	sock := a.GetSocketAddress()
	if sock == nil {
		return cut(a.GetPipe().GetPath(), maxName)
	}
	return cut(net.JoinHostPort(sock.GetAddress(), strconv.FormatUint(uint64(sock.GetPortValue()), 10)), maxName)
}
