package checks

import (
	"fmt"
	"testing"
	"time"

	"lab/pkg/journal"
)

func (b *book) epoch(state string, pid, epoch int, shutdown time.Duration) int64 {
	return b.add(journal.Event{Source: journal.Session, Kind: journal.KindProcess, Process: &journal.Process{
		Role: "envoy", State: state, Pid: pid, Epoch: epoch, ParentShutdownMS: shutdown.Milliseconds()}})
}

// says is a request of a stream that another one than the first may be.
func (b *book) says(pid int, stream int64, class, typ, version, nonce string) {
	b.add(journal.Event{Source: journal.ControlPlane, Kind: journal.KindRequest, Request: &journal.Request{
		Pid: pid, Stream: stream, Type: typ, Version: version, Nonce: nonce, Class: class}})
}

// TestTwoEnvoys: while one epoch hands over to the next, each has its own
// stream, versions and end.
func TestTwoEnvoys(t *testing.T) {
	b := newBook()
	b.response("CDS", "7", "1")
	b.answer(journal.Ack, "CDS", "7", "1")
	b.open("s")
	b.epoch("started", 4, 1, 6*time.Second)
	b.add(journal.Event{Source: journal.ControlPlane, Kind: journal.KindStreamOpen, Stream: &journal.Stream{Pid: 2, ID: 2, State: "opened", Client: 4}})
	b.says(2, 2, journal.Subscribe, "CDS", "", "")
	b.says(2, 1, journal.Ack, "CDS", "7", "9") // the old epoch still talks
	expect(t, b, map[string]string{
		"envoy.epoch": "1", "accepted(CDS)": "",
		`processes.filter(p, p.role == "envoy" && p.alive).map(p, p.epoch)`: "0, 1",
		"known_streams.map(s, s.envoy.epoch)":                               "0, 1",
		"streams.map(s, s.envoy.epoch)":                                     "1",
		`requests.map(r, r.version + "/" + r.accepted)`:                     "/, 7/7",
	})
	b.wait(6 * time.Second)
	gone := b.epoch("exited", 3, 0, 0)
	expect(t, b, map[string]string{
		"envoy.pid": "4",
		`string(processes.filter(p, p.epoch == 0 && p.role == "envoy")[0].end_time - envoy.time == envoy.parent_shutdown)`: "true",
		`processes.filter(p, p.role == "envoy").map(p, p.ended)`:                                                           fmt.Sprint(gone, ", 0"),
		`processes.filter(p, p.role == "envoy").map(p, string(p.exit) + p.signal + p.by)`:                                  "0, 0",
	})
	b.add(journal.Event{Source: journal.Session, Kind: journal.KindProcess, Process: &journal.Process{
		Role: "envoy", State: "exited", Pid: 4, Epoch: 1, Exit: 9, Signal: "SIGKILL"}})
	expect(t, b, map[string]string{"envoy.pid": "error: no Envoy runs",
		`processes.filter(p, p.epoch == 1).map(p, string(p.exit) + p.signal)`: "9SIGKILL"})
}

// TestOutage: the streams of a control plane that was killed close with it, a
// request tells what its Envoy had before, and what was read before the step is
// not of it.
func TestOutage(t *testing.T) {
	b := newBook()
	b.response("CDS", "7", "1")
	b.answer(journal.Ack, "CDS", "7", "1")
	b.stats(map[string]uint64{"connected": 0}, nil)
	b.open("s")
	b.stats(map[string]uint64{"connected": 1}, nil)
	expect(t, b, map[string]string{`read_as("connected", 0)`: "false", `read_as("connected", 1)`: "true", `read_as("missing", 0)`: "false",
		"known_streams.map(s, s.closed)": "0", "streams": ""})
	b.wait(time.Second)
	gone := b.process("control-plane", "exited", 2)
	b.stats(map[string]uint64{"connected": 0}, nil)
	for range 8 {
		b.wait(250 * ms)
		b.probe(b.now.Add(-200*ms), b.now.Add(-10*ms), 3, 200, "orders-1")
	}
	back := b.process("control-plane", "started", 5)
	b.wait(250 * ms)
	b.probe(b.now.Add(-200*ms), b.now.Add(-10*ms), 3, 503, "orders-1") // behind the outage
	b.stream(5, 1, "opened")
	b.says(5, 1, journal.Subscribe, "CDS", "7", "")
	b.says(5, 1, journal.Subscribe, "EDS", "3", "")
	w := fmt.Sprintf("traffic_between(%d, %d)", gone, back)
	expect(t, b, map[string]string{
		`read_as("connected", 0)`:                                          "true",
		"known_streams.map(s, s.closed)":                                   fmt.Sprint(gone, ", 0"),
		`requests.map(r, r.type + r.version + "/" + r.accepted + r.class)`: "CDS7/7subscribe, EDS3/subscribe",
		w + ".sent": "24", w + ".failed": "0", `string(` + w + `.lasted == duration("2s"))`: "true",
		fmt.Sprintf("traffic_between(%d, 1).sent", gone): "error: event 1 is none of this step",
		fmt.Sprintf("traffic_between(1, %d).sent", back): "error: event 1 is none of this step",
		fmt.Sprintf("traffic_since(%d).failed", gone):    "3",
	})
	b.open("next") // the closed stream is forgotten, the open one is known
	expect(t, b, map[string]string{"size(known_streams)": "1", `read_as("connected", 0)`: "false"})
}
