package session

import (
	"context"
	"path/filepath"
	"slices"
	"time"

	"lab/envoy/admin"
	"lab/pkg/journal"
	"lab/pkg/report"
)

// adminWithin bounds a call to Envoy's admin interface for status.
const adminWithin = 500 * time.Millisecond

// status is what every part does now.
func (s *Session) status(ctx context.Context) (report.Status, error) {
	return s.sources(s.statusNow(s.listeners(ctx))), nil
}

// statusNow is what is known without asking any process but for the listeners,
// nil where Envoy did not answer.
func (s *Session) statusNow(listeners map[string]string) report.Status {
	cp, ev := s.controlPlane(), s.envoy()
	s.mu.Lock()
	defer s.mu.Unlock()
	st := report.Status{
		Version: 1, Lab: s.lab.ID, Dir: s.folder.Dir, Step: s.steps.current,
		Envoy: report.EnvoyStatus{Version: s.run.Envoy.Version, Runtime: s.run.Runtime, Listeners: listeners},
		ControlPlane: report.ControlPlaneStatus{
			Address: s.adsAddress()},
		Types: map[string]report.TypeState{}, Upstreams: []report.UpstreamStatus{},
		Params:        s.stepParams(),
		UptimeSeconds: time.Since(s.started).Seconds(), Page: s.pageURL(),
	}
	if ev.alive() {
		st.Envoy.Pid, st.Envoy.Epoch, st.Envoy.Admin = ev.proc.Pid(), ev.proc.Epoch(), ev.proc.AdminAddr()
		st.Envoy.Ready = listeners != nil && s.readyPids[st.Envoy.Pid]
	}
	if cp.alive() {
		st.ControlPlane.Pid = cp.cmd.Process.Pid
	}
	talk := s.view.now()
	if x := talk.stream; x != nil {
		at := talk.streamAt
		st.ControlPlane.Connected, st.ControlPlane.Since = x.State == "opened" && cp.alive(), &at
	}
	for _, e := range s.epochs {
		if e != ev && e.alive() {
			st.Envoy.Others = append(st.Envoy.Others, report.OtherEpoch{Epoch: e.proc.Epoch(), Pid: e.proc.Pid()})
		}
	}
	s.conversation(&st, talk)
	s.backends(&st)
	if st.Envoy.Listeners == nil {
		st.Envoy.Listeners = map[string]string{} // a document has no null
	}
	for _, step := range s.lab.Steps {
		st.Steps = append(st.Steps, report.StepStatus{ID: step.ID, State: s.steps.state(step.ID)})
	}
	for _, role := range []string{roleControlPlane, roleEnvoy} {
		if p, down := s.view.ended[role]; down {
			st.Down = append(st.Down, report.Down{Part: role, Exit: p.Exit, Signal: p.Signal, By: p.By, Command: bringsBack[role]})
		}
	}
	return st
}

// bringsBack is the command for a part that is down.
var bringsBack = map[string]string{roleControlPlane: "control-plane start", roleEnvoy: "envoy restart"}

// conversation fills in what was said, type by type.
func (s *Session) conversation(st *report.Status, talk *talk) {
	for _, t := range []string{"CDS", "EDS", "LDS", "RDS", "SDS"} {
		tv := talk.types[t]
		if tv == nil {
			continue
		}
		ts := tv.TypeState
		ts.InEffect = talk.inEffect(t)
		if w := tv.withhld; w != nil {
			ts.Withheld = w.Version
			st.Withheld = append(st.Withheld, report.Withholding{Type: t, Version: w.Version, Reason: w.Reason, Names: w.Names})
		}
		if r := tv.reject; r != nil {
			x := *r
			x.File = filepath.Base(x.File)
			st.Rejected = append(st.Rejected, x)
		}
		st.Types[t] = ts
	}
	st.Warming = talk.warmingNow(s.now())
	if r := s.view.refused; r != nil {
		st.Refused = &report.RefusedFile{File: filepath.Base(r.File)}
		st.FileProblems = fileProblems(r)
		for _, p := range r.Problems {
			if p.Warning {
				continue
			}
			st.Refused.Problems++
			if st.Refused.Line == 0 {
				st.Refused.Line = p.Line
			}
		}
		if l := s.view.loaded; l != nil {
			st.Refused.InForce = l.Version
		}
	} else if l := s.view.loaded; l != nil {
		st.FileProblems = fileProblems(l)
	}
}

// maxFileProblems bounds what status tells of a file of garbage.
const maxFileProblems = 50

func fileProblems(snap *journal.Snapshot) []report.FileProblem {
	var out []report.FileProblem
	for _, p := range snap.Problems[:min(len(snap.Problems), maxFileProblems)] {
		out = append(out, report.FileProblem{Code: p.Code, Args: p.Args, File: filepath.Base(snap.File), Line: p.Line,
			Col: p.Col, Source: p.Source, Text: p.Text, Warning: p.Warning})
	}
	return out
}

// backends fills in upstreams and traffic.
func (s *Session) backends(st *report.Status) {
	now := s.now()
	// A young session has sent for less than the window.
	seconds := min(trafficWindow, time.Since(s.started)).Seconds()
	t := report.Traffic{Seconds: seconds}
	for _, p := range s.view.probes {
		if now.Sub(p.To) <= trafficWindow {
			t.Sent += p.Sent
			t.Failed += p.Failed
		}
	}
	st.Traffic = &t
	for _, u := range s.lab.Upstreams {
		up := s.upstreams[u.Name]
		if up == nil {
			continue
		}
		us := report.UpstreamStatus{Name: u.Name, Address: up.Addr(), Fault: up.Fault().String()}
		n := 0
		for _, h := range s.view.hits {
			if h.Upstream == u.Name && now.Sub(h.at) <= trafficWindow {
				n += h.Count
			}
		}
		us.Rate = float64(n) / seconds
		for _, hosts := range s.view.now().hosts {
			for _, h := range hosts {
				if h.Address == us.Address && slices.Contains(h.Flags, "failed_outlier_check") {
					us.Ejected = true
				}
			}
		}
		st.Upstreams = append(st.Upstreams, us)
	}
}

// listeners asks Envoy; nil means that it did not answer.
func (s *Session) listeners(ctx context.Context) map[string]string {
	ev := s.envoy()
	if !ev.alive() || ev.proc.AdminAddr() == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, adminWithin)
	defer cancel()
	a := admin.New(ev.proc.AdminAddr())
	defer a.Close()
	l, err := a.Listeners(ctx)
	if err != nil {
		return nil
	}
	if l == nil {
		l = map[string]string{}
	}
	return l
}
