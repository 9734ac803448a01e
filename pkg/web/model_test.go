package web

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"lab/pkg/journal"
	"lab/pkg/words"
)

var start = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

// story folds events, a tenth of a second apart.
type story struct {
	m   *Model
	seq int64
}

func newStory() *story { return &story{m: NewModel()} }

func (s *story) at() time.Time { return start.Add(time.Duration(s.seq) * 100 * time.Millisecond) }

func (s *story) add(e journal.Event) {
	s.seq++
	e.Seq, e.Time = s.seq, s.at()
	s.m.Fold(e)
}

func (s *story) begin() {
	s.add(journal.Event{Kind: journal.KindProcess, Process: &journal.Process{Role: "envoy", State: "started", Pid: 7}})
	s.add(journal.Event{Kind: journal.KindStreamOpen, Stream: &journal.Stream{ID: 1, Pid: 3, State: "opened", Client: 7}})
}

func (s *story) response(typ, version, nonce string, refs ...journal.Ref) {
	s.add(journal.Event{Kind: journal.KindResponse, Response: &journal.Response{Stream: 1, Pid: 3, Type: typ, Version: version, Nonce: nonce, Resources: refs}})
}

func (s *story) request(class, typ, version, nonce string) {
	s.add(journal.Event{Kind: journal.KindRequest, Request: &journal.Request{Stream: 1, Pid: 3, Type: typ, Version: version, Nonce: nonce, Class: class}})
}

func (s *story) probe(groups ...journal.ProbeGroup) {
	p := &journal.Probe{Name: "steady", From: s.at(), To: s.at(), Groups: groups}
	for _, g := range groups {
		p.Sent += g.Count
		if failed(g) {
			p.Failed += g.Count
		}
	}
	s.add(journal.Event{Kind: journal.KindProbe, Probe: p})
}

func (s *story) hosts(flags map[string][]string) {
	h := &journal.Hosts{Pid: 7, Cluster: "orders"}
	for _, a := range []string{"127.0.0.1:1", "127.0.0.1:2"} {
		h.Hosts = append(h.Hosts, journal.Host{Address: a, Flags: flags[a]})
	}
	s.add(journal.Event{Kind: journal.KindHosts, Hosts: h})
}

// lines are the rows in English, with their marks.
func (s *story) lines() []string {
	var out []string
	for _, r := range (speaker{words.English(), "lab"}).frame(s.m.since(0), start).Rows {
		out = append(out, strings.TrimSpace(fmt.Sprintf("%d>%d %s %s", r.From, r.To, r.Mark, r.Label)))
	}
	return out
}

func (s *story) want(t *testing.T, lines ...string) {
	t.Helper()
	have := s.lines()
	if len(have) < len(lines) {
		t.Fatalf("only %q", have)
	}
	for i, l := range lines {
		if got := have[len(have)-len(lines)+i]; got != l {
			t.Errorf("line %d: %q, want %q", i, got, l)
		}
	}
}

// Each kind of message has its own mark and words; the version that a NACK is
// about comes from its nonce.
func TestConversation(t *testing.T) {
	s := newStory()
	s.begin()
	s.request(journal.Subscribe, "CDS", "", "")
	s.response("CDS", "3", "9")
	s.request(journal.Nack, "CDS", "2", "9")
	s.add(journal.Event{Kind: journal.KindWithheld, Withheld: &journal.Withheld{Stream: 1, Pid: 3, Type: "CDS", Version: "3", Reason: "parked"}})
	s.response("EDS", "3", "10")
	s.request(journal.Stale, "EDS", "2", "8")
	s.request(journal.Ack, "EDS", "3", "10")
	s.want(t, "1>0  asks for CDS", "0>1  CDS 3 · nonce 9", "1>0 ✘ NACK 9 · CDS 3, keeps 2",
		"0>1 ⊣ CDS 3 withheld: rejected by Envoy", "0>1  EDS 3 · nonce 10", "1>0 ⊘ stale nonce 8 · EDS", "1>0 ✔ ACK 10 · EDS 3")
}

// What another client says on the ADS port is no part of the conversation.
func TestStranger(t *testing.T) {
	s := newStory()
	s.begin()
	s.add(journal.Event{Kind: journal.KindStreamOpen, Stream: &journal.Stream{ID: 2, Pid: 3, State: "opened", Client: journal.Stranger}})
	s.add(journal.Event{Kind: journal.KindRequest, Request: &journal.Request{Stream: 2, Pid: 3, Type: "CDS", Class: journal.Nack, Nonce: "1"}})
	s.want(t, "0>0  another client connected; it does not count")
}

