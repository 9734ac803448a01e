// Package journal holds what happened in a run: one append-only file of JSON
// lines, with one writer, whose line order is the order of events.
//
// The session process is that writer. The control plane, an own process, sends
// its events through a pipe; the session numbers and stores them. A grade is a
// pure function of this file, so an event carries plain values only: protobuf
// stops in pkg/snapshot and pkg/xds, and nothing here knows about gRPC, HTTP or
// processes.
//
// The package may read and write files. It must not start processes, open
// sockets or read a clock: times come in with the events.
package journal

import "time"

// FormatVersion is written in the first event of a file. A reader refuses a
// higher number.
const FormatVersion = 1

// Source says who saw the event.
type Source string

// The sources of events.
const (
	ControlPlane Source = "control-plane" // the ADS server, from its wire
	Session      Source = "session"       // the background process of a run
	Envoy        Source = "envoy"         // what Envoy's admin interface says
	Client       Source = "client"        // requests sent through Envoy
	Upstream     Source = "upstream"      // requests that reached an upstream
	Learner      Source = "learner"       // commands and answers
)

// Kind names what happened and tells which payload an Event carries.
type Kind string

// The kinds of events; beside each, the payload that it carries.
const (
	KindRun             Kind = "run"              // Run
	KindStreamOpen      Kind = "xds.stream"       // Stream, opened or closed
	KindRequest         Kind = "xds.request"      // Request
	KindResponse        Kind = "xds.response"     // Response
	KindWithheld        Kind = "xds.withheld"     // Withheld
	KindSnapshotLoaded  Kind = "snapshot.loaded"  // Snapshot
	KindSnapshotRefused Kind = "snapshot.refused" // Snapshot
	KindStats           Kind = "stats"            // Stats
	KindHosts           Kind = "host"             // Hosts
	KindProbe           Kind = "probe"            // Probe
	KindHit             Kind = "hit"              // Hit
	KindAccess          Kind = "access"           // Access
	KindProcess         Kind = "process"          // Process
	KindCommand         Kind = "command"          // Command
	KindStep            Kind = "step"             // Step
	KindAnswer          Kind = "answer"           // Answer
	KindCheck           Kind = "check"            // Check
	KindNote            Kind = "note"             // Note
)

// Event is one line of the journal. Exactly one payload is set, the one that
// belongs to Kind.
type Event struct {
	// Seq is the event's number, from 1, without gaps. The writer of the file
	// sets it; an event on its way through a pipe has 0.
	Seq int64 `json:"seq,omitempty"`
	// Time is when its source saw it. Order is told by Seq, never by Time.
	Time   time.Time `json:"time"`
	Source Source    `json:"source"`
	Kind   Kind      `json:"kind"`

	Run      *Run      `json:"run,omitempty"`
	Stream   *Stream   `json:"stream,omitempty"`
	Request  *Request  `json:"request,omitempty"`
	Response *Response `json:"response,omitempty"`
	Withheld *Withheld `json:"withheld,omitempty"`
	Snapshot *Snapshot `json:"snapshot,omitempty"`
	Stats    *Stats    `json:"stats,omitempty"`
	Hosts    *Hosts    `json:"hosts,omitempty"`
	Probe    *Probe    `json:"probe,omitempty"`
	Hit      *Hit      `json:"hit,omitempty"`
	Access   *Access   `json:"access,omitempty"`
	Process  *Process  `json:"process,omitempty"`
	Command  *Command  `json:"command,omitempty"`
	Step     *Step     `json:"step,omitempty"`
	Answer   *Answer   `json:"answer,omitempty"`
	Check    *Check    `json:"check,omitempty"`
	Note     *Note     `json:"note,omitempty"`
}

