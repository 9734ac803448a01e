package traffic

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"lab/pkg/journal"
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

// counts sums up the journal: requests sent and failed, and those not counted.
func (s *sink) counts() (sent, failed int, missed map[string]int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	missed = map[string]int{}
	for _, e := range s.events {
		if e.Kind == journal.KindNote {
			n, _ := strconv.Atoi(e.Note.Args["count"])
			missed[e.Note.Args["reason"]] += n
			continue
		}
		sent += e.Probe.Sent
		failed += e.Probe.Failed
	}
	return sent, failed, missed
}

func (s *sink) wait(t *testing.T, what string, ok func(sent, failed int, missed map[string]int) bool) {
	t.Helper()
	end := time.After(deadline)
	for !ok(s.counts()) {
		select {
		case <-s.news:
		case <-end:
			sent, failed, missed := s.counts()
			t.Fatalf("waited for %s; sent %d, failed %d, not counted %v", what, sent, failed, missed)
		}
	}
}

// raw serves connections by hand; a request's head has been read when fn is
// called. It gives the URL and the count of requests.
func raw(t *testing.T, fn func(c *net.TCPConn)) (string, *atomic.Int64) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var n atomic.Int64
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer c.Close()
				if _, err := c.Read(make([]byte, 4096)); err != nil {
					return
				}
				n.Add(1)
				fn(c.(*net.TCPConn))
			})
		}
	})
	t.Cleanup(func() { l.Close(); wg.Wait() })
	return "http://" + l.Addr().String(), &n
}

func says(text string) func(*net.TCPConn) {
	return func(c *net.TCPConn) { _, _ = io.WriteString(c, text) }
}

func send(t *testing.T, url string, n int, timeout time.Duration) (Summary, *sink) {
	t.Helper()
	s := newSink()
	sum, err := Send(t.Context(), SendConfig{URL: url, Path: "/", N: n, Concurrency: 4, Timeout: timeout, Sink: s, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	return sum, s
}

func TestHowARequestMayGo(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	silent := func(c *net.TCPConn) { _, _ = c.Read(make([]byte, 1)) } // until the client leaves
	for _, c := range []struct {
		name   string
		serve  func(*net.TCPConn)
		want   journal.ProbeGroup
		failed int
	}{
		{"answer", says("HTTP/1.1 200 OK\r\nx-upstream: red\r\ncontent-length: 3\r\n\r\nred"), journal.ProbeGroup{Status: 200, Upstream: "red"}, 0},
		{"chunked", says("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nred\r\n0\r\n\r\n"), journal.ProbeGroup{Status: 200}, 1},
		{"local reply", says("HTTP/1.1 503 No\r\ncontent-length: 0\r\n\r\n"), journal.ProbeGroup{Status: 503}, 1},
		{"not found", says("HTTP/1.1 404 No\r\ncontent-length: 0\r\n\r\n"), journal.ProbeGroup{Status: 404}, 1},
		{"redirect", says("HTTP/1.1 302 No\r\nlocation: http://192.0.2.1/\r\ncontent-length: 0\r\n\r\n"), journal.ProbeGroup{Status: 302}, 1},
		{"long name", says("HTTP/1.1 200 OK\r\nx-upstream: " + strings.Repeat("r", 5000) + "\r\ncontent-length: 0\r\n\r\n"),
			journal.ProbeGroup{Status: 200, Upstream: strings.Repeat("r", maxName)}, 0},
		{"long body", says("HTTP/1.1 200 OK\r\ncontent-length: 300000\r\n\r\n" + strings.Repeat("r", 300000)), journal.ProbeGroup{Status: 200}, 1},
		{"cut body", says("HTTP/1.1 200 OK\r\nx-upstream: red\r\ncontent-length: 100\r\n\r\nred"),
			journal.ProbeGroup{Status: 200, Upstream: "red", Error: EOF}, 1},
		{"cut chunk", says("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nred\r\n"), journal.ProbeGroup{Status: 200, Error: EOF}, 1},
		{"endless head", says("HTTP/1.1 200 OK\r\nx: " + strings.Repeat("r", 2*maxHead) + "\r\n\r\n"), journal.ProbeGroup{Error: EOF}, 1},
		{"refused", nil, journal.ProbeGroup{Error: Refused}, 1},
		{"reset", func(c *net.TCPConn) { _ = c.SetLinger(0) }, journal.ProbeGroup{Error: Reset}, 1},
		{"eof", func(*net.TCPConn) {}, journal.ProbeGroup{Error: EOF}, 1},
		{"timeout", silent, journal.ProbeGroup{Error: TimedOut}, 1},
		{"garbage", says("this is no HTTP\r\n\r\n"), journal.ProbeGroup{Error: Other}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			url, timeout := "http://"+closed.Addr().String(), deadline
			if c.serve != nil {
				url, _ = raw(t, c.serve)
			}
			if c.name == "timeout" {
				timeout = 100 * time.Millisecond
			}
			sum, s := send(t, url, 1, timeout)
			for sum.NotCounted == 1 { // the test itself did not run for a while
				sum, s = send(t, url, 1, timeout)
			}
			if len(sum.Groups) != 1 || sum.Sent != 1 || sum.Failed != c.failed {
				t.Fatalf("summary %+v", sum)
			}
			g := sum.Groups[0]
			if g.Last.IsZero() || g.MaxMS <= 0 {
				t.Errorf("last %v, max %v ms", g.Last, g.MaxMS)
			}
			g.Last, g.MaxMS = time.Time{}, 0
			c.want.Count = 1
			if g != c.want {
				t.Errorf("group %+v, want %+v", g, c.want)
			}
			if sent, failed, _ := s.counts(); sent != 1 || failed != c.failed {
				t.Errorf("the journal has %d sent, %d failed", sent, failed)
			}
		})
	}
}

// TestNothingIsSentTwice has a server that answers every other request and cuts
// the rest: what was cut must not be sent again, nor count as answered.
func TestNothingIsSentTwice(t *testing.T) {
	var turn atomic.Int64
	url, got := raw(t, func(c *net.TCPConn) {
		if turn.Add(1)%2 == 0 {
			says("HTTP/1.1 200 OK\r\nx-upstream: red\r\ncontent-length: 0\r\n\r\n")(c)
		}
	})
	sum, s := send(t, url, 40, deadline)
	if got.Load() != 40 || sum.Sent != 40 || sum.Failed != 20 {
		t.Errorf("the server got %d requests, the summary has %d sent, %d failed", got.Load(), sum.Sent, sum.Failed)
	}
	if sent, failed, _ := s.counts(); sent != 40 || failed != 20 {
		t.Errorf("the journal has %d sent, %d failed", sent, failed)
	}
}

func TestSendKeepsToItsConcurrencyAndRate(t *testing.T) {
	var now, most atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("x-upstream", "red")
		n := now.Add(1)
		for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
		}
		if r.UserAgent() != "lab/send" || r.URL.String() != "/a/b?c=d" {
			t.Errorf("got %s from %s", r.URL, r.UserAgent())
		}
		now.Add(-1)
	}))
	defer srv.Close()
	c := SendConfig{URL: srv.URL, Path: "/a/b?c=d", N: 60, Concurrency: 3, Timeout: deadline, Sink: newSink(), Now: time.Now}
	sum, err := Send(t.Context(), c)
	if err != nil || sum.Sent != 60 || sum.Failed != 0 || most.Load() > 3 {
		t.Errorf("%+v, %v, %d at a time", sum, err, most.Load())
	}
	c.N, c.Rate = 5, 50
	begin := time.Now()
	sum, err = Send(t.Context(), c)
	if took := time.Since(begin); err != nil || sum.Sent != 5 || took < 80*time.Millisecond {
		t.Errorf("%d requests at 50/s took %v, %v", sum.Sent, took, err)
	}
}

func TestSendGivesUpWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	url, _ := raw(t, func(c *net.TCPConn) {
		cancel()
		_, _ = c.Read(make([]byte, 1))
	})
	s := newSink()
	sum, err := Send(ctx, SendConfig{URL: url, Path: "/", N: 100, Concurrency: 1, Timeout: deadline, Sink: s, Now: time.Now})
	if !errors.Is(err, context.Canceled) || sum.Sent != 0 || sum.NotCounted != 1 {
		t.Errorf("%+v, %v", sum, err)
	}
	if _, failed, missed := s.counts(); failed != 0 || missed["stopped"] != 1 {
		t.Errorf("failed %d, not counted %v", failed, missed)
	}
}

func TestTargetStaysOnLoopback(t *testing.T) {
	for _, c := range [][2]string{
		{"", "/"}, {"http://192.0.2.1:80", "/"}, {"http://localhost:80", "/"}, {"http://0.0.0.0:80", "/"}, {"https://127.0.0.1:80", "/"},
		{"http://127.0.0.1", "/"}, {"http://a@192.0.2.1:80", "/"}, {"http://127.0.0.1:80", "@192.0.2.1/"},
		{"http://127.0.0.1:80", ".example.org/"}, {"http://127.0.0.1:80", "/a b\r\nx: y"}, {"http://127.0.0.1:80", "/\x00"},
	} {
		if u, err := target(c[0], c[1]); err == nil {
			t.Errorf("target(%q, %q) = %v", c[0], c[1], u)
		}
	}
	for _, c := range [][3]string{
		{"http://127.0.0.1:80", "//192.0.2.1/x", "//192.0.2.1/x"}, {"http://127.0.0.1:80/a", "/b?c", "/b?c"},
		{"http://127.0.0.1:80/a?b=c", "", "/a?b=c"}, {"http://[::1]:80", "", "/"},
	} {
		u, err := target(c[0], c[1])
		if err != nil || "http://"+u.Host != c[0][:len("http://")+len(u.Host)] || u.RequestURI() != c[2] {
			t.Errorf("target(%q, %q) = %v, %v", c[0], c[1], u, err)
		}
	}
}

