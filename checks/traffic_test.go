package checks

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"lab/pkg/journal"
)

const ms = time.Millisecond

func (b *book) traffic(t *testing.T, expr string) string {
	t.Helper()
	return b.eval(t, fmt.Sprintf(`[%[1]s].map(w, string(w.sent) + " " + string(w.failed) + " " + string(w.to.exists(u, u == "orders-2")))[0]`, expr))
}

// TestTrafficAround: what was sent before the act is not counted for it, what
// failed after it is.
func TestTrafficAround(t *testing.T) {
	for _, c := range []struct {
		name       string
		from, last time.Duration // of the window that the act falls in, from the act
		status     int
		want       string
	}{
		{"sent before, failed", -200 * ms, -10 * ms, 503, "4 0 false"},
		{"sent around, failed", -200 * ms, 10 * ms, 503, "4 1 true"},
		{"sent around, good", -200 * ms, 10 * ms, 200, "4 0 true"},
		{"sent after, failed", 1 * ms, 10 * ms, 0, "7 3 true"},
		{"slow, sent long before", -1900 * ms, -1800 * ms, 0, "4 0 false"},
	} {
		b := newBook()
		b.open("s")
		b.wait(5 * time.Second)
		act := b.loaded("2")
		at := b.now
		b.wait(100 * ms)
		b.probe(at.Add(c.from), at.Add(c.last), 3, c.status, "orders-2")
		b.wait(250 * ms)
		b.probe(at.Add(120*ms), at.Add(300*ms), 4, 200, "orders-1")
		if got := b.traffic(t, fmt.Sprintf("traffic_since(%d)", act)); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// TestTrafficLater: where an act mends what was broken, the first moments do
// not count.
func TestTrafficLater(t *testing.T) {
	b := newBook()
	b.open("s")
	act := b.loaded("2")
	at := b.now
	for i := range 20 {
		b.wait(250 * ms)
		status := 200
		if i == 0 {
			status = 503
		}
		b.probe(b.now.Add(-240*ms), b.now.Add(-10*ms), 3, status, "orders-1")
	}
	for expr, want := range map[string]string{
		fmt.Sprintf("traffic_since(%d)", act):                     "60 3 false",
		fmt.Sprintf(`traffic_later(%d, duration("500ms"))`, act):  "54 0 false",
		fmt.Sprintf(`traffic_later(%d, duration("1000ms"))`, act): "48 0 false",
	} {
		if got := b.traffic(t, expr); got != want {
			t.Errorf("%s: %s, want %s", expr, got, want)
		}
	}
	if got := b.eval(t, fmt.Sprintf(`traffic_later(%d, duration("500ms")).lasted`, act)); got != "4.5s" {
		t.Errorf("it lasted %s, from %s", got, at)
	}
}

// TestTrafficUntilNextAct: what the next act breaks is not counted, what was
// sent before it and failed late is.
func TestTrafficUntilNextAct(t *testing.T) {
	b := newBook()
	b.open("s")
	first := b.loaded("2")
	from := b.now
	b.wait(250 * ms)
	b.probe(from.Add(10*ms), from.Add(200*ms), 5, 200, "orders-1")
	b.wait(50 * ms)
	b.loaded("3")
	next := b.now
	b.wait(200 * ms)
	b.probe(next.Add(-40*ms), next.Add(150*ms), 2, 503, "") // the latest is after the act
	want := "5 0 false"
	if got := b.traffic(t, fmt.Sprintf("traffic_until_next_act(%d)", first)); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	b.wait(1500 * ms)
	b.probe(next.Add(-30*ms), next.Add(1200*ms), 2, 0, "") // one was sent before the act and hung
	want = "5 1 false"
	if got := b.traffic(t, fmt.Sprintf("traffic_until_next_act(%d)", first)); got != want {
		t.Errorf("a slow failure: %s, want %s", got, want)
	}
}

// TestClocks: the control plane's clock may be hours away, and the order of the
// journal decides.
func TestClocks(t *testing.T) {
	for _, skew := range []time.Duration{-3 * time.Hour, 0, 3 * time.Hour} {
		b := newBook()
		b.open("s")
		b.wait(time.Second)
		b.probe(b.now.Add(-200*ms), b.now.Add(-10*ms), 3, 503, "orders-2")
		b.wait(10 * ms)
		at := b.now
		b.now = at.Add(skew)
		act := b.loaded("2")
		b.now = at.Add(240 * ms)
		b.probe(at.Add(-5*ms), at.Add(-1*ms), 3, 503, "orders-2")
		b.wait(250 * ms)
		b.probe(at.Add(250*ms), at.Add(450*ms), 4, 200, "orders-1")
		if got := b.traffic(t, fmt.Sprintf("traffic_since(%d)", act)); got != "4 0 false" {
			t.Errorf("skew %s: %s", skew, got)
		}
	}
}

// TestMergedTraffic: adding windows up changes no sum from any act, but for
// fewer windows.
func TestMergedTraffic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := newBook()
		b.open("s")
		var acts []int64
		var raw []window
		for range rapid.IntRange(1, 60).Draw(t, "events") {
			b.wait(time.Duration(rapid.IntRange(1, 300).Draw(t, "ms")) * ms)
			if rapid.IntRange(0, 5).Draw(t, "act") == 0 {
				acts = append(acts, b.loaded(decimal(len(b.events))))
				continue
			}
			from := b.now.Add(-time.Duration(rapid.IntRange(0, 2000).Draw(t, "age")) * ms)
			last := from.Add(time.Duration(rapid.IntRange(0, int(b.now.Sub(from)/ms)).Draw(t, "last")) * ms)
			seq := b.probe(from, last, rapid.IntRange(1, 5).Draw(t, "count"), rapid.SampledFrom([]int{200, 503}).Draw(t, "status"), "orders-1")
			w := window{first: seq, from: from}
			w.add(b.events[len(b.events)-1])
			raw = append(raw, w)
		}
		for _, a := range acts {
			from, err := b.ev.moment(a)
			if err != nil {
				t.Fatal(err)
			}
			for _, until := range []moment{{}, b.ev.nextAct(a)} {
				got, want := b.ev.step.traffic.between(from, until), (&traffic{windows: raw}).between(from, until)
				if got.Failed > 0 != (want.Failed > 0) || got.Sent > want.Sent || until.event == 0 && got.Sent != want.Sent {
					t.Fatalf("from %d until %d: %+v, one by one %+v", from.event, until.event, got, want)
				}
			}
		}
	})
}

// TestLongStep: a step that stays open for a day stays small.
func TestLongStep(t *testing.T) {
	b := newBook()
	b.open("s")
	act := b.loaded("2")
	for range 4 * 60 * 60 * 24 {
		b.wait(250 * ms)
		e := journal.Event{Seq: int64(len(b.events)) + 1, Time: b.now, Source: journal.Client, Kind: journal.KindProbe,
			Probe: &journal.Probe{Name: "steady", From: b.now.Add(-200 * ms), To: b.now, Sent: 3,
				Groups: []journal.ProbeGroup{{Status: 200, Upstream: "orders-1", Count: 3, Last: b.now}}}}
		b.ev.Fold(e)
	}
	if n := len(b.ev.step.traffic.windows); n > separate+1 {
		t.Errorf("%d windows", n)
	}
	if got := b.eval(t, fmt.Sprintf("traffic_since(%d).sent", act)); got != decimal(3*4*60*60*24) {
		t.Error(got)
	}
}