// Requests that go alike are one row, which grows; a failure begins another.
func TestRequestsFold(t *testing.T) {
	s := newStory()
	ok := journal.ProbeGroup{Status: 200, Upstream: "orders-1", Count: 3, MaxMS: 2}
	bad := journal.ProbeGroup{Status: 503, Count: 2, MaxMS: 9}
	s.probe(ok)
	s.probe(ok)
	before := s.m.Seq()
	s.probe(ok)
	if c := s.m.since(before); len(c.rows) != 1 || c.rows[0].count != 9 {
		t.Errorf("a reader gets %+v, want the one row with 9", c.rows)
	}
	s.probe(ok, bad)
	s.want(t, "3>1 ✔ 200 ×9", "3>1 ✘ 2 of 5 failed: 200 ×3, 503 ×2")
	s.probe(ok) // one of three upstreams fails: that is one story
	s.want(t, "3>1 ✘ 2 of 8 failed: 200 ×6, 503 ×2")
	b := s.m.since(0).buckets
	s.seq += 30
	s.probe(ok)
	s.want(t, "3>1 ✘ 2 of 8 failed: 200 ×6, 503 ×2", "3>1 ✔ 200 ×3")
	if len(b) == 0 || b[0].slowest != 9 || b[0].groups[series{"", "503", true}] != 2 || b[0].groups[series{"orders-1", "200", false}] != 15 {
		t.Errorf("the plots get %+v", b)
	}
}

// The estimate of a return: base_ejection_time, and at most one interval more;
// twice that for the next ejection shortly after.
func TestEjection(t *testing.T) {
	s := newStory()
	s.begin()
	s.add(journal.Event{Kind: journal.KindSnapshotLoaded, Snapshot: &journal.Snapshot{Version: "1", File: "/x/snapshot.yaml", Resources: []journal.Resource{
		{Type: "CDS", Name: "orders", Hash: "h", Body: map[string]any{"outlier_detection": map[string]any{"interval": "0.5s", "base_ejection_time": "2s"}}}}}})
	s.response("CDS", "1", "1", journal.Ref{Name: "orders", Hash: "h"})
	s.request(journal.Ack, "CDS", "1", "1")
	s.hosts(nil)
	out := map[string][]string{"127.0.0.1:2": {"failed_outlier_check"}}
	ejected := func(least, most time.Duration) {
		t.Helper()
		for _, h := range s.m.since(0).hosts {
			if h.address != "127.0.0.1:2" {
				continue
			}
			if from, to := h.earliest.Sub(s.at()), h.latest.Sub(s.at()); from != least || to != most {
				t.Errorf("back in %v to %v, want %v to %v", from, to, least, most)
			}
		}
	}
	s.hosts(out)
	s.want(t, "1>1 ✘ orders: 127.0.0.1:2 ejected")
	ejected(2*time.Second, 2500*time.Millisecond)
	s.hosts(nil)
	s.want(t, "1>1 ✔ orders: 127.0.0.1:2 is back")
	s.hosts(out) // 0.1 s later: the multiplier may have fallen, or not
	ejected(2*time.Second, 4500*time.Millisecond)
}

// A Cluster without outlier_detection in the journal has no estimate.
func TestEjectionUnknown(t *testing.T) {
	s := newStory()
	s.begin()
	s.hosts(map[string][]string{"127.0.0.1:1": {"failed_outlier_check"}})
	v := (speaker{words.English(), "lab"}).frame(s.m.since(0), start)
	if h := (*v.Hosts)[0]; h.State != "ejected" || h.Latest != 0 {
		t.Errorf("%+v", h)
	}
}

// A journal of any length gives a model of bounded size, and a reader that was
// away for too long gets all of it.
func TestBounded(t *testing.T) {
	s := newStory()
	s.begin()
	for i := range 20_000 {
		n := fmt.Sprint(i)
		s.response("CDS", n, n)
		if i%3 == 0 {
			s.request(journal.Nack, "CDS", "0", n)
		}
		s.probe(journal.ProbeGroup{Status: 200 + i%300, Upstream: n, Count: 1})
		s.add(journal.Event{Kind: journal.KindHosts, Hosts: &journal.Hosts{Pid: 7, Cluster: "c" + fmt.Sprint(i%5), Hosts: []journal.Host{{Address: n}}}})
	}
	m := s.m
	if len(m.rows) > maxRows || len(m.marks) > maxMarks || len(m.buckets) > maxSeconds || len(m.sent) > maxOpen || len(m.owners) > maxClients {
		t.Errorf("rows %d, marks %d, seconds %d, answers awaited %d, streams %d", len(m.rows), len(m.marks), len(m.buckets), len(m.sent), len(m.owners))
	}
	for _, b := range m.buckets {
		if len(b.groups) > maxGroups {
			t.Fatalf("%d groups in a second", len(b.groups))
		}
	}
	if c := m.since(5); !c.reset || len(c.rows) != maxRows {
		t.Errorf("a reader from long ago: reset %v, %d rows", c.reset, len(c.rows))
	}
	if c := m.since(m.Seq() + 1); !c.reset {
		t.Error("a reader from the future gets no reset")
	}
	if c := m.since(m.Seq()); c.reset || len(c.rows)+len(c.marks)+len(c.buckets) != 0 || c.hostsOn {
		t.Errorf("a reader that has everything gets %+v", c)
	}
}

// Hostile names stay one short line.
func TestNamesAreClean(t *testing.T) {
	s := newStory()
	s.begin()
	s.response("CDS", "<b>\x1b[31m\n"+strings.Repeat("x", 500), "1")
	line := s.lines()[len(s.lines())-1]
	if strings.ContainsAny(line, "\x1b\n") || len(line) > 200 || !strings.Contains(line, "<b>") {
		t.Errorf("%q", line)
	}
}
