package checks

import (
	"fmt"
	"time"

	"cel.dev/cel-go/cel"
)

// variable is one of the language, read from the evidence when an expression
// asks for it.
type variable struct {
	name string
	kind *cel.Type
	doc  string
	eval func(*Scope) (any, error)
}

var variables = []variable{
	{"step", cel.ObjectType("checks.Opening"), "the opening of this step",
		func(s *Scope) (any, error) { return &s.ev.step.Opening, nil }},
	{"now", cel.TimestampType, "the time of the grading",
		func(s *Scope) (any, error) { return s.in.Now, nil }},
	{"snapshots", cel.ListType(cel.ObjectType("checks.Snapshot")), "versions of the file that came into force in this step; a reading with the same content is none",
		func(s *Scope) (any, error) { return s.ev.step.snapshots, nil }},
	{"refused", cel.ListType(cel.ObjectType("checks.Refused")), "readings of snapshot.yaml in this step that were refused before anything was sent",
		func(s *Scope) (any, error) { return s.ev.step.refused, nil }},
	{"file_refused", cel.BoolType, "the last reading of snapshot.yaml was refused",
		func(s *Scope) (any, error) { return s.ev.broken, nil }},
	{"last_act", cel.IntType, "the last event of this step that the learner, or the end of a part, caused; the step's opening where there is none",
		func(s *Scope) (any, error) { return s.ev.lastAct(), nil }},
	{"requests", cel.ListType(cel.ObjectType("checks.Request")), "requests in this step",
		func(s *Scope) (any, error) { return s.ev.step.requests, nil }},
	{"streams", cel.ListType(cel.ObjectType("checks.Stream")), "streams that opened in this step",
		func(s *Scope) (any, error) { return s.ev.step.streams, nil }},
	{"known_streams", cel.ListType(cel.ObjectType("checks.Stream")), "streams that are open, or closed in this step, in the order of their opening",
		func(s *Scope) (any, error) { return s.ev.knownStreams(), nil }},
	{"processes", cel.ListType(processType), "parts of the run that are alive, or ended in this step",
		func(s *Scope) (any, error) { return s.ev.processes, nil }},
	{"envoy", processType, "the Envoy that runs; an error without one",
		func(s *Scope) (any, error) {
			if p := s.ev.envoy(); p != nil {
				return p, nil
			}
			return nil, fmt.Errorf("no Envoy runs")
		}},
	{"access", cel.ListType(cel.ObjectType("checks.Access")), "requests that Envoy finished in this step, as its access log tells them; under `needs`, access says that it must speak",
		func(s *Scope) (any, error) { return s.ev.step.access.groups, nil }},
	{"slow_requests", cel.ListType(cel.ObjectType("checks.SlowRequest")), "requests of lab send --slow that began in this step",
		func(s *Scope) (any, error) { return s.ev.step.slow, nil }},
	{"commands", cel.ListType(cel.ObjectType("checks.Command")), "what the learner asked of the session in this step",
		func(s *Scope) (any, error) { return s.ev.step.commands, nil }},
	{"upstreams", cel.MapType(cel.StringType, cel.StringType), "name -> address",
		func(s *Scope) (any, error) {
			if s.ev.run == nil {
				return nil, errNoRun
			}
			return s.ev.run.Upstreams, nil
		}},
	{"settled", cel.BoolType, "no response waits for its answer",
		func(s *Scope) (any, error) { return s.settled(), nil }},
}

// How long an answer may take. Envoy withholds that of CDS while a Cluster
// waits for its first endpoints, at most 15 s; the others come at once, or
// never: it may have dropped the subscription while the response was on its
// way.
const (
	answerWithin    = 2 * time.Second
	answerCDSWithin = 20 * time.Second
)

func (s *Scope) settled() bool {
	for _, st := range s.ev.streams {
		for _, r := range st.open {
			within := answerWithin
			if r.Type == "CDS" {
				within = answerCDSWithin
			}
			sent, ok := s.ev.timeOf(r.Event)
			if !ok { // before this step
				sent = r.Time
			}
			if s.in.Now.Sub(sent) < within {
				return false
			}
		}
	}
	return true
}
