package session

import (
	"strings"
	"testing"

	"lab/pkg/journal"
	"lab/pkg/report"
)

// The line of a rejection is that of the one field that changed, wherever in the
// resource it stands; where more changed, there is none to point at.
func TestChangedField(t *testing.T) {
	type body = map[string]any
	good := body{"name": "orders", "connect_timeout": "1s", "outlier_detection": body{"interval": "1s", "consecutive_5xx": 3.0}}
	with := func(key string, value any) body {
		out := body{}
		for k, v := range good {
			out[k] = v
		}
		out[key] = value
		return out
	}
	for _, c := range []struct {
		what  string
		now   body
		field string
	}{
		{"a field", with("connect_timeout", "0s"), "connect_timeout"},
		{"a field inside", with("outlier_detection", body{"interval": "0s", "consecutive_5xx": 3.0}), "interval"},
		{"two fields inside", with("outlier_detection", body{"interval": "0s", "consecutive_5xx": 4.0}), "outlier_detection"},
		{"a new field", with("lb_policy", "X"), "lb_policy"},
		{"nothing", good, ""},
		{"no body", nil, ""},
	} {
		if got := differ(good, c.now); got != c.field {
			t.Errorf("%s: %q, want %q", c.what, got, c.field)
		}
	}
}

func TestFieldLine(t *testing.T) {
	lines := strings.Split(`resources:
  - name: orders
    # connect_timeout: 9s
    connect_timeout: 0s
    outlier_detection: {interval: 1s, base_ejection_time: 1s}
  - name: other
    connect_timeout: 1s
    lb: {a: {interval: 1s}, b: {x: 1}}
    c: {interval: 2s}`, "\n")
	snap := &journal.Snapshot{Resources: []journal.Resource{{Name: "orders", Line: 2}, {Name: "other", Line: 6}}}
	for _, c := range []struct {
		line  int
		field string
		want  int
	}{
		{2, "connect_timeout", 4}, {2, "interval", 5}, {6, "connect_timeout", 7},
		{6, "interval", 0}, // twice: which one is not known
		{2, "timeout", 0}, {2, "", 0},
	} {
		if got := fieldLine(lines, report.Rejection{Line: c.line}, snap, c.field); got != c.want {
			t.Errorf("%q from line %d: %d, want %d", c.field, c.line, got, c.want)
		}
	}
}
