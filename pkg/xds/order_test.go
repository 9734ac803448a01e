package xds

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"lab/pkg/journal"
	"lab/pkg/xds/xdstest"
)

func full(t testing.TB, port int) []proto.Message {
	return []proto.Message{
		xdstest.Cluster("a", time.Second), xdstest.Assignment("a", port),
		xdstest.Listener(t, "l", port, "r", "p"+strconv.Itoa(port)), xdstest.Route("r", "a"),
	}
}

var four = []string{cds, eds, lds, rds}

// subscribe asks for the four types and acknowledges them.
func (c *client) subscribe(version string) {
	c.t.Helper()
	for _, url := range four {
		c.ask(url, "", "", wanted(url)...)
		c.ackTo(url, version, wanted(url)...)
	}
}

func wanted(url string) []string {
	return map[string][]string{eds: {"a"}, rds: {"r"}}[url]
}

// ackAll acknowledges the next four responses and gives their types.
func (c *client) ackAll(version string) (order []string) {
	c.t.Helper()
	for range four {
		r := c.take("a response of " + version)
		if r.GetVersionInfo() != version {
			c.t.Fatalf("got %s %q, want version %q", short(r.GetTypeUrl()), r.GetVersionInfo(), version)
		}
		order = append(order, r.GetTypeUrl())
		c.ask(r.GetTypeUrl(), version, r.GetNonce(), wanted(r.GetTypeUrl())...)
	}
	return order
}

// The client acknowledges a push only after the next one has begun: the order
// holds all the same.
func TestOneSnapshotGoesOutInOrder(t *testing.T) {
	l := serve(t, Options{})
	l.push("0", full(t, 1000)...)
	c, d := l.dial(), l.dial()
	c.subscribe("0")
	d.subscribe("0")
	for i := 1; i <= 20; i++ {
		version := strconv.Itoa(i)
		done := make(chan struct{})
		go func() { defer close(done); l.push(version, full(t, 1000+i)...) }()
		for _, one := range []*client{c, d} {
			if got := one.ackAll(version); !slices.Equal(got, four) {
				t.Fatalf("push %d went out as %v", i, got)
			}
		}
		<-done
	}
}

func TestRandomOrderIsStock(t *testing.T) {
	l := serve(t, Options{Order: Random})
	l.push("0", full(t, 1000)...)
	c := l.dial()
	c.subscribe("0")
	seen := map[string]bool{}
	for i := 1; i <= 100 && len(seen) < 2; i++ {
		version := strconv.Itoa(i)
		mark := l.sink.Len()
		l.push(version, full(t, 1000+i)...)
		seen[strconv.Quote(short(c.ackAll(version)[0]))] = true
		for _, url := range four {
			l.sink.Wait(t, mark, "the ACK of "+short(url), xdstest.Acked(short(url), version))
		}
	}
	if len(seen) < 2 {
		t.Fatalf("the first type was always %v in 100 pushes", seen)
	}
}

// A client that withholds the ACK of CDS, as Envoy does while a cluster warms,
// gets the types behind it, and the journal says why CDS does not go out.
func TestWarmingClientGetsItsEndpoints(t *testing.T) {
	l := serve(t, Options{})
	l.push("1", full(t, 1)...)
	c := l.dial()
	c.subscribe("1")
	l.sink.Wait(t, 0, "the ACK of RDS 1", xdstest.Acked("RDS", "1"))
	l.push("2", full(t, 2)...)
	nonce := c.expect(cds, "2").GetNonce()
	for _, url := range four[1:] {
		c.ackTo(url, "2", wanted(url)...)
	}
	mark := l.sink.Len()
	l.push("3", full(t, 3)...)
	for _, url := range four[1:] {
		c.ackTo(url, "3", wanted(url)...)
	}
	w := l.sink.Wait(t, mark, "warming", xdstest.Withheld("CDS", warming))
	if w.Withheld.Version != "3" {
		t.Errorf("version %q, want 3", w.Withheld.Version)
	}
	c.ask(cds, "2", nonce)
	c.expect(cds, "3")
}

// Types outside the usual five go out behind them, and a type that lost its
// last resource goes out empty.
func TestOtherTypesAndEmptyTypes(t *testing.T) {
	l := serve(t, Options{})
	l.push("1", xdstest.Static("a"), xdstest.Listener(t, "l", 1, "r", "p"))
	c := l.dial()
	const other = "type.googleapis.com/envoy.service.runtime.v3.Runtime"
	for _, url := range []string{cds, lds, other} {
		c.ask(url, "", "")
		c.ackTo(url, "1")
		l.sink.Wait(t, 0, "the ACK of "+short(url), xdstest.Acked(short(url), "1"))
	}
	l.push("2", xdstest.Static("a"))
	c.expect(cds, "2")
	if got := namesOf(c.expect(lds, "2")); len(got) != 0 {
		t.Errorf("listeners %v, want none", got)
	}
	c.expect(other, "2")
}

func TestPushesTakeTurns(t *testing.T) {
	l := serve(t, Options{})
	l.push("0", full(t, 1000)...)
	c := l.dial()
	c.subscribe("0")
	const n = 10
	done := make(chan error, n)
	for i := 1; i <= n; i++ {
		go func() { done <- l.Push(t.Context(), xdstest.Set(t, strconv.Itoa(i), full(t, 1000+i)...)) }()
	}
	last := ""
	for range n * len(four) {
		r := c.take("a response")
		if r.GetTypeUrl() == cds {
			last = r.GetVersionInfo()
		} else if r.GetVersionInfo() != last {
			t.Fatalf("%s %s came in the middle of %s", short(r.GetTypeUrl()), r.GetVersionInfo(), last)
		}
		c.ask(r.GetTypeUrl(), r.GetVersionInfo(), r.GetNonce(), wanted(r.GetTypeUrl())...)
	}
	for range n {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// The ACK can be back before Send has returned; the journal has it behind the
// response all the same.
func TestJournalOrderIsWireOrder(t *testing.T) {
	l := serve(t, Options{})
	l.push("0", full(t, 1000)...)
	c := l.dial()
	c.subscribe("0")
	for i := 1; i <= 200; i++ {
		version := strconv.Itoa(i)
		done := make(chan struct{})
		go func() { defer close(done); l.push(version, full(t, 1000+i)...) }()
		c.ackAll(version)
		<-done
	}
	sent := map[string]bool{"": true}
	for _, e := range l.sink.After(0) {
		if e.Response != nil {
			sent[e.Response.Nonce] = true
		}
		if e.Request != nil && !sent[e.Request.Nonce] {
			t.Fatalf("a request with nonce %s stands before its response", e.Request.Nonce)
		}
		if e.Request != nil && e.Request.Class == journal.Stale {
			t.Fatalf("stale: %s", xdstest.Text([]journal.Event{e}))
		}
	}
}
