package traffic

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"syscall"
	"time"
)

// Why a request has no answer, or only a part of one: the values of
// journal.ProbeGroup.Error.
const (
	Refused  = "refused" // nobody listens
	Reset    = "reset"   // RST
	EOF      = "eof"     // FIN
	TimedOut = "timeout"
	Other    = "other" // an answer that is not HTTP, a fault of this machine
)

const (
	// maxHead is how long an answer's headers may be, in bytes. A body may be as
	// long as the timeout allows.
	maxHead = 64 << 10
	// maxName is how much of an x-upstream header is kept, in bytes.
	maxName = 64
	// starved is how late a timeout may fire. A later one says that this process
	// did not run (a stopped process, a machine that was suspended), not that
	// Envoy was late.
	starved = 500 * time.Millisecond
)

// result is how one request went. Where skip is set, it does not count.
type result struct {
	sent, done time.Time
	status     int    // 0: no answer
	upstream   string // who answered, by its x-upstream header
	err        string // Refused, ..., also where the body was cut
	skip       string // "stopped" or "starved"
}

// failed tells whether the request was not served: no answer, one that was
// cut, an error status, or an answer of Envoy's own instead of an upstream's.
func (r result) failed() bool {
	return r.err != "" || r.status >= http.StatusBadRequest || r.upstream == ""
}

// ProbeHeader is the request header that carries Mark.
const ProbeHeader = "x-lab-probe"

// sender sends requests, each over its own connection.
type sender struct {
	agent   string
	headers http.Header // of each request, besides the agent
	timeout time.Duration
	now     func() time.Time
}

// marked are the headers of requests with a mark, none for "".
func marked(mark string) http.Header {
	if mark == "" {
		return nil
	}
	return http.Header{http.CanonicalHeaderKey(ProbeHeader): {mark}}
}

// target joins a Listener's address and a path; path "" is the path that base
// has. Only loopback will do, and the path cannot change that.
func target(base, path string) (*url.URL, error) {
	u, err := url.Parse(base)
	if err != nil {
		return nil, err
	}
	host, err := netip.ParseAddrPort(u.Host)
	if err != nil || u.Scheme != "http" || !host.Addr().IsLoopback() {
		return nil, fmt.Errorf("traffic: %q is not http with a loopback address and a port", base)
	}
	if path == "" {
		path = u.RequestURI()
	}
	if !strings.HasPrefix(path, "/") {
		return nil, fmt.Errorf("traffic: path %q does not start with a slash", path)
	}
	return url.Parse("http://" + u.Host + path)
}

// send sends one GET and reads the whole answer. When ctx ends, it gives up.
func (s *sender) send(ctx context.Context, to *url.URL) result {
	limited, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	r := result{sent: s.now()}
	err := s.exchange(limited, to, &r)
	r.done = s.now()
	if err == nil {
		return r
	}
	r.err = classify(err)
	switch {
	case ctx.Err() != nil:
		r.skip = "stopped"
	case r.err == TimedOut && r.done.Sub(r.sent) > s.timeout+starved:
		r.skip = "starved"
	}
	return r
}

func (s *sender) exchange(ctx context.Context, to *url.URL, r *result) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", to.Host)
	if err != nil {
		return err
	}
	defer conn.Close()
	// Reads and writes end when ctx does.
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()

	headers := http.Header{"User-Agent": {s.agent}}
	maps.Copy(headers, s.headers)
	req := &http.Request{Method: http.MethodGet, URL: to, Host: to.Host, Close: true, Header: headers}
	if err := req.Write(conn); err != nil {
		return err
	}
	limit := &io.LimitedReader{R: conn, N: maxHead}
	res, err := http.ReadResponse(bufio.NewReader(limit), req)
	if err != nil {
		return err
	}
	limit.N = math.MaxInt64
	defer res.Body.Close()
	r.status = res.StatusCode
	r.upstream = res.Header.Get("x-upstream")
	r.upstream = r.upstream[:min(len(r.upstream), maxName)]
	_, err = io.Copy(io.Discard, res.Body)
	return err
}

// classify tells what ended a request.
func classify(err error) string {
	var late net.Error
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return Refused
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return Reset
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded), errors.As(err, &late) && late.Timeout():
		return TimedOut
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return EOF
	}
	return Other
}
