package traffic

import (
	"reflect"
	"testing"
	"time"

	"lab/pkg/journal"
)

var t0 = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)

// at is some milliseconds after t0.
func at(ms int) time.Time { return t0.Add(time.Duration(ms) * time.Millisecond) }

func TestWindowTellsWhenItsRequestsWereSent(t *testing.T) {
	s := newSink()
	w := window{name: "steady", sink: s, now: func() time.Time { return at(300) }}
	for _, r := range []result{
		{sent: at(20), done: at(21), status: 200, upstream: "blue"},
		{sent: at(40), done: at(45), status: 200, upstream: "red"},
		{sent: at(-900), done: at(30), status: 200, upstream: "red"}, // a slow one
		{sent: at(50), done: at(51), status: 201, upstream: "red"},
		{sent: at(30), done: at(31), status: 200, upstream: "red"},
	} {
		w.record(r)
	}
	if len(s.events) != 0 {
		t.Fatalf("%d events before the window's end", len(s.events))
	}
	w.flush()
	want := journal.Event{Time: at(300), Source: journal.Client, Kind: journal.KindProbe, Probe: &journal.Probe{
		Name: "steady", From: at(-900), To: at(51), Sent: 5, Failed: 0, Groups: []journal.ProbeGroup{
			{Status: 200, Upstream: "blue", Count: 1, Last: at(20), MaxMS: 1},
			{Status: 200, Upstream: "red", Count: 3, Last: at(40), MaxMS: 930},
			{Status: 201, Upstream: "red", Count: 1, Last: at(50), MaxMS: 1},
		},
	}}
	if len(s.events) != 1 || !reflect.DeepEqual(s.events[0], want) {
		t.Errorf("events %+v", s.events)
	}
	w.flush()
	if len(s.events) != 1 {
		t.Errorf("an empty window was journaled: %+v", s.events[1])
	}
}

func TestFirstFailureIsJournaledAtOnce(t *testing.T) {
	s := newSink()
	w := window{name: "steady", sink: s, now: func() time.Time { return at(0) }}
	good := result{sent: at(1), done: at(2), status: 200, upstream: "red"}
	bad := result{sent: at(3), done: at(4), err: Refused}
	w.record(good)
	w.record(bad)
	if len(s.events) != 1 || s.events[0].Probe.Sent != 2 || s.events[0].Probe.Failed != 1 {
		t.Fatalf("after the first failure: %+v", s.events)
	}
	for range 100 {
		w.record(bad)
	}
	if len(s.events) != 1 {
		t.Fatalf("a flood of failures made %d events", len(s.events))
	}
	w.flush()
	if len(s.events) != 2 || s.events[1].Probe.Failed != 100 {
		t.Fatalf("at the window's end: %+v", s.events)
	}
	w.record(bad)
	if len(s.events) != 3 {
		t.Error("the first failure of the next window is not journaled at once")
	}
}

func TestFailed(t *testing.T) {
	for _, c := range []struct {
		r    result
		want bool
	}{
		{result{status: 200, upstream: "red"}, false}, {result{status: 302, upstream: "red"}, false},
		{result{status: 404, upstream: "red"}, true}, {result{status: 503, upstream: "red"}, true}, {result{err: Refused}, true},
		{result{status: 200}, true},                            // Envoy's own answer
		{result{status: 200, upstream: "red", err: EOF}, true}, // the body was cut
	} {
		if got := c.r.failed(); got != c.want {
			t.Errorf("%+v failed: %t", c.r, got)
		}
	}
}

func TestSkippedIsNeitherSentNorFailed(t *testing.T) {
	s := newSink()
	w := window{name: "steady", sink: s, now: func() time.Time { return at(0) }}
	w.skip("busy")
	w.skip("busy")
	w.record(result{err: TimedOut, skip: "starved"})
	w.flush()
	if len(s.events) != 2 {
		t.Fatalf("events %+v", s.events)
	}
	for i, want := range []map[string]string{
		{"name": "steady", "reason": "busy", "count": "2"},
		{"name": "steady", "reason": "starved", "count": "1"},
	} {
		e := s.events[i]
		if e.Kind != journal.KindNote || e.Note.Code != "probe-not-counted" || !reflect.DeepEqual(e.Note.Args, want) {
			t.Errorf("event %d is %+v, want %v", i, e.Note, want)
		}
	}
}
