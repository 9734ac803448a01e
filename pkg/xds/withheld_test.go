package xds

import (
	"slices"
	"testing"

	"lab/pkg/journal"
	"lab/pkg/xds/xdstest"
)

// orphan pushes {a}, {a,b}, {a} changed to a client that asks for a only.
func orphan(t *testing.T, opt Options) (*lab, *client) {
	t.Helper()
	l := serve(t, opt)
	l.push("1", xdstest.Assignment("a", 1))
	c := l.dial()
	c.ask(eds, "", "", "a")
	c.ackTo(eds, "1", "a")
	l.sink.Wait(t, 0, "the ACK of EDS 1", xdstest.Acked("EDS", "1"))
	l.push("2", xdstest.Assignment("a", 1), xdstest.Assignment("b", 1))
	return l, c
}

func TestOrphanAssignmentLosesNothing(t *testing.T) {
	l, c := orphan(t, Options{})
	if got := namesOf(c.ackTo(eds, "2", "a")); !slices.Equal(got, []string{"a"}) {
		t.Errorf("sent %v, want [a]", got)
	}
	w := l.sink.Wait(t, 0, "the orphan", xdstest.Withheld("EDS", notAsked))
	if !slices.Equal(w.Withheld.Names, []string{"b"}) || w.Withheld.Version != "2" {
		t.Errorf("withheld %+v, want b of version 2", *w.Withheld)
	}
	l.push("3", xdstest.Assignment("a", 3))
	c.ackTo(eds, "3", "a")
}

// With ads=true go-control-plane sends nothing for the second push and drops
// the watch, so that the third one is lost as well.
func TestStockADSCacheLosesTheNextPush(t *testing.T) {
	l, c := orphan(t, Options{ads: true})
	l.push("3", xdstest.Assignment("a", 3))
	c.nothing()
}

// A name that is not in the snapshot: v0.14.0 with ads=false answers with what
// there is, which may be nothing, and keeps the watch.
func TestMissingAssignmentIsToldAndComesLater(t *testing.T) {
	l := serve(t, Options{})
	c := l.dial()
	c.ask(eds, "", "", "a", "b")
	w := l.sink.Wait(t, 0, "no-snapshot", xdstest.Withheld("EDS", noSnapshot))
	if !slices.Equal(w.Withheld.Names, []string{"a", "b"}) {
		t.Errorf("names %v, want [a b]", w.Withheld.Names)
	}
	l.push("1", xdstest.Static("other"))
	if got := namesOf(c.ackTo(eds, "1", "a", "b")); len(got) != 0 {
		t.Errorf("sent %v, want nothing", got)
	}
	w = l.sink.Wait(t, 0, "the missing names", xdstest.Withheld("EDS", names))
	if !slices.Equal(w.Withheld.Names, []string{"a", "b"}) || w.Withheld.Version != "1" {
		t.Errorf("withheld %+v, want a and b of version 1", *w.Withheld)
	}
	l.push("2", xdstest.Assignment("a", 1))
	c.ackTo(eds, "2", "a", "b")
	l.sink.Wait(t, 0, "b missing in version 2", func(e journal.Event) bool {
		return xdstest.Withheld("EDS", names)(e) && e.Withheld.Version == "2" && slices.Equal(e.Withheld.Names, []string{"b"})
	})
	l.push("3", xdstest.Assignment("a", 1), xdstest.Assignment("b", 1))
	if got := len(namesOf(c.ackTo(eds, "3", "a", "b"))); got != 2 {
		t.Errorf("%d resources, want 2", got)
	}
	c.nothing() // the last ACK was handled
	if n := xdstest.Count(l.sink.After(0), xdstest.Withheld("EDS", names)); n != 2 {
		t.Errorf("told %d times, want once for each of the versions 1 and 2\n%s", n, xdstest.Text(l.sink.After(0)))
	}
}

// A client that repeats its request is told about once.
func TestWithheldIsToldOnce(t *testing.T) {
	l := serve(t, Options{})
	l.push("1", xdstest.Assignment("a", 1))
	c := l.dial()
	c.ask(eds, "", "", "a", "b")
	nonce := c.expect(eds, "1").GetNonce()
	for range 5 {
		c.ask(eds, "1", nonce, "a", "b")
	}
	c.nothing()
	if n := xdstest.Count(l.sink.After(0), xdstest.Withheld("EDS", names)); n != 1 {
		t.Errorf("told %d times, want once", n)
	}
}

// A client that unsubscribed from everything gets nothing: v0.14.0 alone takes
// the empty list of names for all of them.
func TestUnsubscribedClientGetsNothing(t *testing.T) {
	l := serve(t, Options{})
	l.push("1", xdstest.Assignment("a", 1))
	c := l.dial()
	c.ask(eds, "", "", "a")
	nonce := c.ackTo(eds, "1", "a").GetNonce()
	c.ask(eds, "1", nonce)
	l.sink.Wait(t, 0, "the unsubscription", xdstest.Request("EDS", journal.Resubscribe))
	c.nothing()
	l.push("2", xdstest.Assignment("a", 2))
	c.nothing()
	c.ask(eds, "1", nonce, "a")
	c.expect(eds, "2")
}