// TestStarvedIsNotFailed lets the clock show that the timeout fired late.
func TestStarvedIsNotFailed(t *testing.T) {
	url, _ := raw(t, func(c *net.TCPConn) { _, _ = c.Read(make([]byte, 1)) })
	to, err := target(url, "/")
	if err != nil {
		t.Fatal(err)
	}
	clock := []time.Time{at(0), at(60000)}
	s := sender{timeout: 50 * time.Millisecond, now: func() time.Time { now := clock[0]; clock = clock[1:]; return now }}
	if r := s.send(t.Context(), to); r.skip != "starved" || r.err != TimedOut {
		t.Errorf("%+v", r)
	}
}

func steady(t *testing.T, url func() string, rate float64, timeout time.Duration) (*Generator, *sink) {
	t.Helper()
	s := newSink()
	g := Steady(Config{Name: "steady", URL: url, Rate: rate, Timeout: timeout, Sink: s, Now: time.Now})
	g.Start(t.Context())
	t.Cleanup(g.Stop)
	return g, s
}

func TestSteadyMakesNoBursts(t *testing.T) {
	var got atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("x-upstream", "red")
		got.Add(1)
		if r.URL.String() != "/orders?a=b" {
			t.Errorf("asked for %s", r.URL)
		}
		w.Header().Set("x-upstream", "red")
	}))
	defer srv.Close()
	begin := time.Now()
	g, s := steady(t, func() string { return srv.URL + "/orders?a=b" }, 100, deadline)
	s.wait(t, "50 requests", func(sent, _ int, _ map[string]int) bool { return sent >= 50 })
	g.Stop()
	took := time.Since(begin)
	sent, failed, missed := s.counts()
	if most := int(took.Seconds()*100) + 1; sent > most || failed != 0 {
		t.Errorf("%d sent in %v, %d failed", sent, took, failed)
	}
	if n := int(got.Load()); n < sent || n > sent+missed["stopped"] {
		t.Errorf("the server got %d, the journal has %d sent and %v not counted", got.Load(), sent, missed)
	}
	end := time.Time{}
	for _, e := range s.events {
		if e.Kind == journal.KindProbe {
			if e.Probe.From.Before(begin) || e.Probe.To.Before(e.Probe.From) || e.Time.Before(e.Probe.To) || e.Time.Before(end) {
				t.Errorf("window %v to %v, journaled at %v", e.Probe.From, e.Probe.To, e.Time)
			}
			end = e.Time
		}
	}
}

func TestSlowUpstreamDoesNotStopTheGenerator(t *testing.T) {
	release := make(chan struct{})
	var waiting atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("x-upstream", "red")
		waiting.Add(1)
		<-release
	}))
	defer srv.Close()
	answer := sync.OnceFunc(func() { close(release) })
	defer answer()
	g, s := steady(t, func() string { return srv.URL }, 1000, deadline)
	s.wait(t, "busy", func(_, _ int, missed map[string]int) bool { return missed["busy"] >= 10 })
	g.Flush()
	if sent, failed, _ := s.counts(); sent != 0 || failed != 0 {
		t.Errorf("%d sent and %d failed while all wait", sent, failed)
	}
	if n := waiting.Load(); n > maxInFlight {
		t.Errorf("%d requests at a time", n)
	}
	answer()
	s.wait(t, "the answers", func(sent, failed int, _ map[string]int) bool { return sent >= 2*maxInFlight && failed == 0 })
}

func TestNoAddressIsNoFailure(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("x-upstream", "red") }))
	defer srv.Close()
	var addr atomic.Value
	addr.Store("")
	g, s := steady(t, func() string { return addr.Load().(string) }, 100, deadline)
	s.wait(t, "a note", func(_, _ int, missed map[string]int) bool { return missed["no-address"] > 0 })
	addr.Store(srv.URL)
	s.wait(t, "an answer", func(sent, _ int, _ map[string]int) bool { return sent > 0 })
	g.Stop()
	if _, failed, _ := s.counts(); failed != 0 {
		t.Errorf("%d failed", failed)
	}
}

func TestStopGivesUpWhatIsInFlight(t *testing.T) {
	reached := make(chan struct{}, maxInFlight)
	url, got := raw(t, func(c *net.TCPConn) {
		reached <- struct{}{}
		_, _ = c.Read(make([]byte, 1))
	})
	g, s := steady(t, func() string { return url }, 100, time.Hour)
	select {
	case <-reached:
	case <-time.After(deadline):
		t.Fatal("waited for a request")
	}
	g.Stop()
	sent, failed, missed := s.counts()
	if sent != 0 || failed != 0 || missed["stopped"] < int(got.Load()) || missed["stopped"] == 0 {
		t.Errorf("sent %d, failed %d, not counted %v, got %d", sent, failed, missed, got.Load())
	}
}

func TestFailuresAreSeenWhileTheyHappen(t *testing.T) {
	url, _ := raw(t, func(*net.TCPConn) {})
	_, s := steady(t, func() string { return url }, 100, deadline)
	s.wait(t, "failures", func(_, failed int, _ map[string]int) bool { return failed >= 5 })
	s.mu.Lock()
	defer s.mu.Unlock()
	if first := s.events[0].Probe; first == nil || fmt.Sprint(first.Sent, first.Failed) != "1 1" {
		t.Errorf("the first failure did not come alone: %+v", s.events[0])
	}
}
