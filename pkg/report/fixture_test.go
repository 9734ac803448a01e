package report

import (
	"fmt"
	"strings"
	"time"

	"lab/checks"
	"lab/pkg/journal"
	"lab/pkg/problem"
)

var noon = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

func at(ms int) time.Time { return noon.Add(time.Duration(ms) * time.Millisecond) }

func problems() map[string]*problem.Problem {
	mode := func() *problem.Problem {
		return problem.New("color-mode", problem.Args{"Value": "pink\x1b[2J"}).WithExit(problem.Usage)
	}
	long := strings.Repeat("a: b, ", 400) + "x: 250ms" + strings.Repeat(", c: d", 400)
	return map[string]*problem.Problem{
		"plain":   mode(),
		"line":    mode().At(problem.Place{File: "snapshot.yaml", Line: 14, Col: 5, Source: "    conect_timeout: 5s"}),
		"wide":    mode().At(problem.Place{File: "snapshot.yaml", Line: 3, Col: 9, Source: "名称: 订单 x: 250ms"}),
		"tabs":    mode().At(problem.Place{File: "snapshot.yaml", Line: 3, Col: 3, Source: "\t\tname: orders"}),
		"long":    mode().At(problem.Place{File: "snapshot.yaml", Line: 1, Col: 2404, Source: long}),
		"hostile": mode().At(problem.Place{File: "snap\x1b[31m.yaml", Line: 2, Col: 20, Source: "a: \x1b]0;title\x07\u202e x\r"}),
		"end":     mode().At(problem.Place{File: "snapshot.yaml", Line: 7, Col: 99, Source: "name: orders"}),
		"file":    mode().At(problem.Place{File: "snapshot.yaml"}),
	}
}

func fileProblems() problem.List {
	var out problem.List
	for i := 1; i <= 23; i++ {
		p := problem.New("color-mode", problem.Args{"Value": fmt.Sprint(i)}).
			At(problem.Place{File: "snapshot.yaml", Line: i, Col: 3, Source: "  x: y"})
		p.Warning = i == 2
		out = append(out, p)
	}
	return out
}

func healthy() Status {
	since := at(-60000)
	backIn := 1.4
	return Status{
		Version: Version, Lab: "08-xds", Dir: "/home/otter/08-xds", Step: "nack", UptimeSeconds: 372,
		Envoy: EnvoyStatus{Version: "1.40.0", Runtime: "native", Pid: 4711, Admin: "127.0.0.1:41001", Ready: true,
			Listeners: map[string]string{"http": "127.0.0.1:41080"}},
		ControlPlane: ControlPlaneStatus{Pid: 4705, Address: "127.0.0.1:41010", Connected: true, Since: &since},
		Types: map[string]TypeState{
			"RDS": {Sent: "3", Acked: "3", InEffect: "3"}, "CDS": {Sent: "3", Acked: "3", InEffect: "3"},
			"EDS": {Sent: "3", Acked: "3", InEffect: "3"}, "LDS": {Sent: "3", Acked: "3", InEffect: "3"},
		},
		Upstreams: []UpstreamStatus{
			{Name: "orders-1", Address: "127.0.0.1:41101", Fault: "ok", Rate: 4},
			{Name: "orders-2", Address: "127.0.0.1:41102", Fault: "ok", Rate: 4.25},
			{Name: "orders-3", Address: "127.0.0.1:41103", Fault: "503", Ejected: true, BackIn: &backIn},
		},
		Steps:   []StepStatus{{"connect", "passed"}, {"endpoint-removal", "skipped"}, {"nack", "open"}, {"per-type", "locked"}},
		Traffic: &Traffic{Seconds: 10, Sent: 120},
	}
}

