package checks

import (
	"testing"
	"time"

	"lab/pkg/journal"
)

// expect evaluates expressions and compares.
func expect(t *testing.T, b *book, want map[string]string) {
	t.Helper()
	for expr, w := range want {
		if got := b.eval(t, expr); got != w {
			t.Errorf("%s: %s, want %s", expr, got, w)
		}
	}
}

func TestPairing(t *testing.T) {
	b := newBook()
	b.answer(journal.Subscribe, "CDS", "", "")
	b.response("CDS", "7", "1")
	b.open("s") // the first response is before the step, its answer within
	b.answer(journal.Ack, "CDS", "7", "1")
	b.response("CDS", "8", "2")
	b.answer(journal.Stale, "CDS", "7", "1")
	expect(t, b, map[string]string{
		"responses(CDS).map(r, r.version)": "8", "acked(CDS)": "", "settled": "false",
		"responses(CDS).map(r, r.pending)": "true", "accepted(CDS)": "7",
	})
	b.answer(journal.Nack, "CDS", "7", "2")
	b.response("CDS", "9", "3")
	b.answer(journal.Ack, "CDS", "9", "3")
	expect(t, b, map[string]string{
		"nacked(CDS).map(r, r.version + r.answer_version + r.accepted_before + r.rejected_before)": "877",
		"acked(CDS).map(r, r.version + r.answer_version + r.accepted_before + r.rejected_before)":  "9978",
		"accepted(CDS)": "9", "rejected(CDS)": "", "settled": "true",
		"responses(EDS)": "", "accepted(EDS)": "",
	})
}

// TestNackBySameNonceOnly: the nonce of another stream or type answers
// nothing, and a NACK is one by its error alone.
func TestNackBySameNonceOnly(t *testing.T) {
	b := newBook()
	b.open("s")
	b.response("CDS", "8", "2")
	b.answer(journal.Nack, "EDS", "", "2")
	b.answer(journal.Nack, "CDS", "", "9")
	expect(t, b, map[string]string{"nacked(CDS)": "", "nacked(EDS)": "", "responses(CDS).map(r, r.pending)": "true"})
	b.add(journal.Event{Source: journal.ControlPlane, Kind: journal.KindRequest, Request: &journal.Request{
		Pid: 2, Stream: 1, Type: "CDS", Version: "8", Nonce: "2", Class: journal.Nack}}) // no error_detail
	expect(t, b, map[string]string{"nacked(CDS)": "", "acked(CDS).map(r, r.version)": "8"})
}

func TestStreamsEnd(t *testing.T) {
	b := newBook()
	b.open("s")
	b.response("CDS", "8", "1")
	b.process("control-plane", "exited", 2) // killed: no event closes the stream
	expect(t, b, map[string]string{"settled": "true", "responses(CDS).map(r, r.pending)": "false"})
	b.process("control-plane", "started", 5)
	b.stream(5, 1, "opened") // the same number in another process
	expect(t, b, map[string]string{"streams.map(s, s.open)": "true"})
	b.process("session", "started", 9) // the session was killed, and its parts with it
	expect(t, b, map[string]string{"streams.map(s, s.open)": "false",
		`processes.filter(p, p.alive).map(p, p.role)`: "session", "envoy.pid": "error: no Envoy runs"})
}

func TestEndpoints(t *testing.T) {
	eds, edsRef := cluster("orders", "c1", map[string]any{"type": "EDS"})
	named, namedRef := cluster("orders", "c2", map[string]any{"type": "EDS", "eds_cluster_config": map[string]any{"service_name": "svc"}})
	two, twoRef := assignment("orders", "a1", 1001, 1002)
	one, oneRef := assignment("svc", "a2", 1001)
	inline, inlineRef := cluster("orders", "c3", map[string]any{"type": "STATIC", "load_assignment": one.Body})
	b := newBook()
	b.open("s")
	b.loaded("1", eds, two, named, one, inline)
	ack := func(typ, version, nonce string, refs ...journal.Ref) {
		b.response(typ, version, nonce, refs...)
		b.answer(journal.Ack, typ, version, nonce)
	}
	ack("CDS", "1", "1", edsRef)
	ack("EDS", "1", "2", twoRef)
	expect(t, b, map[string]string{`endpoints("orders")`: "127.0.0.1:1001, 127.0.0.1:1002", `endpoints("other")`: "", "clusters()": "orders"})
	ack("EDS", "2", "3") // an omitted resource is kept
	expect(t, b, map[string]string{`endpoints("orders")`: "127.0.0.1:1001, 127.0.0.1:1002"})
	ack("EDS", "3", "4", oneRef)
	ack("CDS", "3", "5", namedRef)
	expect(t, b, map[string]string{`endpoints("orders")`: "127.0.0.1:1001",
		`endpoints_before(acked(CDS)[1], "orders")`: "127.0.0.1:1001, 127.0.0.1:1002", `endpoints_after(acked(CDS)[1], "orders")`: "127.0.0.1:1001"})
	ack("CDS", "4", "6", inlineRef)
	expect(t, b, map[string]string{`endpoints("orders")`: "127.0.0.1:1001", "changed(acked(CDS)[2]).map(c, c.name)": "orders"})
	ack("CDS", "5", "7") // the Cluster goes, and Envoy forgets its endpoints
	ack("CDS", "6", "8", edsRef)
	expect(t, b, map[string]string{`endpoints("orders")`: ""})
}

