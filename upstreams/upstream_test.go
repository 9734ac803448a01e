package upstreams

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"lab/pkg/journal"
	"lab/pkg/problem"
)

// deadline is when a test gives up waiting for an event.
const deadline = 20 * time.Second

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// sink keeps events and lets a test wait for them.
type sink struct {
	mu     sync.Mutex
	events []journal.Event
	news   chan struct{}
}

func newSink() *sink { return &sink{news: make(chan struct{}, 1)} }

func (s *sink) Emit(e journal.Event) {
	s.mu.Lock()
	s.events = append(s.events, e)
	s.mu.Unlock()
	select {
	case s.news <- struct{}{}:
	default:
	}
}

// hits sums up the requests counted so far under a fault.
func (s *sink) hits(fault string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.events {
		if e.Kind == journal.KindHit && e.Hit.Fault == fault {
			n += e.Hit.Count
		}
	}
	return n
}

func (s *sink) waitHits(t *testing.T, fault string, n int) {
	t.Helper()
	end := time.After(deadline)
	for s.hits(fault) < n {
		select {
		case <-s.news:
		case <-end:
			t.Fatalf("waited for %d hits under %s, have %d", n, fault, s.hits(fault))
		}
	}
}

func start(t *testing.T) (*Upstream, *sink) {
	t.Helper()
	s := newSink()
	u, err := Start(Config{Name: "red", Addr: "127.0.0.1:0", Sink: s, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := u.Close(); err != nil {
			t.Error(err)
		}
	})
	return u, s
}

func set(t *testing.T, u *Upstream, fault string) {
	t.Helper()
	f, err := ParseFault(fault)
	if err != nil {
		t.Fatal(err)
	}
	if err := u.SetFault(f); err != nil {
		t.Fatal(err)
	}
	if got := u.Fault().String(); got != fault {
		t.Fatalf("the fault in force is %s, want %s", got, fault)
	}
}

// get sends one request over a connection of its own.
func get(u *Upstream, timeout time.Duration) (status int, body string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+u.Addr()+"/", strings.NewReader("a body"))
	if err != nil {
		return 0, "", err
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true,
		// The transport's own context for a dial outlives the request's.
		DialContext: func(_ context.Context, network, addr string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, addr)
		}}}
	res, err := client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	if got := res.Header.Get("x-upstream"); got != "red" {
		return 0, "", errors.New("x-upstream is " + got)
	}
	raw, err := io.ReadAll(res.Body)
	return res.StatusCode, string(raw), err
}

func TestFaultsOnTheWire(t *testing.T) {
	short := 300 * time.Millisecond // for what never comes
	for _, c := range []struct {
		fault   string
		timeout time.Duration
		status  int // 0: no answer
		body    string
		err     func(error) bool
		hits    int
	}{
		{"ok", deadline, 200, "red\n", isNil, 1},
		{"status=503", deadline, 503, "red\n", isNil, 1},
		{"delay=100ms", deadline, 200, "red\n", isNil, 1},
		{"delay=10m0s", short, 0, "", isTimeout, 1},
		{"slow-headers=100ms", deadline, 200, "red\n", isNil, 1},
		{"slow-headers=10m0s", short, 0, "", isTimeout, 1},
		{"slow-body=100ms", deadline, 200, "red\n", isNil, 1},
		{"slow-body=10m0s", short, 200, "", isTimeout, 1},
		{"hang", short, 0, "", isTimeout, 1},
		{"hang-body", short, 200, "red\n", isTimeout, 1},
		{"reset", deadline, 0, "", is(syscall.ECONNRESET), 1},
		{"fin", deadline, 0, "", is(io.EOF), 1},
		{"garbage", deadline, 0, "", isProtocol, 1},
		{"truncate", deadline, 200, "red\n", is(io.ErrUnexpectedEOF), 1},
		{"refuse", deadline, 0, "", is(syscall.ECONNREFUSED), 0},
		{"black-hole", short, 0, "", isTimeout, 0},
		{"flap=10m0s", deadline, 0, "", is(syscall.ECONNREFUSED), 0},
	} {
		t.Run(c.fault, func(t *testing.T) {
			u, s := start(t)
			set(t, u, c.fault)
			status, body, err := get(u, c.timeout)
			if status != c.status || body != c.body || !c.err(err) {
				t.Errorf("got %d %q %v", status, body, err)
			}
			u.Flush()
			if n := s.hits(c.fault); n != c.hits {
				t.Errorf("%d hits, want %d", n, c.hits)
			}
			set(t, u, "ok")
			if status, _, err := get(u, deadline); status != 200 || err != nil {
				t.Errorf("after the fault: %d %v", status, err)
			}
		})
	}
}

