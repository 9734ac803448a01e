package upstreams

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

const (
	// maxBody is how much of a request's body is read, in bytes.
	maxBody = 16 << 20
	// pieces is how many writes a slow answer takes.
	pieces = 10
	// promised is the content-length of an answer that never gets that far.
	promised = 100
)

// DelayHeader is a request header that delays this request's answer alone,
// whatever the fault: "3s", at most MaxDelay.
const DelayHeader = "x-lab-delay"

// MaxDelay bounds what a request may ask for.
const MaxDelay = time.Minute

// asked reads a DelayHeader; one that is not a delay up to MaxDelay asks for none.
func asked(header string) time.Duration {
	d, err := time.ParseDuration(header)
	if err != nil || d > MaxDelay {
		return 0
	}
	return d
}

// active is the fault in force. A request keeps the one that it found.
type active struct {
	Fault
	text string
	n    atomic.Int64 // requests so far, for the sequence of Status
}

// answer handles one request.
func (u *Upstream) answer(w http.ResponseWriter, r *http.Request) {
	a := u.active.Load()
	u.hits.add(a.text)
	if _, err := io.Copy(io.Discard, io.LimitReader(r.Body, maxBody)); err != nil {
		panic(http.ErrAbortHandler) // the client is gone in the middle of its request
	}
	if d := asked(r.Header.Get(DelayHeader)); d > 0 && !u.wait(d, r.Context().Done()) {
		return // the client is gone
	}
	switch a.Kind {
	case Status:
		n := a.n.Add(1) - 1
		u.reply(w, a.Codes[n%int64(len(a.Codes))])
	case Delay:
		if u.wait(a.Time, r.Context().Done()) {
			u.reply(w, http.StatusOK)
		}
	case SlowHeaders, SlowBody, Hang, HangBody, Reset, Fin, Garbage, Truncate:
		u.takeOver(w, a.Fault)
	default:
		u.reply(w, http.StatusOK)
	}
}

// body names the upstream in one line.
func (u *Upstream) body() string { return u.cfg.Name + "\n" }

func (u *Upstream) reply(w http.ResponseWriter, code int) {
	w.Header().Set("x-upstream", u.cfg.Name)
	w.Header().Set("content-type", "text/plain")
	w.WriteHeader(code)
	// An error means that the client is gone, or that the code has no body.
	_, _ = io.WriteString(w, u.body())
}

// head is what reply sends before the body, for those who write it by hand.
func (u *Upstream) head(length int) string {
	return fmt.Sprintf("HTTP/1.1 200 OK\r\nx-upstream: %s\r\ncontent-type: text/plain\r\n"+
		"content-length: %d\r\nconnection: close\r\n\r\n", u.cfg.Name, length)
}

// takeOver answers on the connection itself, and ends it.
func (u *Upstream) takeOver(w http.ResponseWriter, f Fault) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return // the connection has ended
	}
	defer u.conns.drop(conn)
	// A write fails when the client is gone or the connection was cut; then
	// there is nobody left to answer to.
	switch body := u.body(); f.Kind {
	case SlowHeaders:
		if u.dribble(conn, u.head(len(body)), f.Time) {
			_, _ = io.WriteString(conn, body)
		}
	case SlowBody:
		_, _ = io.WriteString(conn, u.head(len(body)))
		u.dribble(conn, body, f.Time)
	case Hang:
		_, _ = io.Copy(io.Discard, conn) // until the client leaves
	case HangBody:
		_, _ = io.WriteString(conn, u.head(promised)+body)
		_, _ = io.Copy(io.Discard, conn)
	case Reset:
		_ = conn.(*net.TCPConn).SetLinger(0) // Close then sends RST
	case Garbage:
		_, _ = io.WriteString(conn, "this is no HTTP\r\n\r\n")
	case Truncate:
		_, _ = io.WriteString(conn, u.head(promised)+body)
	}
}

// dribble writes text in pieces that take total, and tells whether it is out.
func (u *Upstream) dribble(conn net.Conn, text string, total time.Duration) bool {
	size := (len(text) + pieces - 1) / pieces
	count := (len(text) + size - 1) / size
	for len(text) > 0 {
		if !u.wait(total/time.Duration(count), nil) {
			return false
		}
		n := min(size, len(text))
		if _, err := io.WriteString(conn, text[:n]); err != nil {
			return false
		}
		text = text[n:]
	}
	return true
}

// wait tells whether d went by before gone was closed or the upstream ended.
func (u *Upstream) wait(d time.Duration, gone <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-gone:
	case <-u.ended:
	}
	return false
}