// whole tells whether the payload that belongs to Kind is there. A kind that
// this lab does not know has none to miss.
func (e Event) whole() bool {
	switch e.Kind {
	case KindRun:
		return e.Run != nil
	case KindStreamOpen:
		return e.Stream != nil
	case KindRequest:
		return e.Request != nil
	case KindResponse:
		return e.Response != nil
	case KindWithheld:
		return e.Withheld != nil
	case KindSnapshotLoaded, KindSnapshotRefused:
		return e.Snapshot != nil
	case KindStats:
		return e.Stats != nil
	case KindHosts:
		return e.Hosts != nil
	case KindProbe:
		return e.Probe != nil
	case KindHit:
		return e.Hit != nil
	case KindAccess:
		return e.Access != nil
	case KindProcess:
		return e.Process != nil
	case KindCommand:
		return e.Command != nil
	case KindStep:
		return e.Step != nil
	case KindAnswer:
		return e.Answer != nil
	case KindCheck:
		return e.Check != nil
	case KindNote:
		return e.Note != nil
	}
	return true
}

// Sink takes events. Emit may be called from any goroutine and does not wait
// for the disk longer than one write.
type Sink interface{ Emit(Event) }

// Run opens a journal: what is run, and with which values.
type Run struct {
	FormatVersion int               `json:"format_version"`
	Lab           string            `json:"lab"`     // "08-xds"
	Content       string            `json:"content"` // SHA-256 over the lab's files
	Seed          int64             `json:"seed"`
	Params        map[string]string `json:"params"`    // values that the seed chose
	Upstreams     map[string]string `json:"upstreams"` // name -> "127.0.0.1:41001"
	LabVersion    string            `json:"lab_version"`
	EnvoyVersion  string            `json:"envoy_version"` // "1.40.0"
	EnvoySHA256   string            `json:"envoy_sha256,omitempty"`
	Runtime       string            `json:"runtime"` // "native"
	ADS           string            `json:"ads"`     // "google-grpc" or "envoy-grpc"
}

// Stream is an xDS stream that opened or closed. Its number is unique in a
// control plane process; together with Pid it is unique in a journal.
type Stream struct {
	ID     int64  `json:"id"`
	Pid    int    `json:"pid"`    // control plane process
	State  string `json:"state"`  // "opened", "closed"
	Method string `json:"method"` // "StreamAggregatedResources"
	Peer   string `json:"peer"`   // address of the client
	// Client is the process at the other end, as the session found it: the pid
	// of the run's Envoy, Stranger, or 0 where the system does not show it.
	Client int    `json:"client,omitempty"`
	Reason string `json:"reason,omitempty"` // of a close
}

// The classes of a DiscoveryRequest, told from nonce and error_detail alone
// (Envoy docs, api-docs/xds_protocol, "ACK, NACK and resource type instance
// version").
const (
	Subscribe   = "subscribe"   // no nonce: the first request of its type on a stream
	Ack         = "ack"         // the nonce of the last response, no error_detail, no new name
	Nack        = "nack"        // error_detail is set
	Resubscribe = "resubscribe" // the nonce of the last response, but other names than before
	Stale       = "stale"       // the nonce of an older response: ignored by the server
)

// Stranger is the Client of a stream that is not the run's Envoy. What is said
// on it counts for no grade.
const Stranger = -1

// Request is a DiscoveryRequest as it was on the wire.
type Request struct {
	Stream  int64    `json:"stream"`
	Pid     int      `json:"pid"`
	Type    string   `json:"type"` // "CDS", "EDS", "LDS", "RDS", "SDS", or the type URL of another
	Version string   `json:"version"`
	Nonce   string   `json:"nonce"`
	Names   []string `json:"names,omitempty"`
	Class   string   `json:"class"`
	HasNode bool     `json:"has_node"`          // a node was on the wire
	NodeID  string   `json:"node_id,omitempty"` // only where it was on the wire
	Error   *Error   `json:"error,omitempty"`   // error_detail
}

// Error is the error_detail of a NACK. Its text differs between Envoy versions
// and processes: no check reads it.
type Error struct {
	Code    int32  `json:"code"`
	Message string `json:"message"`
}

// Response is a DiscoveryResponse whose send has returned.
type Response struct {
	Stream    int64  `json:"stream"`
	Pid       int    `json:"pid"`
	Type      string `json:"type"`
	Version   string `json:"version"`
	Nonce     string `json:"nonce"`
	Resources []Ref  `json:"resources"`
}

