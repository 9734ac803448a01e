package xds

import (
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"lab/pkg/journal"
	"lab/pkg/xds/xdstest"
)

// world is what a real Envoy is served in these tests: a listener, a route,
// and the cluster that they lead to.
type world struct {
	*lab
	envoy *xdstest.Envoy
	port  int
}

func start(t *testing.T, opt Options, version string, messages ...proto.Message) *world {
	t.Helper()
	w := &world{lab: serve(t, opt), port: xdstest.FreePort(t)}
	if len(messages) == 0 {
		messages = w.all(time.Second, "p")
	}
	w.push(version, messages...)
	w.envoy = xdstest.Start(t, w.addr)
	return w
}

// all is the usual four, with what a test changes in them.
func (w *world) all(timeout time.Duration, statPrefix string, more ...proto.Message) []proto.Message {
	return append([]proto.Message{
		xdstest.Cluster("a", timeout), xdstest.Assignment("a", 1),
		xdstest.Listener(w.t, "l", w.port, "r", statPrefix), xdstest.Route("r", "a"),
	}, more...)
}

// acked waits until the types have acknowledged a version.
func (w *world) acked(mark int, version string, types ...string) {
	w.t.Helper()
	for _, typ := range types {
		w.sink.Wait(w.t, mark, "the ACK of "+typ+" "+version, xdstest.Acked(typ, version))
	}
}

func TestEnvoyFirstConversation(t *testing.T) {
	w := start(t, Options{}, "1")
	w.acked(0, "1", "CDS", "EDS", "LDS", "RDS")
	var order []string
	for _, e := range w.sink.After(0) {
		switch {
		case e.Response != nil:
			order = append(order, e.Response.Type)
		case e.Request != nil && e.Request.Class == journal.Subscribe:
			if want := e.Request.Type == "CDS"; e.Request.HasNode != want || e.Request.Version != "" {
				t.Errorf("the first request for %s: node %v, version %q", e.Request.Type, e.Request.HasNode, e.Request.Version)
			}
		case e.Request != nil && e.Request.Class != journal.Ack || e.Withheld != nil:
			t.Errorf("not expected: %s", xdstest.Text([]journal.Event{e}))
		}
	}
	if want := []string{"CDS", "EDS", "LDS", "RDS"}; !slices.Equal(order, want) {
		t.Errorf("responses %v, want %v", order, want)
	}
	w.envoy.Eventually(t, "LIVE", func() bool { page, _ := w.envoy.Get("/ready"); return page == "LIVE\n" })
}

func TestEnvoyRejectsOnceAndTheRepairGoesAtOnce(t *testing.T) {
	w := start(t, Options{}, "1")
	w.acked(0, "1", "CDS", "EDS", "LDS", "RDS")
	mark := w.sink.Len()
	w.push("2-bad", w.all(0, "p2")...)
	w.acked(mark, "2-bad", "EDS", "LDS", "RDS")
	nack := w.sink.Wait(t, mark, "the NACK", xdstest.Request("CDS", journal.Nack)).Request
	sent := w.sink.Wait(t, mark, "the response", xdstest.Sent("CDS", "2-bad")).Response
	if nack.Version != "1" || nack.Nonce != sent.Nonce || nack.Error == nil {
		t.Errorf("NACK %+v of response %+v", *nack, *sent)
	}
	w.sink.Wait(t, mark, "parked", xdstest.Withheld("CDS", parked))
	w.envoy.Eventually(t, "update_rejected", func() bool { return w.envoy.Stat("cluster_manager.cds.update_rejected") == "1" })

	repair := w.sink.Len()
	w.push("3", w.all(2*time.Second, "p2")...)
	w.acked(repair, "3", "CDS", "EDS", "LDS", "RDS")
	all := w.sink.After(mark)
	if n := xdstest.Count(all, xdstest.Sent("CDS", "2-bad")); n != 1 {
		t.Errorf("the bad version was sent %d times\n%s", n, xdstest.Text(all))
	}
	if n := xdstest.Count(all, xdstest.Request("CDS", journal.Nack)); n != 1 {
		t.Errorf("%d NACKs", n)
	}
	if v := w.envoy.Stat("cluster_manager.cds.version_text"); v != "3" {
		t.Errorf("CDS version in Envoy %q, want 3", v)
	}
}

// A first version that is rejected leaves Envoy without any: the NACK says "".
func TestEnvoyRejectsTheFirstVersion(t *testing.T) {
	w := start(t, Options{}, "1-bad", xdstest.Cluster("a", 0), xdstest.Assignment("a", 1))
	nack := w.sink.Wait(t, 0, "the NACK", xdstest.Request("CDS", journal.Nack)).Request
	if nack.Version != "" {
		t.Errorf("version %q, want none", nack.Version)
	}
	w.push("1", w.all(time.Second, "p")...)
	w.acked(0, "1", "CDS", "EDS", "LDS", "RDS")
}

