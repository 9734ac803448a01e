package checks

import (
	"testing"
	"time"

	"lab/pkg/journal"
)

// book writes a journal for tests: every event gets the next number and a time
// that the test moves.
type book struct {
	ev     *Evidence
	now    time.Time
	events []journal.Event
}

var begin = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

func newBook() *book {
	b := &book{ev: New(), now: begin}
	b.add(journal.Event{Source: journal.Session, Kind: journal.KindRun, Run: &journal.Run{
		Params:    map[string]string{"endpoint": "orders-2", "edge": "417"},
		Upstreams: map[string]string{"orders-1": "127.0.0.1:1001", "orders-2": "127.0.0.1:1002"}}})
	b.process("session", "started", 1)
	b.process("control-plane", "started", 2)
	b.process("envoy", "started", 3)
	b.stream(2, 1, "opened")
	return b
}

func (b *book) add(e journal.Event) int64 {
	e.Seq, e.Time = int64(len(b.events)+1), b.now
	b.events = append(b.events, e)
	b.ev.Fold(e)
	return e.Seq
}

func (b *book) wait(d time.Duration) { b.now = b.now.Add(d) }

func (b *book) open(step string) int64 {
	return b.add(journal.Event{Source: journal.Session, Kind: journal.KindStep, Step: &journal.Step{ID: step, State: "opened"}})
}

func (b *book) process(role, state string, pid int) int64 {
	return b.add(journal.Event{Source: journal.Session, Kind: journal.KindProcess, Process: &journal.Process{Role: role, State: state, Pid: pid}})
}

func (b *book) stream(pid int, id int64, state string) int64 {
	return b.add(journal.Event{Source: journal.ControlPlane, Kind: journal.KindStreamOpen, Stream: &journal.Stream{Pid: pid, ID: id, State: state}})
}

func (b *book) loaded(version string, resources ...journal.Resource) int64 {
	return b.add(journal.Event{Source: journal.ControlPlane, Kind: journal.KindSnapshotLoaded, Snapshot: &journal.Snapshot{Version: version, Resources: resources}})
}

func (b *book) response(typ, version, nonce string, refs ...journal.Ref) int64 {
	return b.add(journal.Event{Source: journal.ControlPlane, Kind: journal.KindResponse, Response: &journal.Response{
		Pid: 2, Stream: 1, Type: typ, Version: version, Nonce: nonce, Resources: refs}})
}

func (b *book) answer(class, typ, version, nonce string) int64 {
	r := &journal.Request{Pid: 2, Stream: 1, Type: typ, Version: version, Nonce: nonce, Class: class}
	if class == journal.Nack {
		r.Error = &journal.Error{Code: 13}
	}
	return b.add(journal.Event{Source: journal.ControlPlane, Kind: journal.KindRequest, Request: r})
}

func (b *book) stats(values map[string]uint64, texts map[string]string) int64 {
	return b.add(journal.Event{Source: journal.Envoy, Kind: journal.KindStats, Stats: &journal.Stats{Pid: 3, Values: values, Texts: texts}})
}

func (b *book) hosts(cluster string, addresses ...string) int64 {
	h := &journal.Hosts{Pid: 3, Cluster: cluster}
	for _, a := range addresses {
		h.Hosts = append(h.Hosts, journal.Host{Address: a})
	}
	return b.add(journal.Event{Source: journal.Envoy, Kind: journal.KindHosts, Hosts: h})
}

// probe is a window of requests that all went alike, the latest sent at last.
func (b *book) probe(from, last time.Time, count, status int, upstream string) int64 {
	failed := 0
	if status == 0 || status >= 500 {
		failed = count
	}
	return b.add(journal.Event{Source: journal.Client, Kind: journal.KindProbe, Probe: &journal.Probe{
		Name: "steady", From: from, To: b.now, Sent: count, Failed: failed,
		Groups: []journal.ProbeGroup{{Status: status, Upstream: upstream, Count: count, Last: last}}}})
}

// language is that of the tests.
func language(t testing.TB) *Language {
	t.Helper()
	l, err := NewLanguage(map[string]ParamType{"endpoint": StringParam, "edge": IntParam}, []string{"first-type"})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// rules compiles a definition without errors.
func rules(t testing.TB, def Definition) *Rules {
	t.Helper()
	r, errs := language(t).Compile(def)
	for _, e := range errs {
		t.Fatal(e)
	}
	return r
}

// eval gives the text of an expression, or its error.
func (b *book) eval(t testing.TB, expr string) string {
	t.Helper()
	r := rules(t, Definition{})
	e, errs := r.Expr(Source{Text: expr})
	if len(errs) > 0 {
		t.Fatal(errs[0])
	}
	s, err := r.At(b.ev, Input{Now: b.now}).String(e)
	if err != nil {
		return "error: " + err.Error()
	}
	return s
}

// cluster is a resource of a snapshot with its reference in a response.
func cluster(name, hash string, body map[string]any) (journal.Resource, journal.Ref) {
	body["name"] = name
	return journal.Resource{Type: "CDS", Name: name, Hash: hash, Body: body}, journal.Ref{Name: name, Hash: hash}
}

// assignment is the same for a load assignment with ports of 127.0.0.1.
func assignment(name, hash string, ports ...float64) (journal.Resource, journal.Ref) {
	var eps []any
	for _, p := range ports {
		eps = append(eps, map[string]any{"endpoint": map[string]any{"address": map[string]any{
			"socket_address": map[string]any{"address": "127.0.0.1", "port_value": p}}}})
	}
	body := map[string]any{"cluster_name": name, "endpoints": []any{map[string]any{"lb_endpoints": eps}}}
	return journal.Resource{Type: "EDS", Name: name, Hash: hash, Body: body}, journal.Ref{Name: name, Hash: hash}
}
