package checks

import (
	"fmt"
	"testing"
	"time"

	"lab/pkg/journal"
)

// access adds a window of Envoy's access log with one group.
func (b *book) access(probe, path string, status int, flags string, count int) int64 {
	return b.add(journal.Event{Source: journal.Envoy, Kind: journal.KindAccess, Access: &journal.Access{
		From: b.now.Add(-200 * ms), To: b.now, Groups: []journal.AccessGroup{{Probe: probe, Path: path, Status: status, Flags: flags,
			Details: "via_upstream", Cluster: "orders", Upstream: "127.0.0.1:41001", Attempts: 1, Count: count,
			Last: b.now.Add(-100 * ms), MinMS: 2, MaxMS: float64(count)}}}})
}

func (b *book) slow(from, to time.Time, g journal.ProbeGroup, failed int) int64 {
	p := &journal.Probe{Name: slow, From: from, To: to, Failed: failed}
	if g.Count > 0 {
		p.Sent, p.Groups = 1, []journal.ProbeGroup{g}
	}
	return b.add(journal.Event{Source: journal.Client, Kind: journal.KindProbe, Probe: p})
}

// TestAccess: the fields, and that what was before the step or before an act is
// told apart from what came after it.
func TestAccess(t *testing.T) {
	b := newBook()
	b.open("r")
	b.access("send", "/old", 200, "", 1)
	b.open("s")
	b.wait(time.Second)
	b.access("send", "/a", 503, "UF", 3)
	b.wait(100 * ms)
	act := b.loaded("2")
	at := b.now
	b.wait(150 * ms)
	b.access("steady", "/", 200, "", 4) // begins before the act
	b.wait(250 * ms)
	b.access("", "/curl", 504, "UT", 5)
	expect(t, b, map[string]string{
		`access.map(a, a.path)`: "/a, /, /curl",
		`access[0].flags + " " + string(access[0].status) + " " + access[0].details + " " + access[0].probe`:              "UF 503 via_upstream send",
		`access[0].cluster + " " + access[0].upstream + " " + string(access[0].attempts) + " " + string(access[0].count)`: "orders 127.0.0.1:41001 1 3",
		`string(access[0].min_ms) + " " + string(access[0].max_ms)`:                                                       "2 3",
		fmt.Sprintf(`access.filter(a, a.from > timestamp(%q)).map(a, a.path)`, at.Format(time.RFC3339Nano)):               "/curl",
		fmt.Sprintf(`access.filter(a, a.last > timestamp(%q)).map(a, a.path)`, at.Format(time.RFC3339Nano)):               "/, /curl",
		fmt.Sprintf(`access.filter(a, a.event > %d).map(a, a.path)`, act):                                                 "/, /curl",
		`access.filter(a, 'UT' in a.flags.split(',')).map(a, a.probe)`:                                                    "",
	})
}

// TestLongStepAccess: steady traffic is added up, what was sent by hand is not,
// and none of it is lost in a step that stays open.
func TestLongStepAccess(t *testing.T) {
	b := newBook()
	b.open("s")
	for range 10_000 {
		b.wait(250 * ms)
		b.access("steady", "/", 200, "", 3)
	}
	b.access("send", "/", 200, "", 3)
	b.access("send", "/", 200, "", 3)
	if n := len(b.ev.step.access.groups); n != separate+3 {
		t.Errorf("%d groups", n)
	}
	expect(t, b, map[string]string{
		`access.filter(a, a.count > 3).map(a, string(a.count))`:                                 fmt.Sprint(3 * (10_000 - separate)),
		`string(access.filter(a, a.probe == "steady" && a.last > now - duration("1s")).size())`: "1",
	})
}

// TestTooMuchAccess: what is not kept might contradict, so nothing is told.
func TestTooMuchAccess(t *testing.T) {
	def := Definition{Needs: []string{NeedAccess}}
	full := newBook()
	full.open("s")
	for i := range maxAccess {
		full.access("send", fmt.Sprint("/", i), 200, "", 1)
	}
	if rep := full.grade(t, def); rep.Verdict != Passed {
		t.Errorf("as much as is kept: %+v", rep)
	}
	full.access("send", "/more", 200, "", 1)
	noted := newBook()
	noted.open("s")
	noted.access("send", "/", 200, "", 1)
	noted.note(noteNotCounted)
	silent := newBook()
	silent.open("s")
	silent.access("steady", "/", 200, "", 1)
	silent.wait(recent)
	none := newBook()
	none.open("s")
	for name, b := range map[string]*book{"full": full, "noted": noted, "silent": silent, "none": none} {
		if rep := b.grade(t, def); rep.Verdict != CannotTell || len(rep.Missing) != 1 || rep.Missing[0].ID != NeedAccess {
			t.Errorf("%s: %+v", name, rep)
		}
	}
	full.open("s")
	full.access("send", "/", 200, "", 1)
	if rep := full.grade(t, def); rep.Verdict != Passed {
		t.Errorf("after it was opened again: %+v", rep)
	}
}

// TestSlowRequests: two at a time, one that failed, and one whose session died.
func TestSlowRequests(t *testing.T) {
	b := newBook()
	b.open("s")
	first := b.now
	e1 := b.slow(first, first, journal.ProbeGroup{}, 0)
	b.wait(time.Second)
	second := b.now
	b.slow(second, second, journal.ProbeGroup{}, 0)
	b.wait(time.Second)
	b.slow(second, b.now, journal.ProbeGroup{Status: 200, Upstream: "orders-2", Count: 1}, 0)
	expect(t, b, map[string]string{
		`slow_requests.map(r, string(r.done) + " " + string(r.served))`: "false false, true true",
	})
	e4 := b.slow(first, b.now, journal.ProbeGroup{Error: "reset", Count: 1}, 1)
	b.wait(time.Second)
	third := b.now
	b.slow(third, third, journal.ProbeGroup{}, 0)
	b.wait(time.Second)
	b.process(roleSession, "started", 99)
	expect(t, b, map[string]string{
		`slow_requests.map(r, string(r.served) + " " + r.upstream + " " + r.error + " " + string(r.status))`: "false  reset 0, true orders-2  200, false  stopped 0",
		`string(slow_requests.all(r, r.done && r.to > r.from))`:                                              "true",
		`string(slow_requests[0].event) + " " + string(slow_requests[0].ended)`:                              fmt.Sprint(e1, " ", e4),
		fmt.Sprintf(`string(traffic_since(%d).sent)`, e1):                                                    "0",
	})
}