func TestEnvoyGetsEveryPushInOrder(t *testing.T) {
	w := start(t, Options{}, "0")
	w.acked(0, "0", "CDS", "EDS", "LDS", "RDS")
	for i := 1; i <= 20; i++ {
		mark := w.sink.Len()
		version := string(rune('a' + i))
		w.push(version, w.all(time.Duration(i)*time.Second, "p", xdstest.Static("s"+version))...)
		w.acked(mark, version, "CDS", "EDS", "LDS", "RDS")
		var order []string
		for _, e := range w.sink.After(mark) {
			if e.Response != nil && (len(order) == 0 || order[len(order)-1] != e.Response.Type) {
				order = append(order, e.Response.Type) // a type may go out twice, for a new name
			}
		}
		if want := []string{"CDS", "EDS", "LDS", "RDS"}; !slices.Equal(order, want) {
			t.Errorf("push %d went out as %v", i, order)
		}
	}
	// The cluster warmed 20 times and never waited for its endpoints.
	if v := w.envoy.Stat("cluster.a.init_fetch_timeout"); v != "0" {
		t.Errorf("init_fetch_timeout %q, want 0", v)
	}
}

func TestEnvoyOrphanAssignment(t *testing.T) {
	w := start(t, Options{}, "1")
	w.acked(0, "1", "CDS", "EDS", "LDS", "RDS")
	w.push("2", w.all(time.Second, "p", xdstest.Assignment("b", 1))...)
	w.acked(0, "2", "EDS")
	e := w.sink.Wait(t, 0, "the orphan", xdstest.Withheld("EDS", notAsked))
	if !slices.Equal(e.Withheld.Names, []string{"b"}) {
		t.Errorf("names %v, want [b]", e.Withheld.Names)
	}
	w.push("3", xdstest.Cluster("a", time.Second), xdstest.Assignment("a", 1, 2),
		xdstest.Listener(t, "l", w.port, "r", "p"), xdstest.Route("r", "a"))
	w.acked(0, "3", "EDS")
	w.envoy.Eventually(t, "two hosts", func() bool { return w.envoy.Stat("cluster.a.membership_total") == "2" })
}

func TestEnvoyMissingAssignmentWarmsUntilItComes(t *testing.T) {
	w := start(t, Options{}, "1")
	w.acked(0, "1", "CDS", "EDS", "LDS", "RDS")
	mark := w.sink.Len()
	w.push("2", w.all(time.Second, "p", xdstest.Cluster("b", time.Second))...)
	e := w.sink.Wait(t, mark, "the missing name", xdstest.Withheld("EDS", names))
	if !slices.Equal(e.Withheld.Names, []string{"b"}) || e.Withheld.Version != "2" {
		t.Errorf("withheld %+v, want b of version 2", *e.Withheld)
	}
	w.envoy.Eventually(t, "a warming cluster", func() bool { return w.envoy.Stat("cluster_manager.warming_clusters") == "1" })
	if n := xdstest.Count(w.sink.After(mark), xdstest.Acked("CDS", "2")); n != 0 {
		t.Fatal("CDS was acknowledged while a cluster warms")
	}
	from := time.Now()
	w.push("3", w.all(time.Second, "p", xdstest.Cluster("b", time.Second), xdstest.Assignment("b", 1))...)
	w.acked(mark, "2", "CDS")
	w.acked(mark, "3", "CDS", "EDS", "LDS", "RDS")
	if d := time.Since(from); d > 10*time.Second {
		t.Errorf("it took %v: that is Envoy's time-out, not our answer", d)
	}
	w.sink.Wait(t, mark, "what kept CDS 3", xdstest.Withheld("CDS", warming))
}

// When the last EDS cluster goes, Envoy asks for EDS with no names. That is no
// subscription to all of them.
func TestEnvoyWithoutEDSClustersGetsNoEndpoints(t *testing.T) {
	w := start(t, Options{}, "1")
	w.acked(0, "1", "CDS", "EDS", "LDS", "RDS")
	mark := w.sink.Len()
	without := []proto.Message{xdstest.Static("a"), xdstest.Assignment("a", 1),
		xdstest.Listener(t, "l", w.port, "r", "p"), xdstest.Route("r", "a")}
	w.push("2", without...)
	w.acked(mark, "2", "CDS", "LDS", "RDS")
	e := w.sink.Wait(t, mark, "the request that passes EDS 2 over", xdstest.Request("EDS", journal.Resubscribe))
	if e.Request.Version != "1" || len(e.Request.Names) != 0 {
		t.Errorf("request %+v, want version 1 and no names", *e.Request)
	}
	mark = w.sink.Len()
	w.push("3", without...)
	w.acked(mark, "3", "CDS", "LDS", "RDS")
	if n := xdstest.Count(w.sink.After(mark), xdstest.Sent("EDS", "3")); n != 0 {
		t.Error("endpoints were sent to an Envoy that had unsubscribed")
	}
	mark = w.sink.Len()
	w.push("4", w.all(time.Second, "p")...)
	w.acked(mark, "4", "CDS", "EDS", "LDS", "RDS")
}
