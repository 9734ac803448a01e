package web

import (
	"sync"
	"time"

	"lab/pkg/journal"
)

// The bounds of the model: what a page of a run of any age can show.
const (
	maxRows    = 250  // of the conversation
	maxMarks   = 60   // moments of configuration
	maxSeconds = 180  // of traffic, one bucket each
	maxOpen    = 256  // responses without an answer; outlier settings by hash
	maxGroups  = 12   // statuses and upstreams in a bucket or a row
	maxText    = 80   // cells of a name or an address
	maxClients = 1024 // streams whose owner is known
)

// Model is the journal, folded for the page. Its size does not depend on the
// length of the journal. It is safe for concurrent use; the zero value is not.
type Model struct {
	mu  sync.Mutex
	seq int64 // of the last event
	end int64 // of the newest change to something that is no longer kept

	rows    []*row
	marks   []mark
	buckets []*bucket
	hosts   hosts

	epochs  map[int]int            // Envoy's pid -> epoch
	owners  map[stream]int         // -> Envoy's pid; Stranger
	sent    map[nonce]sentResponse // answers that are awaited
	version string                 // of the snapshot in force
}

// stream tells streams apart: each control plane process counts them anew.
type stream struct {
	pid int
	id  int64
}

type nonce struct {
	stream
	typ, nonce string
}

type sentResponse struct {
	version string
	refs    []journal.Ref // of CDS
}

// NewModel is a journal without events.
func NewModel() *Model {
	return &Model{hosts: newHosts(), epochs: map[int]int{}, owners: map[stream]int{}, sent: map[nonce]sentResponse{}}
}

// Fold takes the next event of the journal. It does not wait.
func (m *Model) Fold(e journal.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.seq = e.Seq
	switch e.Kind {
	case journal.KindStreamOpen:
		m.foldStream(e)
	case journal.KindRequest:
		m.foldRequest(e)
	case journal.KindResponse:
		m.foldResponse(e)
	case journal.KindWithheld:
		m.foldWithheld(e)
	case journal.KindSnapshotLoaded, journal.KindSnapshotRefused:
		m.foldSnapshot(e)
	case journal.KindHosts:
		m.foldHosts(e)
	case journal.KindProbe:
		m.foldProbe(e)
	case journal.KindProcess:
		m.foldProcess(e)
	case journal.KindCommand:
		m.add(e, row{kind: "command", lane: laneOf(e.Command.Name), text: commandText(e.Command)})
	case journal.KindStep:
		if e.Step.State == "opened" {
			m.add(e, row{kind: "step", text: e.Step.ID})
		}
	case journal.KindRun, journal.KindStats, journal.KindHit, journal.KindAccess, journal.KindAnswer, journal.KindCheck, journal.KindNote:
	}
}

// Seq is the number of the last event.
func (m *Model) Seq() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.seq
}

// changes is what happened since a reader last looked.
type changes struct {
	seq     int64
	reset   bool // the reader lacks something that is no longer kept: this is all there is
	rows    []row
	marks   []mark
	buckets []bucket
	hosts   []host
	hostsOn bool // the hosts changed
}

// empty tells that nothing is to be shown anew.
func (c changes) empty() bool {
	return !c.reset && !c.hostsOn && len(c.rows)+len(c.marks)+len(c.buckets) == 0
}

// since gives what is new after event number seq. A reader that is too far
// behind, or ahead of a journal that was cut, gets everything.
func (m *Model) since(seq int64) changes {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := changes{seq: m.seq, reset: seq <= 0 || seq < m.end || seq > m.seq}
	if c.reset {
		seq = 0
	}
	for _, r := range m.rows {
		if r.changed > seq {
			c.rows = append(c.rows, r.copy())
		}
	}
	for _, k := range m.marks {
		if k.seq > seq {
			c.marks = append(c.marks, k)
		}
	}
	for _, b := range m.buckets {
		if b.changed > seq {
			c.buckets = append(c.buckets, b.copy())
		}
	}
	if m.hosts.changed > seq || c.reset {
		c.hosts, c.hostsOn = m.hosts.list(), true
	}
	return c
}

// mark is a moment at which the configuration changed, for the axis of time.
type mark struct {
	seq  int64
	at   time.Time
	kind string // "snapshot", "nack", "process"
	text string

	epoch int // of an Envoy that started or ended
}

func (m *Model) mark(e journal.Event, kind, text string) {
	epoch := 0
	if e.Process != nil {
		epoch = e.Process.Epoch
	}
	if len(m.marks) == maxMarks {
		m.marks = append(m.marks[:0:0], m.marks[1:]...)
	}
	m.marks = append(m.marks, mark{e.Seq, e.Time, kind, text, epoch})
}