func isNil(err error) bool { return err == nil }
func isTimeout(err error) bool {
	late, ok := errors.AsType[net.Error](err)
	return ok && late.Timeout() || errors.Is(err, context.DeadlineExceeded)
}
func isProtocol(err error) bool {
	return err != nil && strings.Contains(err.Error(), "malformed HTTP")
}
func is(want error) func(error) bool {
	return func(err error) bool { return errors.Is(err, want) }
}

// TestBlackHoleLetsNobodyIn tells a connection that hangs from one that was
// made and gets no answer: Envoy would report the second as another fault.
func TestBlackHoleLetsNobodyIn(t *testing.T) {
	u, _ := start(t)
	for range 3 {
		set(t, u, "black-hole")
		conn, err := net.DialTimeout("tcp", u.Addr(), 200*time.Millisecond)
		if err == nil {
			conn.Close()
		}
		if !isTimeout(err) {
			t.Errorf("a connection: %v", err)
		}
		set(t, u, "refuse")
		if _, err := net.Dial("tcp", u.Addr()); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("after the black hole: %v", err)
		}
	}
}

func TestStatusSequenceStartsAgain(t *testing.T) {
	u, _ := start(t)
	set(t, u, "status=500,404,200")
	for i, want := range []int{500, 404, 200, 500, 404} {
		if status, _, err := get(u, deadline); status != want || err != nil {
			t.Errorf("request %d: %d %v, want %d", i, status, err, want)
		}
	}
	set(t, u, "status=500,404,200")
	if status, _, _ := get(u, deadline); status != 500 {
		t.Errorf("set again, the first answer is %d", status)
	}
}

func TestPendingRequestEndsUnderItsFault(t *testing.T) {
	u, s := start(t)
	set(t, u, "delay=1s")
	type answer struct {
		status int
		err    error
	}
	got := make(chan answer, 1)
	go func() {
		status, _, err := get(u, deadline)
		got <- answer{status, err}
	}()
	s.waitHits(t, "delay=1s", 1)
	set(t, u, "status=503")
	if status, _, err := get(u, deadline); status != 503 || err != nil {
		t.Errorf("the new request got %d %v", status, err)
	}
	if a := <-got; a.status != 200 || a.err != nil {
		t.Errorf("the pending request got %d %v", a.status, a.err)
	}
}

// keepAlive opens a connection that has had one answer.
func keepAlive(t *testing.T, u *Upstream) (net.Conn, *bufio.Reader) {
	t.Helper()
	conn, err := net.Dial("tcp", u.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(deadline)); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(conn)
	if status, err := over(conn, r); status != 200 || err != nil {
		t.Fatalf("first request: %d %v", status, err)
	}
	return conn, r
}

func over(conn net.Conn, r *bufio.Reader) (int, error) {
	if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nhost: x\r\n\r\n"); err != nil {
		return 0, err
	}
	res, err := http.ReadResponse(r, nil)
	if err != nil {
		return 0, err
	}
	_, err = io.Copy(io.Discard, res.Body)
	return res.StatusCode, err
}

func TestConnectionFaultsCutOpenConnections(t *testing.T) {
	for _, fault := range []string{"refuse", "black-hole", "flap=10m0s"} {
		u, s := start(t)
		_, idle := keepAlive(t, u)
		pendingConn, pending := keepAlive(t, u)
		set(t, u, "hang")
		if _, err := io.WriteString(pendingConn, "GET / HTTP/1.1\r\nhost: x\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		s.waitHits(t, "hang", 1)
		set(t, u, fault)
		for name, r := range map[string]*bufio.Reader{"idle": idle, "pending": pending} {
			if _, err := r.ReadByte(); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("%s: the %s connection is not cut: %v", fault, name, err)
			}
		}
	}
}

func TestOtherFaultsKeepOpenConnections(t *testing.T) {
	u, _ := start(t)
	conn, r := keepAlive(t, u)
	set(t, u, "status=503")
	if status, err := over(conn, r); status != 503 || err != nil {
		t.Errorf("over the same connection: %d %v", status, err)
	}
}

func TestFlapTurns(t *testing.T) {
	u, s := start(t)
	set(t, u, "flap=50ms")
	end := time.Now().Add(deadline)
	for i, open := range []bool{false, true, false, true} {
		for {
			conn, err := net.Dial("tcp", u.Addr())
			if err == nil {
				conn.Close()
			}
			if open == (err == nil) {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("turn %d: waited for open = %t", i, open)
			}
		}
	}
	set(t, u, "ok")
	if status, _, err := get(u, deadline); status != 200 || err != nil {
		t.Errorf("after the flap: %d %v", status, err)
	}
	for _, e := range s.events {
		if e.Kind == journal.KindNote {
			t.Errorf("a turn failed: %v", e.Note.Args)
		}
	}
}

