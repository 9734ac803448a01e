package report

import "time"

// Status is the document of `lab status -o json`. The session fills it in.
type Status struct {
	Version      int                  `json:"version" jsonschema:"description=version of this document: 1"`
	Lab          string               `json:"lab"`
	Dir          string               `json:"dir"`
	Step         string               `json:"step" jsonschema:"description=id of the current step"`
	Envoy        EnvoyStatus          `json:"envoy"`
	ControlPlane ControlPlaneStatus   `json:"control_plane"`
	Types        map[string]TypeState `json:"types" jsonschema:"description=by short type: CDS; EDS; LDS; RDS; SDS"`
	Upstreams    []UpstreamStatus     `json:"upstreams"`
	Page         string               `json:"page" jsonschema:"description=URL of the live page; empty where none is served"`
	Params       map[string]string    `json:"params" jsonschema:"description=values that the text of the current step names"`
	Steps        []StepStatus         `json:"steps"`

	UptimeSeconds float64       `json:"uptime_seconds" jsonschema:"description=age of the session"`
	Rejected      []Rejection   `json:"rejected,omitempty" jsonschema:"description=versions that Envoy refused and that nothing has replaced"`
	Withheld      []Withholding `json:"withheld,omitempty" jsonschema:"description=answers that the control plane does not give at present"`
	Warming       []Warming     `json:"warming,omitempty" jsonschema:"description=clusters and listeners that are not in use yet"`
	FileProblems  []FileProblem `json:"file_problems,omitempty" jsonschema:"description=what is wrong with the snapshot file as it is now; and warnings"`
	Refused       *RefusedFile  `json:"refused,omitempty" jsonschema:"description=set while the snapshot file can't be read"`
	Traffic       *Traffic      `json:"traffic,omitempty" jsonschema:"description=the steady requests of the last seconds"`
	Down          []Down        `json:"down,omitempty" jsonschema:"description=parts that are not running"`
}

// EnvoyStatus is the Envoy that serves now, or served last.
type EnvoyStatus struct {
	Version   string            `json:"version"`
	Runtime   string            `json:"runtime" jsonschema:"enum=native,enum=docker"`
	Pid       int               `json:"pid" jsonschema:"description=0 while it is down"`
	Epoch     int               `json:"epoch" jsonschema:"description=restart epoch of hot restarts"`
	Admin     string            `json:"admin" jsonschema:"description=host:port of the admin interface"`
	Listeners map[string]string `json:"listeners" jsonschema:"description=address of each Listener by name"`
	Ready     bool              `json:"ready"`
	State     string            `json:"state,omitempty" jsonschema:"description=what /ready says: LIVE; INITIALIZING; ..."`
	Others    []OtherEpoch      `json:"others,omitempty" jsonschema:"description=other epochs that run: one that drains, or one that starts"`
}

// OtherEpoch is an Envoy of the run that is not the one that serves.
type OtherEpoch struct {
	Epoch int `json:"epoch"`
	Pid   int `json:"pid"`
}

// ControlPlaneStatus is the ADS server.
type ControlPlaneStatus struct {
	Pid       int        `json:"pid" jsonschema:"description=0 while it is down"`
	Address   string     `json:"address"`
	Connected bool       `json:"connected" jsonschema:"description=Envoy has a stream to it"`
	Since     *time.Time `json:"since,omitempty" jsonschema:"description=when the stream opened or closed"`
}

// TypeState is how far one type has come. Versions are version_info; "" where
// there is none.
type TypeState struct {
	Sent     string `json:"sent" jsonschema:"description=version that was sent last"`
	Acked    string `json:"acked" jsonschema:"description=version that Envoy acknowledged last"`
	Nacked   string `json:"nacked" jsonschema:"description=version that Envoy refused last"`
	Withheld string `json:"withheld" jsonschema:"description=version that is not sent at present"`
	InEffect string `json:"in_effect" jsonschema:"description=version_text in Envoy"`
}

// UpstreamStatus is one backend, with how Envoy sees it.
type UpstreamStatus struct {
	Name    string `json:"name"`
	Address string `json:"address"`
	Fault   string `json:"fault" jsonschema:"description=ok or the fault that is set"`

	Rate float64 `json:"rate" jsonschema:"description=requests a second that reach it"`
	// Ejected is set while outlier detection keeps it out; BackIn is the rest
	// of that time in seconds, nil where it is not known.
	Ejected bool     `json:"ejected,omitempty"`
	BackIn  *float64 `json:"back_in_seconds,omitempty"`
}

// StepStatus is one step of the lab.
type StepStatus struct {
	ID    string `json:"id"`
	State string `json:"state" jsonschema:"enum=open,enum=passed,enum=skipped,enum=shown,enum=locked"`
}

// Rejection is a NACK that still stands.
type Rejection struct {
	Type     string `json:"type"`
	Version  string `json:"version"`
	Nonce    string `json:"nonce"`
	Resource string `json:"resource,omitempty" jsonschema:"description=the changed resource; absent where more than one changed"`
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty" jsonschema:"description=where the resource stands in the file; from 1"`
	Source   string `json:"source,omitempty" jsonschema:"description=that line"`
	Error    string `json:"error" jsonschema:"description=error_detail.message of Envoy; its wording differs between versions and processes"`
	InEffect string `json:"in_effect" jsonschema:"description=version that Envoy still runs; empty where it accepted none"`
}

// Withholding is an answer that is not given. Reasons are those of
// journal.Withheld.
type Withholding struct {
	Type    string   `json:"type"`
	Version string   `json:"version"`
	Reason  string   `json:"reason"`
	Names   []string `json:"names,omitempty"`
}

// Warming is a resource that Envoy has accepted and does not use yet.
type Warming struct {
	Type    string  `json:"type" jsonschema:"description=CDS or LDS"`
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds" jsonschema:"description=for how long"`
	For     string  `json:"waits_for,omitempty" jsonschema:"description=what it waits for: EDS orders"`
}

// FileProblem is one thing in the snapshot file.
type FileProblem struct {
	Code    string            `json:"code"`
	Args    map[string]string `json:"args,omitempty"`
	File    string            `json:"file"`
	Line    int               `json:"line,omitempty" jsonschema:"description=from 1"`
	Col     int               `json:"col,omitempty" jsonschema:"description=in characters; from 1"`
	Source  string            `json:"source,omitempty" jsonschema:"description=that line"`
	Text    string            `json:"text" jsonschema:"description=in English"`
	Warning bool              `json:"warning,omitempty" jsonschema:"description=the file is in force all the same"`
}

// RefusedFile is a snapshot file that could not become a message.
type RefusedFile struct {
	File     string `json:"file"`
	Problems int    `json:"problems"`
	Line     int    `json:"line,omitempty" jsonschema:"description=of the first problem; from 1"`
	InForce  string `json:"in_force" jsonschema:"description=version of the snapshot that stays in force"`
}

// Traffic sums up the steady requests through Envoy in a window that ended now.
type Traffic struct {
	Seconds float64 `json:"seconds" jsonschema:"description=length of the window"`
	Sent    int     `json:"sent"`
	Failed  int     `json:"failed"`
}

// Down is a part that is not running.
type Down struct {
	Part    string `json:"part" jsonschema:"description=envoy or control-plane"`
	Exit    int    `json:"exit,omitempty"`
	Signal  string `json:"signal,omitempty" jsonschema:"description=that ended it"`
	By      string `json:"by,omitempty" jsonschema:"description=lab where a command ended it"`
	Command string `json:"command" jsonschema:"description=what brings it back; without the name of the program: control-plane start"`
}