func statuses() map[string]Status {
	rejected := healthy()
	rejected.Types["CDS"] = TypeState{Sent: "3", Acked: "2", Nacked: "3", Withheld: "3", InEffect: "2"}
	rejected.Rejected = []Rejection{{Type: "CDS", Version: "3", Nonce: "9", Resource: "orders", File: "snapshot.yaml", Line: 14,
		Source: "    connect_timeout: 0s", InEffect: "2",
		Error: "Proto constraint validation failed\n(ClusterValidationError.ConnectTimeout: value must be greater than 0s)"}}
	rejected.Withheld = []Withholding{{Type: "EDS", Version: "3", Reason: "not-asked", Names: []string{"b"}}, {Type: "CDS", Version: "3", Reason: "parked"}}
	rejected.Warming = []Warming{{Type: "CDS", Name: "slow", Seconds: 4.2, For: "EDS slow"}}
	rejected.Traffic.Failed = 3

	first := healthy()
	first.Types = map[string]TypeState{"CDS": {Sent: "bad\x1b[31m-and-very-long-version", Nacked: "bad\x1b[31m-and-very-long-version"}}
	first.Rejected = []Rejection{{Type: "CDS", Version: "1", Nonce: "1", Error: strings.Repeat("dump ", 200)}}
	first.Traffic = &Traffic{Seconds: 10}
	first.ControlPlane.Since = nil

	down := healthy()
	down.Envoy.Listeners = nil
	down.ControlPlane.Connected = false
	down.Down = []Down{
		{Part: "control-plane", Signal: "killed", Command: "control-plane start"},
		{Part: "envoy", Exit: 1, By: "lab", Command: "envoy restart"},
	}
	down.Traffic, down.Upstreams = nil, nil

	refused := healthy()
	refused.UptimeSeconds = 3
	refused.ControlPlane.Connected = false
	refused.Envoy.Ready = false
	refused.Refused = &RefusedFile{File: "snapshot.yaml", Problems: 2, Line: 14, InForce: "2"}
	refused.Page = "http://127.0.0.1:41100/?t=f3"
	return map[string]Status{"healthy": healthy(), "rejected": rejected, "rejected-first": first, "down": down, "refused": refused}
}

