package checks

import "time"

// Verdict is one of three.
type Verdict string

// The verdicts (docs/architecture.md, "A step, from evidence").
const (
	Passed     Verdict = "passed"
	NotYet     Verdict = "not yet"
	CannotTell Verdict = "cannot tell"
)

// Report is a grading of one step. Evaluate fills the ids, verdicts and
// evidence; the texts are the lab's, in one language (pkg/curriculum). Next and
// Opened are set by the session that grades.
type Report struct {
	Version     int          `json:"version"` // 1
	Lab         string       `json:"lab"`
	Step        string       `json:"step"`
	Number      int          `json:"number"` // of the step, from 1; with Of and Title set by the session
	Of          int          `json:"of"`
	Title       string       `json:"title"`
	Verdict     Verdict      `json:"verdict"`
	Checks      []Result     `json:"checks"`
	Missing     []Missing    `json:"missing,omitempty"` // why nothing could be told
	Diagnosis   *Diagnosis   `json:"diagnosis"`
	Predictions []Prediction `json:"predictions,omitempty"` // when passed
	Next        *string      `json:"next"`
	Opened      *string      `json:"opened"`
	Kept        string       `json:"kept,omitempty"` // the learner's snapshot.yaml, where the opened step has one of its own

	// Settles says that evidence which comes by itself may change the verdict:
	// an answer is under way, or there was too little traffic yet. A caller may
	// wait for more events and grade again.
	Settles bool `json:"-"`
}

// Result is the verdict of one check.
type Result struct {
	ID       string  `json:"id"`
	Verdict  Verdict `json:"verdict"`
	Expected string  `json:"expected"`
	Observed string  `json:"observed"`
	Evidence []Item  `json:"evidence"`

	// Because is the key of the reason of a CannotTell, "" when an expression
	// failed, which Fault then tells for the log.
	Because string `json:"-"`
	Fault   error  `json:"-"`
}

// Item cites an event of the journal. Text is left to pkg/report.
type Item struct {
	Event int64     `json:"event"`
	Time  time.Time `json:"time"`
	Text  string    `json:"text"`
}

// Missing is something without which the step cannot be graded; ID is one of
// the Need... constants.
type Missing struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

// The things that a grading may miss; the words are "checks.missing.ID".
const (
	NeedStep         = "step"          // another step is open, or none
	NeedEnvoy        = "envoy"         // no Envoy runs
	NeedAdmin        = "admin"         // its admin interface does not answer, or was not read yet
	NeedControlPlane = "control-plane" // no control plane runs
	NeedReading      = "reading"       // the control plane runs, and has not read the file as it is now
	NeedConnection   = "connection"    // Envoy has no stream to it
	NeedTraffic      = "traffic"       // no steady traffic lately
	NeedAccess       = "access"        // Envoy's access log says nothing, or said more than is kept
	NeedEvidence     = "evidence"      // all events of the step: the disk took them
)

// Needs lists what a step may ask for; an earlier one that is missing explains
// those that follow.
func Needs() []string {
	return []string{NeedEnvoy, NeedAdmin, NeedControlPlane, NeedConnection, NeedTraffic, NeedAccess}
}

// Diagnosis is a named misconception that fits what happened.
type Diagnosis struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

// Prediction is what a learner said would happen, beside what did.
type Prediction struct {
	Question  string `json:"question"`
	Predicted string `json:"predicted"`
	Actual    string `json:"actual"`
	Right     bool   `json:"right"`
	Late      bool   `json:"late"` // it was given after the first change of this step
	Text      string `json:"text"`
}
