package session

// Step is a step as a learner reads it.
type Step struct {
	Lab    string            `json:"lab"`
	ID     string            `json:"id"`
	Number int               `json:"number"` // from 1
	Of     int               `json:"of"`
	Title  string            `json:"title"`
	Text   string            `json:"text"` // Markdown
	Params map[string]string `json:"params"`
	State  string            `json:"state"`
}

// Hint is one rung of the hints of a step.
type Hint struct {
	Step string `json:"step"`
	Rung int    `json:"rung"` // from 1
	Of   int    `json:"of"`
	Text string `json:"text"`
}

// Question is a question of a step, or a prediction, and what was said to it.
type Question struct {
	Step       string   `json:"step"`
	ID         string   `json:"id"`
	Text       string   `json:"text"`
	Choices    []string `json:"choices,omitempty"`
	Prediction bool     `json:"prediction,omitempty"`
	Value      string   `json:"value,omitempty"` // the last answer; "" where there is none
}

// PartDone is what an action on a part came to; it is empty but for a hot
// restart, where both epochs run for a while.
type PartDone struct {
	Pid       int     `json:"pid,omitempty"`
	Epoch     int     `json:"epoch,omitempty"`
	OldPid    int     `json:"old_pid,omitempty"`
	OldEpoch  int     `json:"old_epoch"`
	OldEndsIn float64 `json:"old_ends_in_seconds,omitempty"` // when Envoy ends the old epoch itself
}