// conversation is a run in which most kinds of events happen once.
func conversation() []journal.Event {
	ref := func(name, hash string) journal.Ref { return journal.Ref{Name: name, Hash: hash} }
	cp, sess := journal.ControlPlane, journal.Session
	ok := func(from, n int) *journal.Probe {
		return &journal.Probe{Name: "steady", From: at(from), To: at(from + 250), Sent: n, Groups: []journal.ProbeGroup{
			{Status: 200, Upstream: "orders-1", Count: n - 1}, {Status: 200, Upstream: "orders-2", Count: 1}}}
	}
	bad := func(from int) *journal.Probe {
		return &journal.Probe{Name: "steady", From: at(from), To: at(from + 250), Sent: 5, Failed: 3, Groups: []journal.ProbeGroup{
			{Status: 200, Upstream: "orders-1", Count: 2}, {Status: 503, Count: 1}, {Error: "reset", Count: 2}}}
	}
	access := func(from int, flags string, n int) *journal.Access {
		a := &journal.Access{From: at(from), To: at(from + 200), Groups: []journal.AccessGroup{
			{Probe: "steady", Path: "/", Status: 200, Details: "via_upstream", Cluster: "orders", Upstream: "127.0.0.1:41101", Attempts: 1, Count: 2}}}
		if flags != "" {
			a.Groups = append(a.Groups, journal.AccessGroup{Probe: "send", Path: "/", Status: 503, Flags: flags, Attempts: 1, Count: n,
				Details: "upstream_reset_before_response_started{connection_timeout}", Cluster: "orders", Upstream: "127.0.0.1:41102"})
		}
		return a
	}
	x := []journal.Event{
		{Source: sess, Kind: journal.KindRun, Run: &journal.Run{Lab: "08-xds", EnvoyVersion: "1.40.0", Runtime: "native", Seed: 7}},
		{Source: sess, Kind: journal.KindProcess, Process: &journal.Process{Role: "control-plane", State: "started", Pid: 4705}},
		{Source: sess, Kind: journal.KindProcess, Process: &journal.Process{Role: "envoy", State: "started", Pid: 4711}},
		{Source: cp, Kind: journal.KindStreamOpen, Stream: &journal.Stream{ID: 1, Pid: 4705, State: "opened", Method: "StreamAggregatedResources", Peer: "127.0.0.1:5000"}},
		{Source: cp, Kind: journal.KindRequest, Request: &journal.Request{Stream: 1, Pid: 4705, Type: "CDS", Class: journal.Subscribe, HasNode: true, NodeID: "lab-7"}},
		{Source: cp, Kind: journal.KindWithheld, Withheld: &journal.Withheld{Stream: 1, Pid: 4705, Type: "CDS", Reason: "no-snapshot"}},
		{Source: cp, Kind: journal.KindSnapshotLoaded, Snapshot: &journal.Snapshot{File: "/home/otter/08-xds/snapshot.yaml", Version: "1",
			Resources: []journal.Resource{{Type: "EDS", Name: "orders"}, {Type: "CDS", Name: "orders"}, {Type: "CDS", Name: "pay"}}}},
		{Source: cp, Kind: journal.KindResponse, Response: &journal.Response{Stream: 1, Pid: 4705, Type: "CDS", Version: "1", Nonce: "1", Resources: []journal.Ref{ref("orders", "a"), ref("pay", "b")}}},
		{Source: cp, Kind: journal.KindRequest, Request: &journal.Request{Stream: 1, Pid: 4705, Type: "EDS", Class: journal.Subscribe, Names: []string{"orders"}}},
		{Source: cp, Kind: journal.KindRequest, Request: &journal.Request{Stream: 1, Pid: 4705, Type: "CDS", Class: journal.Ack, Version: "1", Nonce: "1"}},
		{Source: cp, Kind: journal.KindResponse, Response: &journal.Response{Stream: 1, Pid: 4705, Type: "LDS", Version: "1", Nonce: "2", Resources: []journal.Ref{ref("http", "l")}}},
		{Source: sess, Kind: journal.KindProcess, Process: &journal.Process{Role: "envoy", State: "ready", Pid: 4711}},
		{Source: sess, Kind: journal.KindStep, Step: &journal.Step{ID: "nack", State: "opened", Why: "start"}},
		{Source: journal.Envoy, Kind: journal.KindHosts, Hosts: &journal.Hosts{Cluster: "orders", Hosts: []journal.Host{{Address: "127.0.0.1:41101"}, {Address: "127.0.0.1:41102"}}}},
		{Source: journal.Envoy, Kind: journal.KindStats, Stats: &journal.Stats{Full: true, Values: map[string]uint64{"control_plane.connected_state": 1, "cluster_manager.cds.update_rejected": 0}}},
		{Source: journal.Client, Kind: journal.KindProbe, Probe: ok(300, 5)},
		{Source: journal.Upstream, Kind: journal.KindHit, Hit: &journal.Hit{Upstream: "orders-1", Count: 5, Fault: "ok"}},
		{Source: journal.Client, Kind: journal.KindProbe, Probe: ok(600, 6)},
		{Source: journal.Client, Kind: journal.KindProbe, Probe: bad(900)},
		{Source: journal.Learner, Kind: journal.KindAnswer, Answer: &journal.Answer{Step: "nack", Question: "still", Value: "1", Prediction: true}},
		{Source: cp, Kind: journal.KindSnapshotRefused, Snapshot: &journal.Snapshot{File: "snapshot.yaml", Problems: []journal.Problem{{Code: "x", Line: 14}}}},
		{Source: cp, Kind: journal.KindSnapshotLoaded, Snapshot: &journal.Snapshot{File: "snapshot.yaml", Version: "2\x1b[31m", Explicit: true,
			Resources: []journal.Resource{{Type: "CDS", Name: "orders"}}, Problems: []journal.Problem{{Code: "x", Line: 3, Warning: true}, {Code: "x", Line: 4, Warning: true}}}},
		{Source: cp, Kind: journal.KindResponse, Response: &journal.Response{Stream: 1, Pid: 4705, Type: "CDS", Version: "2", Nonce: "5", Resources: []journal.Ref{ref("orders", "c")}}},
		{Source: cp, Kind: journal.KindRequest, Request: &journal.Request{Stream: 1, Pid: 4705, Type: "CDS", Class: journal.Nack, Version: "1", Nonce: "5",
			Error: &journal.Error{Code: 13, Message: "name: \"orders\"\nconnect_timeout {\n}\n: Proto constraint validation failed\x07"}}},
		{Source: cp, Kind: journal.KindWithheld, Withheld: &journal.Withheld{Stream: 1, Pid: 4705, Type: "CDS", Version: "2", Reason: "parked"}},
		{Source: cp, Kind: journal.KindRequest, Request: &journal.Request{Stream: 1, Pid: 4705, Type: "EDS", Class: journal.Stale, Version: "1", Nonce: "3", Names: []string{"orders"}}},
		{Source: cp, Kind: journal.KindRequest, Request: &journal.Request{Stream: 1, Pid: 4705, Type: "EDS", Class: journal.Resubscribe, Version: "1", Nonce: "4", Names: []string{"orders", "pay"}}},
		{Source: cp, Kind: journal.KindResponse, Response: &journal.Response{Stream: 1, Pid: 4705, Type: "LDS", Version: "2", Nonce: "6"}},
		{Source: journal.Envoy, Kind: journal.KindStats, Stats: &journal.Stats{Values: map[string]uint64{"cluster_manager.cds.update_rejected": 1}}},
		{Source: journal.Envoy, Kind: journal.KindHosts, Hosts: &journal.Hosts{Cluster: "orders", Hosts: []journal.Host{{Address: "127.0.0.1:41101", Flags: []string{"failed_outlier_check"}}, {Address: "127.0.0.1:41103"}}}},
		{Source: journal.Envoy, Kind: journal.KindHosts, Hosts: &journal.Hosts{Cluster: "orders", Gone: true}},
		{Source: journal.Learner, Kind: journal.KindCommand, Command: &journal.Command{Name: "control-plane kill", Args: map[string]string{"signal": "SIGKILL"}}},
		{Source: sess, Kind: journal.KindProcess, Process: &journal.Process{Role: "control-plane", State: "exited", Pid: 4705, Signal: "killed", By: "lab"}},
		{Source: cp, Kind: journal.KindStreamOpen, Stream: &journal.Stream{ID: 1, Pid: 4705, State: "closed", Reason: "client"}},
		{Source: journal.Envoy, Kind: journal.KindStats, Stats: &journal.Stats{Values: map[string]uint64{"control_plane.connected_state": 0}}},
		{Source: sess, Kind: journal.KindNote, Note: &journal.Note{Code: "torn-line", Args: map[string]string{"bytes": "17"}}},
		{Source: sess, Kind: journal.KindNote, Note: &journal.Note{Code: "of-a-later-lab", Args: map[string]string{"a": "b"}}},
		{Source: cp, Kind: journal.KindRequest, Request: &journal.Request{Stream: 1, Pid: 4800, Type: "CDS", Class: journal.Nack, Nonce: "1"}},
		{Source: cp, Kind: journal.KindRequest, Request: &journal.Request{Stream: 1, Pid: 4800, Type: "LDS", Class: journal.Subscribe, Version: "1"}},
		{Source: sess, Kind: journal.KindStep, Step: &journal.Step{ID: "nack", State: "hint", Rung: 2}},
		{Source: sess, Kind: journal.KindCheck, Check: &journal.Check{Step: "nack", Verdict: "not yet"}},
		{Source: journal.Client, Kind: journal.KindProbe, Probe: ok(5000, 2)},
		{Source: journal.Envoy, Kind: journal.KindAccess, Access: access(900, "UF", 3)},
		{Source: journal.Envoy, Kind: journal.KindAccess, Access: access(1150, "", 5)},
		{Source: journal.Envoy, Kind: journal.KindAccess, Access: access(1400, "UF", 2)},
		{Source: journal.Client, Kind: journal.KindProbe, Probe: &journal.Probe{Name: "slow", From: at(1500), To: at(1500)}},
		{Source: journal.Envoy, Kind: journal.KindAccess, Access: access(1650, "UF", 1)},
		{Source: journal.Client, Kind: journal.KindProbe, Probe: &journal.Probe{Name: "slow", From: at(1500), To: at(4500), Sent: 1,
			Groups: []journal.ProbeGroup{{Status: 200, Upstream: "orders-1", Count: 1}}}},
		{Source: journal.Client, Kind: journal.KindProbe, Probe: &journal.Probe{Name: "slow", From: at(1500), To: at(2500), Sent: 1, Failed: 1,
			Groups: []journal.ProbeGroup{{Error: "stopped", Count: 1}}}},
		{Source: sess, Kind: journal.KindNote, Note: &journal.Note{Code: "access-stranger", Args: map[string]string{"peer": "127.0.0.1:5001"}}},
		{Source: sess, Kind: journal.KindNote, Note: &journal.Note{Code: "access-not-counted", Args: map[string]string{"count": "7"}}},
	}
	for i := range x {
		x[i].Seq, x[i].Time = int64(i+1), at(i*41)
	}
	return x
}

