package web

import (
	"encoding/json"
	"strings"
	"testing"

	"lab/checks"
	"lab/pkg/journal"
	"lab/pkg/report"
	"lab/pkg/words"
)

// everything is a status in which all that can be wrong is.
func everything() report.Status {
	return report.Status{
		Lab: "08-xds", Step: "nack", Steps: []report.StepStatus{{ID: "nack", State: "open"}, {State: "passed"}, {State: "skipped"}, {State: "shown"}, {State: "locked"}},
		Envoy: report.EnvoyStatus{Version: "1.40.0", Pid: 7, Epoch: 1, Others: []report.OtherEpoch{{Epoch: 0, Pid: 6}}},
		Types: map[string]report.TypeState{"CDS": {Sent: "3", Acked: "2", Nacked: "3", Withheld: "3", InEffect: "2"}},
		Down:  []report.Down{{Part: "control-plane", Signal: "SIGKILL", By: "lab", Command: "control-plane start"}, {Part: "envoy", Exit: 1, Command: "envoy restart"}, {Part: "x"}},
		Rejected: []report.Rejection{
			{Type: "CDS", Version: "3", Nonce: "9", Resource: "orders", File: "snapshot.yaml", Line: 14, Source: "    connect_timeout: 0s", InEffect: "2", Error: strings.Repeat("name: orders ", 90) + "must be greater"},
			{Type: "LDS", Version: "3", Nonce: "1"}},
		Withheld:     []report.Withholding{{Type: "CDS", Version: "3", Reason: "parked"}, {Type: "EDS", Version: "3", Reason: "names"}, {Type: "RDS", Reason: "of-a-later-lab"}},
		Warming:      []report.Warming{{Type: "CDS", Name: "orders", For: "EDS orders"}},
		Refused:      &report.RefusedFile{File: "snapshot.yaml", Problems: 1, Line: 3, InForce: "2"},
		FileProblems: []report.FileProblem{{Code: "snapshot.unknown-field", Args: map[string]string{"Field": "conect_timeout", "In": "Cluster", "Suggest": "connect_timeout"}, Line: 3, Col: 5, Source: "x", Text: "unknown field"}},
	}
}

// No word is missing, in either language, whatever is wrong.
func TestStateHasItsWords(t *testing.T) {
	for _, lang := range words.Languages {
		s := speaker{words.For(lang), "lab"}
		rep := checks.Report{Verdict: checks.CannotTell, Missing: []checks.Missing{{Text: "m"}}, Checks: []checks.Result{{ID: "a", Verdict: checks.CannotTell, Observed: "m"}}}
		all := string(encode(s.state(everything()))) + string(encode(s.grade(rep))) + string(encode(s.grade(checks.Report{Verdict: checks.Passed})))
		for _, bad := range []string{"no value", `\u003cpage`, `\u003creport`, `\u003cproblem`} {
			if strings.Contains(all, bad) {
				t.Errorf("%s: %s in %s", lang, bad, all)
			}
		}
	}
}

// The red line: who refused what, where it stands in the file, and what serves;
// the same fact is not told twice.
func TestTroubles(t *testing.T) {
	v := speaker{words.English(), "lab"}.state(everything())
	var texts []string
	for _, x := range v.Troubles {
		texts = append(texts, x.Text)
	}
	red := v.Troubles[3]
	if red.Text != `CDS 3 rejected (nonce 9): "orders", snapshot.yaml:14` || red.Line != 14 || !strings.Contains(red.Source, "connect_timeout: 0s") ||
		red.More[0] != "Envoy still runs CDS 2. An Envoy that starts now would begin without it." || !strings.HasSuffix(red.More[1], "must be greater") || len(red.More[1]) > 300 {
		t.Errorf("%+v", red)
	}
	if all := strings.Join(texts, "\n"); strings.Contains(all, "CDS 3 is not sent") || !strings.Contains(all, "EDS 3 is not sent") {
		t.Errorf("withheld: %s", all)
	}
	if got := v.Troubles[0].More[0]; got != "Bring it back: lab control-plane start" {
		t.Errorf("%q", got)
	}
}

// While two epochs run, each arrow says whose it is.
func TestEpochs(t *testing.T) {
	s := newStory()
	s.begin()
	s.response("CDS", "1", "1")
	s.want(t, "0>1  CDS 1 · nonce 1")
	s.add(journal.Event{Kind: journal.KindProcess, Process: &journal.Process{Role: "envoy", State: "started", Pid: 8, Epoch: 1}})
	s.response("CDS", "2", "2")
	s.want(t, "0>1  CDS 2 · nonce 2 · epoch 0")
	s.add(journal.Event{Kind: journal.KindProcess, Process: &journal.Process{Role: "envoy", State: "exited", Pid: 7, Signal: "SIGTERM", By: "lab"}})
	s.want(t, "1>1  Envoy ended, SIGTERM, by lab, epoch 0")
	s.request(journal.Ack, "CDS", "2", "2")
	s.want(t, "1>0 ✔ ACK 2 · CDS 2")
}

// The document that a browser gets has no null where it counts on a list.
func TestNoNull(t *testing.T) {
	s := speaker{words.English(), "lab"}
	step, err := s.step(Step{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []any{s.state(report.Status{}), step, s.grade(checks.Report{}), s.frame(NewModel().since(0), start)} {
		raw, err := json.Marshal(v)
		if err != nil || strings.Contains(strings.ReplaceAll(string(raw), `"more":null`, ""), "null") {
			t.Errorf("%s %v", raw, err)
		}
	}
}