// Ref names a resource and its content. The body stands once in the journal,
// in the first snapshot.loaded that had this hash.
type Ref struct {
	Name string `json:"name"`
	Hash string `json:"hash"` // SHA-256 over the deterministic binary encoding, 16 hex digits
}

// Withheld says that a request got no answer, and why. Reasons: "same-version"
// is idle and not journaled; "names", "no-snapshot", "parked" (the version that
// was just rejected is not offered again), "warming" (CDS waits for an ACK).
type Withheld struct {
	Stream  int64    `json:"stream"`
	Pid     int      `json:"pid"`
	Type    string   `json:"type"`
	Version string   `json:"version"`
	Reason  string   `json:"reason"`
	Names   []string `json:"names,omitempty"`
}

// Snapshot is a reading of the snapshot file, in force or refused.
type Snapshot struct {
	File      string     `json:"file"`
	Version   string     `json:"version"`            // "" when refused
	Explicit  bool       `json:"explicit,omitempty"` // the learner gave version_info
	SHA256    string     `json:"sha256"`             // of the file's bytes
	Resources []Resource `json:"resources,omitempty"`
	Problems  []Problem  `json:"problems,omitempty"` // errors of a refused one, warnings of a loaded one
}

// Resource is one resource of a snapshot.
type Resource struct {
	Type string `json:"type"` // "CDS", ...
	Name string `json:"name"`
	Hash string `json:"hash"`
	Line int    `json:"line"` // where it starts in the file, from 1
	// Body is the resource in proto field names (connect_timeout: "0s"), set
	// where this hash is new in the journal. Secrets have none.
	Body map[string]any `json:"body,omitempty"`
}

// Problem is one complaint about a file, with its place. Text is in English,
// Code and Args let a reader say it in another language.
type Problem struct {
	Code    string            `json:"code"`
	Args    map[string]string `json:"args,omitempty"`
	Line    int               `json:"line,omitempty"`
	Col     int               `json:"col,omitempty"`
	Source  string            `json:"source,omitempty"` // the line of the file
	Text    string            `json:"text"`
	Warning bool              `json:"warning,omitempty"`
}

// Stats are values of Envoy's admin interface that changed since the sample
// before. The first sample of a process is Full and holds every value that
// matched the sampler's filter.
type Stats struct {
	Pid    int               `json:"pid"`
	Epoch  int               `json:"epoch"`
	Full   bool              `json:"full,omitempty"`
	Values map[string]uint64 `json:"values,omitempty"` // counters and gauges
	Texts  map[string]string `json:"texts,omitempty"`  // text readouts (version_text)
	Gone   []string          `json:"gone,omitempty"`   // names no longer there
}

// Hosts is the host list of one cluster, whole, where it changed.
type Hosts struct {
	Pid     int    `json:"pid"`
	Epoch   int    `json:"epoch"`
	Cluster string `json:"cluster"`
	Gone    bool   `json:"gone,omitempty"` // the cluster is no longer there
	Hosts   []Host `json:"hosts"`
}

// Host is one host of a cluster with its health flags as /clusters names them
// ("failed_outlier_check"); none means healthy.
type Host struct {
	Address string   `json:"address"`
	Flags   []string `json:"flags,omitempty"`
}

// Probe sums up requests that a generator sent through Envoy in a short window.
type Probe struct {
	Name   string       `json:"name"` // "steady", "send"
	From   time.Time    `json:"from"`
	To     time.Time    `json:"to"`
	Sent   int          `json:"sent"`
	Failed int          `json:"failed"`
	Groups []ProbeGroup `json:"groups"`
}

// ProbeGroup is the requests of a window that went alike. A request failed
// when it got no answer (Status 0), a status of 400 or more, an answer that was
// cut (Error is set), or one that came from no upstream (Upstream is ""). Last is when the latest of them was sent.
type ProbeGroup struct {
	Status   int       `json:"status"`             // 0: no answer
	Upstream string    `json:"upstream,omitempty"` // name of the one that answered
	Error    string    `json:"error,omitempty"`    // "refused", "reset", "timeout", ...
	Count    int       `json:"count"`
	Last     time.Time `json:"last"`
	MaxMS    float64   `json:"max_ms"`
}