func numbered(events []journal.Event) map[int64]journal.Event {
	m := map[int64]journal.Event{}
	for _, e := range events {
		m[e.Seq] = e
	}
	return m
}

func items(from, n int) []checks.Item {
	out := []checks.Item{}
	for i := from; i < from+n; i++ {
		out = append(out, checks.Item{Event: int64(i), Time: at((i - 1) * 41)})
	}
	return out
}

func reports() map[string]func() checks.Report {
	next := "per-type"
	base := func(v checks.Verdict) checks.Report {
		return checks.Report{Version: 1, Lab: "08-xds", Step: "nack", Number: 3, Of: 5, Title: "A rejected update", Verdict: v, Next: &next}
	}
	good := checks.Result{ID: "traffic", Verdict: checks.Passed, Expected: "no failed request", Observed: "none of 212 requests failed", Evidence: items(16, 1)}
	bad := checks.Result{ID: "nack", Verdict: checks.NotYet, Expected: `a CDS version that Envoy refuses in this step, with an error_detail, whose nonce is that of the response`,
		Observed: "nothing new of CDS was sent in this step: 没有发送\x1b[2J", Evidence: items(21, 14)}
	open := checks.Result{ID: "hosts", Verdict: checks.CannotTell, Expected: "Envoy's own host list is without it", Observed: "waits for the line above", Evidence: items(900, 1)}
	return map[string]func() checks.Report{
		"not-yet": func() checks.Report {
			r := base(checks.NotYet)
			r.Checks = []checks.Result{good, bad, open}
			r.Diagnosis = &checks.Diagnosis{ID: "broken", Text: "It looks as if the file could not be read, so nothing was sent. Compare the two lists in snapshot.yaml."}
			return r
		},
		"passed": func() checks.Report {
			r := base(checks.Passed)
			r.Checks = []checks.Result{good, good}
			r.Opened = &next
			r.Predictions = []checks.Prediction{{Question: "still", Predicted: "3", Actual: "0", Text: "You predicted 3 failed requests; there were 0."}}
			return r
		},
		"last": func() checks.Report {
			r := base(checks.Passed)
			r.Checks, r.Next = []checks.Result{good}, nil
			return r
		},
		"cannot-tell": func() checks.Report {
			r := base(checks.CannotTell)
			lost := open
			lost.Evidence = []checks.Item{}
			r.Checks = []checks.Result{good, open, lost}
			return r
		},
		"missing": func() checks.Report {
			r := base(checks.CannotTell)
			lost := open
			lost.Evidence, lost.Observed = []checks.Item{}, "Envoy is not running."
			r.Checks = []checks.Result{lost, lost}
			r.Missing = []checks.Missing{{ID: checks.NeedEnvoy, Text: "Envoy is not running."}}
			return r
		},
	}
}
