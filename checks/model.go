package checks

import "time"

// What an expression sees. Field names in expressions are those of the cel
// tags; event numbers are journal.Event.Seq.

// Resource is an xDS resource with its content.
type Resource struct {
	Type string         `cel:"type"`
	Name string         `cel:"name"`
	Hash string         `cel:"hash"`
	Line int            `cel:"line"` // in snapshot.yaml, from 1; 0 unknown
	Body map[string]any `cel:"body"` // proto field names; empty when the journal has none
}

// Response is a DiscoveryResponse with the answer that carried its nonce.
type Response struct {
	Event     int64       `cel:"event"`
	Time      time.Time   `cel:"time"`
	Type      string      `cel:"type"`
	Version   string      `cel:"version"`
	Nonce     string      `cel:"nonce"`
	Stream    int64       `cel:"stream"` // event of the stream's opening
	Resources []*Resource `cel:"resources"`
	Envoy     *Process    `cel:"envoy"` // the Envoy at the other end of the stream

	Acked   bool `cel:"acked"`
	Nacked  bool `cel:"nacked"`  // the answer has error_detail
	Pending bool `cel:"pending"` // no answer, and the stream is open

	AnswerEvent   int64     `cel:"answer_event"` // 0 without an answer
	AnswerTime    time.Time `cel:"answer_time"`
	AnswerVersion string    `cel:"answer_version"` // version_info of the answer

	// What this Envoy had of the type when it answered (while pending: when
	// the response was sent).
	AcceptedBefore string `cel:"accepted_before"` // version, "" none
	RejectedBefore string `cel:"rejected_before"` // version of the response before, where that was rejected

	before holdings
}

// Request is a DiscoveryRequest.
type Request struct {
	Event   int64     `cel:"event"`
	Time    time.Time `cel:"time"`
	Type    string    `cel:"type"`
	Version string    `cel:"version"`
	Nonce   string    `cel:"nonce"`
	Names   []string  `cel:"names"`
	Class   string    `cel:"class"`  // journal.Subscribe, ...
	Stream  int64     `cel:"stream"` // event of the stream's opening
	HasNode bool      `cel:"has_node"`
	// Accepted is the version of the type that its Envoy had acknowledged
	// before, on whatever stream; "" for none.
	Accepted string `cel:"accepted"`
	Error    bool   `cel:"error"` // error_detail is there
}

// Stream is an xDS stream.
type Stream struct {
	Event  int64     `cel:"event"` // when it opened
	Time   time.Time `cel:"time"`
	Open   bool      `cel:"open"`
	Closed int64     `cel:"closed"` // event of its close, or of the control plane's end; 0 while open
	Envoy  *Process  `cel:"envoy"`
}

// Snapshot is a reading of snapshot.yaml that came into force.
type Snapshot struct {
	Event     int64       `cel:"event"`
	Time      time.Time   `cel:"time"`
	Version   string      `cel:"version"`
	Explicit  bool        `cel:"explicit"`
	Resources []*Resource `cel:"resources"`
}

// Refused is a reading of snapshot.yaml that did not.
type Refused struct {
	Event    int64     `cel:"event"`
	Time     time.Time `cel:"time"`
	Problems []Problem `cel:"problems"`
}

// Problem is what was wrong with the file.
type Problem struct {
	Code string `cel:"code"`
	Line int    `cel:"line"`
}

// Process is a process of the run; its Event, that of its start, tells it from
// another one with the same pid.
type Process struct {
	Event  int64     `cel:"event"`
	Time   time.Time `cel:"time"`
	Role   string    `cel:"role"` // "envoy", "control-plane", "session"
	Pid    int       `cel:"pid"`
	Epoch  int       `cel:"epoch"`
	Alive  bool      `cel:"alive"`
	Ended  int64     `cel:"ended"` // event of its end, 0 while alive
	Signal string    `cel:"signal"`
	By     string    `cel:"by"` // "lab": ended on purpose by a command

	EndTime time.Time `cel:"end_time"`
	Exit    int       `cel:"exit"` // status of its end
	// ParentShutdown is, of epoch 1 and later, after how long Envoy itself ends
	// the epoch before.
	ParentShutdown time.Duration `cel:"parent_shutdown"`
}

// Command is something that the learner asked the session to do.
type Command struct {
	Event int64             `cel:"event"`
	Time  time.Time         `cel:"time"`
	Name  string            `cel:"name"`
	Args  map[string]string `cel:"args"`
}

// Opening is the event that opened the step.
type Opening struct {
	Event int64     `cel:"event"`
	Time  time.Time `cel:"time"`
	ID    string    `cel:"id"`
	Why   string    `cel:"why"`
}

// Access is requests that Envoy finished in a short time, and that ended alike,
// as its access log tells them. Those of steady traffic that are alike may be
// added up over a longer time in which nothing else happened.
type Access struct {
	Event    int64     `cel:"event"`   // the first that tells of them
	Time     time.Time `cel:"time"`    // of that event
	From     time.Time `cel:"from"`    // none of them began before
	Last     time.Time `cel:"last"`    // when the latest of them began
	Probe    string    `cel:"probe"`   // "steady", "send", "slow"; "" for requests that lab did not send
	Path     string    `cel:"path"`    // without the query
	Status   int       `cel:"status"`  // 0: the client got no response
	Flags    string    `cel:"flags"`   // "UF", "URX,UF"; "" none
	Details  string    `cel:"details"` // response_code_details: "via_upstream"
	Cluster  string    `cel:"cluster"`
	Upstream string    `cel:"upstream"` // address of the host that was chosen last
	Attempts int       `cel:"attempts"` // requests to upstreams, retries included
	Count    int       `cel:"count"`
	MinMS    float64   `cel:"min_ms"` // from the first byte of the request to the last of the response
	MaxMS    float64   `cel:"max_ms"`
}

// SlowRequest is a request of lab send --slow.
type SlowRequest struct {
	Event    int64     `cel:"event"` // its begin
	Ended    int64     `cel:"ended"` // event of its end, 0 while it runs
	From     time.Time `cel:"from"`
	To       time.Time `cel:"to"`       // its end
	Status   int       `cel:"status"`   // 0: no answer
	Upstream string    `cel:"upstream"` // name of the one that answered
	Error    string    `cel:"error"`    // "reset", "eof", "timeout", "stopped" (the command was interrupted), ...; "" none
	Done     bool      `cel:"done"`     // it has ended, in whatever way
	Served   bool      `cel:"served"`   // an upstream's answer came in full, with a status below 400
}

// Window sums up steady traffic. Sent counts only requests that surely were
// sent within it. Failed and To count every window of which some such request
// is known to be within it: at least 1 for a window that begins before it.
type Window struct {
	Sent        int            `cel:"sent"`
	Failed      int            `cel:"failed"`
	To          map[string]int `cel:"to"`           // upstream -> answers
	FailedEvent int64          `cel:"failed_event"` // the first window with a failure, 0 none
	Last        int64          `cel:"last"`         // the last window, 0 none
	Lasted      time.Duration  `cel:"lasted"`       // from its beginning to the last answer
}
