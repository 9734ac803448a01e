package web

import (
	"maps"
	"slices"
	"strings"
	"time"

	"lab/pkg/journal"
	"lab/pkg/term/text"
)

// lane is who says or does something.
type lane int

// The lanes of the diagram, from the left.
const (
	controlPlane lane = iota
	envoy
	upstream
	client
)

// row is one line of the conversation, without words.
type row struct {
	seq     int64 // its first event
	changed int64 // its last
	at      time.Time
	kind    string
	lane    lane // of a row that is no arrow

	typ, version, nonce string
	text                string   // a name, a file, a reason, a step
	names               []string // of resources or addresses
	epoch               int      // of the Envoy
	overlap             bool     // another epoch runs, too
	count               int
	failed              int
	statuses, upstreams map[string]int
	failedAt            time.Time // of requests: the last failure
}

func (r *row) copy() row {
	c := *r
	c.statuses, c.upstreams = maps.Clone(r.statuses), maps.Clone(r.upstreams)
	return c
}

// add puts a row at the end, and lets the first one go where there are too many.
func (m *Model) add(e journal.Event, r row) {
	r.seq, r.changed, r.at, r.overlap = e.Seq, e.Seq, e.Time, len(m.epochs) > 1
	if len(m.rows) == maxRows {
		m.end = max(m.end, m.rows[0].changed)
		m.rows = append(m.rows[:0:0], m.rows[1:]...)
	}
	m.rows = append(m.rows, &r)
}

// owner is the pid of the Envoy of a stream; ours is false for a stranger's,
// whose words are no part of the conversation.
func (m *Model) owner(s stream) (pid int, ours bool) {
	pid = m.owners[s]
	return pid, pid != journal.Stranger
}

func (m *Model) foldStream(e journal.Event) {
	s := stream{e.Stream.Pid, e.Stream.ID}
	if e.Stream.State == "opened" {
		if len(m.owners) >= maxClients {
			clear(m.owners)
		}
		m.owners[s] = e.Stream.Client
	}
	pid, ours := m.owner(s)
	kind := "stream-" + e.Stream.State
	if !ours {
		kind = "stranger-" + e.Stream.State
	}
	if e.Stream.State == "closed" {
		delete(m.owners, s)
		maps.DeleteFunc(m.sent, func(n nonce, _ sentResponse) bool { return n.stream == s })
	}
	m.add(e, row{kind: kind, epoch: m.epochs[pid], text: short(e.Stream.Reason)})
}

func (m *Model) foldResponse(e journal.Event) {
	r := e.Response
	s := stream{r.Pid, r.Stream}
	pid, ours := m.owner(s)
	if !ours {
		return
	}
	if len(m.sent) >= maxOpen {
		clear(m.sent)
	}
	resp := sentResponse{version: r.Version}
	if r.Type == "CDS" {
		resp.refs = r.Resources
	}
	m.sent[nonce{s, r.Type, r.Nonce}] = resp
	m.add(e, row{kind: "response", typ: short(r.Type), version: short(r.Version), nonce: short(r.Nonce), epoch: m.epochs[pid]})
}

// foldRequest: which version a NACK is about comes from its nonce. Its own
// version is the one that Envoy keeps.
func (m *Model) foldRequest(e journal.Event) {
	r := e.Request
	s := stream{r.Pid, r.Stream}
	pid, ours := m.owner(s)
	if !ours {
		return
	}
	key := nonce{s, r.Type, r.Nonce}
	resp, known := m.sent[key]
	row := row{kind: r.Class, typ: short(r.Type), version: short(r.Version), nonce: short(r.Nonce), epoch: m.epochs[pid]}
	switch r.Class {
	case journal.Nack:
		row.text = short(resp.version)
		m.mark(e, "nack", row.typ+" "+row.text)
		delete(m.sent, key)
	case journal.Ack:
		if known && r.Type == "CDS" {
			m.hosts.accept(resp.refs)
		}
		delete(m.sent, key)
	default:
		row.names = shorts(r.Names)
	}
	m.add(e, row)
}

func (m *Model) foldWithheld(e journal.Event) {
	if _, ours := m.owner(stream{e.Withheld.Pid, e.Withheld.Stream}); !ours {
		return
	}
	m.add(e, row{kind: "withheld", typ: short(e.Withheld.Type), version: short(e.Withheld.Version), text: e.Withheld.Reason, names: shorts(e.Withheld.Names)})
}

func (m *Model) foldSnapshot(e journal.Event) {
	sn := e.Snapshot
	file := sn.File[strings.LastIndex(sn.File, "/")+1:]
	if e.Kind == journal.KindSnapshotRefused {
		m.add(e, row{kind: "refused", lane: controlPlane, text: short(file)})
		return
	}
	m.version = short(sn.Version)
	m.hosts.learn(sn.Resources)
	m.add(e, row{kind: "snapshot", lane: controlPlane, version: m.version, text: short(file)})
	m.mark(e, "snapshot", m.version)
}

func (m *Model) foldProcess(e journal.Event) {
	p := e.Process
	switch {
	case p.Role == "envoy" && p.State == "started":
		if p.Epoch == 0 {
			clear(m.epochs)
			m.hosts.begin(e.Seq)
		}
		m.epochs[p.Pid] = p.Epoch
	case p.Role == "envoy" && p.State == "exited":
		delete(m.epochs, p.Pid)
		m.hosts.exited(e.Seq, p.Pid)
	}
	in := controlPlane
	if p.Role == "envoy" {
		in = envoy
	}
	if p.Role == "session" && p.State == "exited" {
		return
	}
	m.add(e, row{kind: p.Role + "-" + p.State, lane: in, epoch: p.Epoch, text: short(p.Signal), names: shorts(strings.Fields(p.By))})
	if p.Role != "session" && p.State != "ready" {
		m.mark(e, "process", p.Role+"-"+p.State)
	}
}

// laneOf is the part that a command is about.
func laneOf(command string) lane {
	switch {
	case strings.HasPrefix(command, "envoy"):
		return envoy
	case strings.HasPrefix(command, "upstream"):
		return upstream
	case strings.HasPrefix(command, "control-plane"):
		return controlPlane
	}
	return client
}

func commandText(c *journal.Command) string {
	parts := []string{c.Name}
	for _, k := range slices.Sorted(maps.Keys(c.Args)) {
		parts = append(parts, c.Args[k])
	}
	return short(strings.Join(parts, " "))
}

// short makes one line of what a learner or a peer wrote.
func short(s string) string { return text.Cut(text.CleanLine(s), maxText) }

// shorts is a list of names, of which the first are enough.
func shorts(in []string) []string {
	var out []string
	for _, s := range in[:min(len(in), maxGroups)] {
		out = append(out, short(s))
	}
	return out
}
