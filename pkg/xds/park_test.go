package xds

import (
	"testing"
	"time"

	"lab/pkg/journal"
	"lab/pkg/xds/xdstest"
)

func TestRejectedVersionIsParked(t *testing.T) {
	l := serve(t, Options{})
	l.push("1", xdstest.Static("a"))
	c := l.dial()
	c.ask(cds, "", "")
	c.ackTo(cds, "1")
	l.sink.Wait(t, 0, "the ACK of CDS 1", xdstest.Acked("CDS", "1"))

	l.push("2-bad", xdstest.Static("bad"))
	c.nack(cds, "1", c.expect(cds, "2-bad").GetNonce())
	w := l.sink.Wait(t, 0, "parked", xdstest.Withheld("CDS", parked))
	if w.Withheld.Version != "2-bad" {
		t.Errorf("parked version %q, want 2-bad", w.Withheld.Version)
	}
	c.nothing()

	l.push("3", xdstest.Static("b"))
	c.ackTo(cds, "3")
	all := l.sink.After(0)
	if n := xdstest.Count(all, xdstest.Sent("CDS", "2-bad")); n != 1 {
		t.Errorf("the rejected version was sent %d times, want once\n%s", n, xdstest.Text(all))
	}
	if n := xdstest.Count(all, xdstest.Request("CDS", journal.Nack)); n != 1 {
		t.Errorf("%d NACKs, want 1", n)
	}
}

// Without the repair the cache compares with the version that the client
// accepted, so it answers each NACK with the same version.
func TestStockServerStormsAfterNack(t *testing.T) {
	l := serve(t, Options{stormy: true})
	l.push("1", xdstest.Static("a"))
	c := l.dial()
	c.ask(cds, "", "")
	c.ackTo(cds, "1")
	l.sink.Wait(t, 0, "the ACK of CDS 1", xdstest.Acked("CDS", "1"))
	l.push("2-bad", xdstest.Static("bad"))
	for range 50 {
		c.nack(cds, "1", c.expect(cds, "2-bad").GetNonce())
	}
}

func TestRollbackToAnEarlierVersionString(t *testing.T) {
	l := serve(t, Options{})
	l.push("1", xdstest.Static("a"))
	c := l.dial()
	c.ask(cds, "", "")
	c.ackTo(cds, "1")
	l.sink.Wait(t, 0, "the ACK of CDS 1", xdstest.Acked("CDS", "1"))
	l.push("2-bad", xdstest.Static("bad"))
	c.nack(cds, "1", c.expect(cds, "2-bad").GetNonce())
	l.sink.Wait(t, 0, "parked", xdstest.Withheld("CDS", parked))
	l.push("1", xdstest.Static("a"))
	c.ackTo(cds, "1")
	l.sink.Wait(t, l.sink.Len()-1, "the second ACK of CDS 1", xdstest.Acked("CDS", "1"))
	l.push("2", xdstest.Static("b"))
	c.ackTo(cds, "2")
}

// A version string that comes back with other content reaches a client that
// still owes the ACK of that version: pushes are compared, not strings.
func TestReusedVersionReachesASlowClient(t *testing.T) {
	l := serve(t, Options{})
	l.push("1", xdstest.Static("a"))
	c := l.dial()
	c.ask(cds, "", "")
	nonce := c.expect(cds, "1").GetNonce()
	l.push("2", xdstest.Static("b"))
	l.push("1", xdstest.Static("c"))
	c.ask(cds, "1", nonce)
	if got := namesOf(c.expect(cds, "1")); len(got) != 1 || got[0] != "c" {
		t.Fatalf("got %v, want [c]", got)
	}
}

// After a NACK a client may ask for another name; its request still carries
// the version that it accepted last. What was rejected is not offered for it,
// unless the new name is part of it.
func TestAskingAgainAfterNack(t *testing.T) {
	l := serve(t, Options{})
	l.push("1", xdstest.Assignment("a", 1))
	c := l.dial()
	c.ask(eds, "", "", "a")
	c.ackTo(eds, "1", "a")
	l.sink.Wait(t, 0, "the ACK of EDS 1", xdstest.Acked("EDS", "1"))
	l.push("2", xdstest.Assignment("a", 2), xdstest.Assignment("b", 2))
	bad := c.expect(eds, "2").GetNonce()
	c.nack(eds, "1", bad, "a")
	c.ask(eds, "1", bad, "a", "missing")
	w := l.sink.Wait(t, 0, "the missing name", xdstest.Withheld("EDS", names))
	if len(w.Withheld.Names) != 1 || w.Withheld.Names[0] != "missing" {
		t.Errorf("names %v, want [missing]", w.Withheld.Names)
	}
	c.nothing()
	c.ask(eds, "1", bad, "a", "b")
	c.expect(eds, "2")
}

// A control plane that restarted sees a version that it never sent: the client
// gets what is in force, even where the strings are equal.
func TestFirstRequestOfAStreamIsAlwaysAnswered(t *testing.T) {
	t.Run("snapshot first", func(t *testing.T) {
		l := serve(t, Options{})
		l.push("1", xdstest.Static("a"))
		c := l.dial()
		c.ask(cds, "1", "")
		c.expect(cds, "1")
	})
	t.Run("stream first", func(t *testing.T) {
		l := serve(t, Options{})
		c := l.dial()
		c.ask(cds, "1", "")
		l.sink.Wait(t, 0, "no-snapshot", xdstest.Withheld("CDS", noSnapshot))
		l.push("1", xdstest.Static("a"))
		c.expect(cds, "1")
	})
}

func TestPushRefusesTheVersionInForce(t *testing.T) {
	l := serve(t, Options{})
	l.push("1", xdstest.Static("a"))
	for _, version := range []string{"1", ""} {
		if err := l.Push(t.Context(), xdstest.Set(t, version, xdstest.Static("b"))); err == nil {
			t.Errorf("version %q was taken", version)
		}
	}
}

func TestStopEndsOpenStreamsWithinASecond(t *testing.T) {
	l := serve(t, Options{})
	l.push("1", xdstest.Static("a"))
	c := l.dial()
	c.ask(cds, "", "")
	c.ackTo(cds, "1")
	from := time.Now()
	l.stop()
	if d := time.Since(from); d > 3*time.Second {
		t.Errorf("it took %v", d)
	}
	e := l.sink.Wait(t, 0, "the end of the stream", func(e journal.Event) bool {
		return e.Stream != nil && e.Stream.State == "closed"
	})
	if e.Stream.Reason != "server" {
		t.Errorf("reason %q, want server", e.Stream.Reason)
	}
}