// Hit sums up requests that reached an upstream in a short window.
type Hit struct {
	Upstream string    `json:"upstream"`
	Fault    string    `json:"fault,omitempty"`
	Count    int       `json:"count"`
	Last     time.Time `json:"last"`
}

// Access sums up requests that Envoy finished in a short window, as its access
// log tells them (Envoy docs, api-v3/data/accesslog/v3/accesslog.proto).
type Access struct {
	From   time.Time     `json:"from"`
	To     time.Time     `json:"to"`
	Groups []AccessGroup `json:"groups"`
}

// AccessGroup is the requests of a window that ended alike.
type AccessGroup struct {
	Probe    string    `json:"probe,omitempty"` // "steady", "send", "slow"; "" for requests that lab did not send
	Path     string    `json:"path"`            // without the query
	Status   int       `json:"status"`          // 0: the client got no response
	Flags    string    `json:"flags,omitempty"` // "UF", "URX,UF": short names, with commas
	Details  string    `json:"details"`         // response_code_details: "via_upstream"
	Cluster  string    `json:"cluster,omitempty"`
	Upstream string    `json:"upstream,omitempty"` // address of the host that was chosen last
	Attempts int       `json:"attempts"`           // requests to upstreams, retries included
	Count    int       `json:"count"`
	Last     time.Time `json:"last"`   // when the latest of them began
	MinMS    float64   `json:"min_ms"` // from the first byte of the request to the last of the response
	MaxMS    float64   `json:"max_ms"`
}

// Process is the start or the end of a part of the run.
type Process struct {
	Role   string `json:"role"`  // "envoy", "control-plane", "session"
	State  string `json:"state"` // "started", "ready", "exited", "lost"
	Pid    int    `json:"pid"`
	Epoch  int    `json:"epoch,omitempty"`
	Exit   int    `json:"exit,omitempty"`   // status of an exit
	Signal string `json:"signal,omitempty"` // that ended it
	By     string `json:"by,omitempty"`     // "lab": the session ended it on purpose
	Text   string `json:"text,omitempty"`   // last lines it printed
	// ParentShutdownMS is, at the start of epoch 1 and later, after how long
	// the epoch before is ended by Envoy itself, in milliseconds from this start.
	ParentShutdownMS int64 `json:"parent_shutdown_ms,omitempty"`
}

// Command is something that a learner asked the session to do.
type Command struct {
	Name string            `json:"name"` // "control-plane kill", "envoy restart", "upstream set"
	Args map[string]string `json:"args,omitempty"`
}

// Step is a move in the lab. What happened before "opened" does not count for
// the step.
type Step struct {
	ID    string `json:"id"`
	State string `json:"state"` // "opened", "passed", "skipped", "shown", "hint"
	Rung  int    `json:"rung,omitempty"`
	Why   string `json:"why,omitempty"` // of an opening: "start", "passed", "goto", "reset"
}

// Answer is what a learner says to a question or predicts before an act.
type Answer struct {
	Step       string `json:"step"`
	Question   string `json:"question"`
	Value      string `json:"value"`
	Prediction bool   `json:"prediction,omitempty"`
}

// Check is a grading that was asked for.
type Check struct {
	Step      string `json:"step"`
	Verdict   string `json:"verdict"`
	Diagnosis string `json:"diagnosis,omitempty"`
	// Through is the last event that was graded, and At the time it was graded
	// for: with them the same grading can be made again from the journal.
	Through int64     `json:"through"`
	At      time.Time `json:"at"`
}

// Note says something about the journal or the run itself ("torn-line",
// "sampler-late"), so that a reader knows what is missing.
type Note struct {
	Code string            `json:"code"`
	Args map[string]string `json:"args,omitempty"`
}