func TestHitsAreSummedUp(t *testing.T) {
	u, s := start(t)
	before := time.Now()
	for range 20 {
		if _, _, err := get(u, deadline); err != nil {
			t.Fatal(err)
		}
	}
	set(t, u, "status=500")
	if _, _, err := get(u, deadline); err != nil {
		t.Fatal(err)
	}
	s.waitHits(t, "status=500", 1) // by the ticker
	if n := s.hits("ok"); n != 20 {
		t.Errorf("%d hits under ok, want 20", n)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.events {
		if e.Source != journal.Upstream || e.Hit.Upstream != "red" || e.Hit.Last.Before(before) || e.Hit.Last.After(e.Time) {
			t.Errorf("event %+v, hit %+v", e, *e.Hit)
		}
	}
	if windows := int(time.Since(before)/hitWindow) + 2; len(s.events) > windows+1 {
		t.Errorf("%d events in %d windows", len(s.events), windows)
	}
}

func TestPortOfLastTime(t *testing.T) {
	s := newSink()
	addr := "127.0.0.1:0"
	for range 3 {
		u, err := Start(Config{Name: "red", Addr: addr, Sink: s, Now: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		if addr != "127.0.0.1:0" && u.Addr() != addr {
			t.Errorf("the address is %s, want %s", u.Addr(), addr)
		}
		addr = u.Addr()
		conn, _ := keepAlive(t, u)
		if err := u.Close(); err != nil { // ends first: leaves TIME_WAIT on the port
			t.Fatal(err)
		}
		conn.Close()
		if err := u.Close(); err != nil {
			t.Errorf("closed twice: %v", err)
		}
		if err := u.SetFault(Fault{Kind: OK}); !errors.Is(err, errClosed) {
			t.Errorf("SetFault after Close: %v", err)
		}
		l, err := net.Listen("tcp", addr)
		if err != nil {
			t.Fatalf("the port is not given back: %v", err)
		}
		l.Close()
	}
}

func TestStartRefuses(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	_, err = Start(Config{Name: "red", Addr: taken.Addr().String(), Sink: newSink(), Now: time.Now})
	var p *problem.Problem
	if !errors.As(err, &p) || p.Code != "upstreams.port" || !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("a taken port: %v", err)
	}
	for _, c := range []Config{
		{Name: "red", Addr: "0.0.0.0:0"}, {Name: "red", Addr: "[::1]:0"}, {Name: "red", Addr: ":0"}, {Name: "red", Addr: "localhost:0"},
		{Name: "", Addr: "127.0.0.1:0"}, {Name: "a\r\nb: c", Addr: "127.0.0.1:0"}, {Name: "red\n", Addr: "127.0.0.1:0"},
	} {
		if _, err := Start(c); err == nil {
			t.Errorf("Start(%q, %q) succeeded", c.Name, c.Addr)
		}
	}
}

// TestSwitchUnderLoad looks for races and for what a switch leaves behind.
func TestSwitchUnderLoad(t *testing.T) {
	u, _ := start(t)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					_, _, _ = get(u, 50*time.Millisecond) // fails in many ways
				}
			}
		})
	}
	for range 3 {
		for _, form := range Forms() {
			set(t, u, form)
		}
	}
	wg.Go(func() { set(t, u, "refuse") })
	set(t, u, "flap=50ms")
	close(stop)
	wg.Wait()
	set(t, u, "ok")
	if status, _, err := get(u, deadline); status != 200 || err != nil {
		t.Errorf("at the end: %d %v", status, err)
	}
}

// TestDelayOfOneRequest: a request may ask for a delay, up to a bound, under any
// fault, and nobody else waits for it.
func TestDelayOfOneRequest(t *testing.T) {
	u, _ := start(t)
	set(t, u, "status=503")
	ask := func(delay string) (int, time.Duration) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+u.Addr()+"/", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Close = true
		req.Header.Set(DelayHeader, delay)
		began := time.Now()
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		return res.StatusCode, time.Since(began)
	}
	if code, took := ask("200ms"); code != 503 || took < 200*time.Millisecond {
		t.Errorf("%d after %s", code, took)
	}
	for _, none := range []string{"", "x", "-5s", "61s", "1h", "5"} {
		if code, took := ask(none); code != 503 || took > 5*time.Second {
			t.Errorf("%q: %d after %s", none, code, took)
		}
	}
}