// TestOwnEnvoy: what one process accepted says nothing of the next.
func TestOwnEnvoy(t *testing.T) {
	b := newBook()
	b.open("s")
	b.response("CDS", "1", "1")
	b.answer(journal.Ack, "CDS", "1", "1")
	b.stats(map[string]uint64{"n": 5}, map[string]string{"v": "1"})
	b.hosts("orders", "127.0.0.1:1001")
	b.process("envoy", "exited", 3)
	b.stream(2, 1, "closed")
	b.process("envoy", "started", 3) // the same pid
	b.stream(2, 2, "opened")
	expect(t, b, map[string]string{"accepted(CDS)": "", `stat("n")`: "error: Envoy's admin interface was not read yet"})
	b.stats(map[string]uint64{"n": 2}, nil)
	expect(t, b, map[string]string{`rise("n")`: "2", `hosts("orders")`: "", `text("v")`: `error: Envoy has no readout "v"`,
		"acked(CDS)[0].envoy.event == envoy.event": "false"})
}

func TestSameContentIsNoSnapshot(t *testing.T) {
	b := newBook()
	b.loaded("1")
	b.open("s")
	b.loaded("1") // a comment
	b.add(journal.Event{Source: journal.ControlPlane, Kind: journal.KindSnapshotRefused, Snapshot: &journal.Snapshot{
		Problems: []journal.Problem{{Code: "warn", Warning: true}, {Code: "bad", Line: 3}}}})
	expect(t, b, map[string]string{"snapshots": "", "file_refused": "true", "refused[0].problems.map(p, p.line)": "3"})
	b.loaded("1")
	expect(t, b, map[string]string{"snapshots": "", "file_refused": "false", "size(refused)": "1"})
	b.loaded("2")
	expect(t, b, map[string]string{"snapshots.map(s, s.version)": "2"})
}

// TestSettled: an answer that never comes is not waited for without end.
func TestSettled(t *testing.T) {
	b := newBook()
	b.open("s")
	b.response("EDS", "1", "1")
	expect(t, b, map[string]string{"settled": "false"})
	b.wait(answerWithin)
	expect(t, b, map[string]string{"settled": "true"})
	b.response("CDS", "1", "2")
	b.wait(15 * time.Second)
	expect(t, b, map[string]string{"settled": "false"})
}

func TestStatsOfAStep(t *testing.T) {
	b := newBook()
	b.stats(map[string]uint64{"n": 5, "gone": 1, "huge": 1<<64 - 1}, map[string]string{"v": "a"})
	b.hosts("orders", "x", "y")
	b.open("s")
	b.hosts("orders", "x")
	at := b.stats(map[string]uint64{"n": 7}, map[string]string{"v": "b"})
	b.add(journal.Event{Source: journal.Envoy, Kind: journal.KindStats, Stats: &journal.Stats{Pid: 3,
		Values: map[string]uint64{"n": 8}, Texts: map[string]string{"v": "c"}, Gone: []string{"gone"}}})
	expect(t, b, map[string]string{
		`stat("n")`: "8", `rise("n")`: "3", `rise_since("n", ` + decimal(int(at)) + `)`: "1", `text("v")`: "c",
		`seen("v", "a")`: "true", `seen("v", "b")`: "true", `seen("v", "d")`: "false",
		`stat("gone")`: `error: Envoy has no stat "gone"`, `stat("huge")`: "9223372036854775807",
		`hosts("orders")`: "x", `hosts_at("orders", step.event)`: "x, y",
	})
	b.open("next")
	expect(t, b, map[string]string{`rise("n")`: "0", `seen("v", "a")`: "false", `stat("gone")`: `error: Envoy has no stat "gone"`})
}
