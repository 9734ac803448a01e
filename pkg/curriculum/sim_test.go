package curriculum

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"lab/checks"
	"lab/pkg/journal"
	"lab/pkg/snapshot"
)

// sim plays acts against a model of a run: a control plane that sends every
// type of a snapshot in order and parks what was rejected, and an Envoy that
// accepts, rejects and serves as the measured one does for the changes that
// the solutions make. It writes the journal that the parts would write. It
// proves nothing about Envoy: `lab dev prove` plays the same acts on the real
// one. It is here to try every solution, and many orders of events, in
// milliseconds.
//
// It knows nothing of epochs, timeouts and ejections: the steps about them are
// played on the real Envoy alone.
type sim struct {
	t      *testing.T
	lab    *Lab
	step   *Step
	ev     *checks.Evidence
	events []journal.Event
	now    time.Time
	values Values

	file, buffer, read string
	version            int
	served             *snapshot.Set
	faults             map[string]string
	cp, envoy          *part
	pids, nonce        int
	holds              bool              // the control plane that runs has read a good file
	sent               map[string]string // type -> version last sent on the stream, "" where it was only asked for

	bodies  map[string]map[string]any // by hash
	printed map[string]string

	opened   int64 // event of the last opening
	turn     int   // of the load balancer
	late     time.Duration
	tolerant bool // acts that cannot be done are left out
}

// simulated tells whether the model can play a step.
func simulated(s *Step) bool {
	return slices.Contains([]string{"connect", "endpoint-removal", "nack", "per-type", "repair", "control-plane-down"}, s.ID)
}

// body is a resource with plain values, and those as one text. Making them is
// what takes the time of a play.
func (s *sim) body(r snapshot.Resource) (map[string]any, string) {
	if b, ok := s.bodies[r.Hash]; ok {
		return b, s.printed[r.Hash]
	}
	b, err := r.Body()
	if err != nil {
		s.t.Fatal(err)
	}
	s.bodies[r.Hash], s.printed[r.Hash] = b, fmt.Sprint(b)
	return b, s.printed[r.Hash]
}

type part struct {
	pid      int
	accepted map[string][]snapshot.Resource
	versions map[string]string
	rejected uint64
	hosts    map[string]string
	sampled  bool
}

func newSim(t *testing.T, lab *Lab, step string, seed int64) *sim {
	t.Helper()
	st, _ := lab.Step(step)
	s := &sim{t: t, lab: lab, step: st, ev: checks.New(), now: time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC),
		faults: map[string]string{}, pids: 100, version: -1,
		bodies: map[string]map[string]any{}, printed: map[string]string{},
		values: Values{Params: lab.Params(seed), Ports: map[string]int{"http": 41080, "access-log": 41081}, Upstreams: map[string]string{}, Command: "lab"}}
	for i, u := range lab.Upstreams {
		s.values.Upstreams[u.Name] = fmt.Sprintf("127.0.0.1:%d", 41001+i)
	}
	s.emit(journal.Session, journal.Event{Kind: journal.KindRun, Run: &journal.Run{Params: s.values.Params, Upstreams: s.values.Upstreams}})
	s.process("session", "started", 1)
	s.open(lab.Steps[0].ID)
	var err error
	s.file, err = lab.Snapshot(s.values)
	if err != nil {
		t.Fatal(err)
	}
	s.startControlPlane()
	s.startEnvoy()
	s.advance(3 * time.Second)
	if step != lab.Steps[0].ID {
		s.build()
	}
	return s
}

// build makes the start of the step, as the session does.
func (s *sim) build() {
	s.acts(s.step.Start.Acts)
	s.until(s.step.Start.Until, 10*time.Second)
	s.advance(time.Second)
	s.open(s.step.ID)
	s.acts(s.step.Start.After)
	s.advance(50 * time.Millisecond)
}

func (s *sim) open(id string) {
	s.emit(journal.Session, journal.Event{Kind: journal.KindStep, Step: &journal.Step{ID: id, State: "opened"}})
	s.opened = int64(len(s.events))
}

func (s *sim) emit(src journal.Source, e journal.Event) {
	e.Seq, e.Source, e.Time = int64(len(s.events)+1), src, s.now
	s.events = append(s.events, e)
	s.ev.Fold(e)
}

func (s *sim) process(role, state string, pid int) {
	s.emit(journal.Session, journal.Event{Kind: journal.KindProcess, Process: &journal.Process{Role: role, State: state, Pid: pid}})
}

func (s *sim) pid() int { s.pids++; return s.pids }

func (s *sim) moment() Moment { return Moment{Evidence: s.ev, Now: s.now, Values: s.values} }

func (s *sim) startControlPlane() {
	s.cp, s.holds = &part{pid: s.pid()}, false
	s.process("control-plane", "started", s.cp.pid)
	s.readFile()
	s.connect()
}

func (s *sim) startEnvoy() {
	s.envoy = &part{pid: s.pid(), accepted: map[string][]snapshot.Resource{}, versions: map[string]string{}, hosts: map[string]string{}}
	s.process("envoy", "started", s.envoy.pid)
	s.connect()
	s.sample()
}

func (s *sim) end(p **part, role string) {
	if *p == nil {
		return
	}
	pid := (*p).pid
	if role == "envoy" && s.cp != nil {
		s.emit(journal.ControlPlane, journal.Event{Kind: journal.KindStreamOpen, Stream: &journal.Stream{ID: 1, Pid: s.cp.pid, State: "closed"}})
	}
	*p = nil
	s.process(role, "exited", pid)
}

// connect opens the stream and has the first conversation.
func (s *sim) connect() {
	if s.cp == nil || s.envoy == nil {
		return
	}
	s.nonce, s.sent = 0, map[string]string{}
	s.emit(journal.ControlPlane, journal.Event{Kind: journal.KindStreamOpen, Stream: &journal.Stream{ID: 1, Pid: s.cp.pid, State: "opened"}})
	for _, typ := range []string{"CDS", "EDS", "LDS", "RDS"} {
		if typ == "CDS" || typ == "LDS" || len(s.wanted(typ)) > 0 || s.envoy.versions[typ] != "" {
			s.sent[typ] = ""
			s.request(typ, journal.Subscribe, "", false)
			s.send(typ)
		}
	}
}

// wanted are the names that Envoy asks for.
func (s *sim) wanted(typ string) (names []string) {
	for _, r := range s.envoy.accepted[map[string]string{"EDS": "CDS", "RDS": "LDS"}[typ]] {
		body, all := s.body(r)
		if typ == "EDS" && body["type"] == "EDS" {
			names = append(names, r.Name)
		}
		if typ == "RDS" && strings.Contains(all, "route_config_name:ingress-routes") {
			names = append(names, "ingress-routes")
		}
	}
	return names
}

// byName tells whether Envoy subscribes to a type by names.
func byName(typ string) bool { return typ == "EDS" || typ == "RDS" }

// send offers a type at the version that is served, and has it answered.
func (s *sim) send(typ string) {
	if !s.holds || s.sent[typ] == s.served.Version {
		return
	}
	s.nonce++
	resp := &journal.Response{Stream: 1, Pid: s.cp.pid, Type: typ, Version: s.served.Version, Nonce: strconv.Itoa(s.nonce), Resources: []journal.Ref{}}
	var res []snapshot.Resource
	for _, r := range s.served.Resources {
		if r.Type == typ && (typ == "CDS" || typ == "LDS" || slices.Contains(s.wanted(typ), r.Name)) {
			res = append(res, r)
			resp.Resources = append(resp.Resources, journal.Ref{Name: r.Name, Hash: r.Hash})
		}
	}
	s.sent[typ] = s.served.Version
	s.emit(journal.ControlPlane, journal.Event{Kind: journal.KindResponse, Response: resp})
	s.advance(2 * time.Millisecond)
	if byName(typ) && len(s.wanted(typ)) == 0 { // Envoy notes the version, and its answer has an older nonce
		s.envoy.versions[typ] = s.served.Version
		return
	}
	if !s.acceptable(res) {
		if typ == "CDS" {
			s.envoy.rejected++
		}
		s.request(typ, journal.Nack, resp.Nonce, true)
		return
	}
	if byName(typ) { // what is omitted is kept
		for _, old := range s.envoy.accepted[typ] {
			if !slices.ContainsFunc(res, func(r snapshot.Resource) bool { return r.Name == old.Name }) {
				res = append(res, old)
			}
		}
	}
	s.envoy.accepted[typ], s.envoy.versions[typ] = res, s.served.Version
	s.request(typ, journal.Ack, resp.Nonce, false)
}

// acceptable is Envoy's judgement, as far as the solutions need it.
func (s *sim) acceptable(res []snapshot.Resource) bool {
	for _, r := range res {
		body, all := s.body(r)
		if d, ok := body["connect_timeout"].(string); ok && (d == "0s" || d[0] == '-') {
			return false
		}
		if strings.Contains(all, "address:localhost") && !strings.Contains(all, "type:STRICT_DNS") || strings.Contains(all, "priority:200") {
			return false
		}
		if r.Type == "LDS" && !strings.Contains(all, "stat_prefix:"+r.Name) {
			return false
		}
	}
	return true
}

func (s *sim) request(typ, class, nonce string, bad bool) {
	r := &journal.Request{Stream: 1, Pid: s.cp.pid, Type: typ, Class: class, Nonce: nonce, Version: s.envoy.versions[typ]}
	if byName(typ) {
		r.Names = s.wanted(typ)
	}
	if bad {
		r.Error = &journal.Error{Code: 13, Message: "no check reads this"}
	}
	s.emit(journal.ControlPlane, journal.Event{Kind: journal.KindRequest, Request: r})
}

// readFile is a save that the control plane notices.
func (s *sim) readFile() {
	if s.cp == nil {
		return
	}
	set, found := snapshot.Load("snapshot.yaml", []byte(s.file))
	if set == nil {
		out := &journal.Snapshot{}
		for _, p := range found {
			out.Problems = append(out.Problems, journal.Problem{Code: p.Code, Line: p.Place.Line, Warning: p.Warning})
		}
		s.emit(journal.ControlPlane, journal.Event{Kind: journal.KindSnapshotRefused, Snapshot: out})
		return
	}
	same := s.served != nil && s.served.ContentHash() == set.ContentHash()
	switch {
	case same:
		set.Version = s.served.Version
	case !set.Explicit:
		s.version++
		first, _ := strconv.Atoi(s.values.Params[FirstVersion])
		set.Version = strconv.Itoa(first + s.version)
	}
	out := &journal.Snapshot{Version: set.Version, Explicit: set.Explicit}
	for _, r := range set.Resources {
		body, _ := s.body(r)
		out.Resources = append(out.Resources, journal.Resource{Type: r.Type, Name: r.Name, Hash: r.Hash, Line: r.Line, Body: body})
	}
	same = same && s.holds
	s.served, s.holds = set, true
	s.emit(journal.ControlPlane, journal.Event{Kind: journal.KindSnapshotLoaded, Snapshot: out})
	if same || s.envoy == nil {
		return
	}
	s.advance(time.Millisecond)
	for _, typ := range []string{"CDS", "EDS", "LDS", "RDS"} {
		if _, asked := s.sent[typ]; asked {
			s.send(typ)
		}
	}
}

// sample is what the sampler of Envoy's admin interface would tell.
func (s *sim) sample() {
	if s.envoy == nil {
		return
	}
	e := s.envoy
	s.emit(journal.Envoy, journal.Event{Kind: journal.KindStats, Stats: &journal.Stats{Pid: e.pid, Full: !e.sampled,
		Values: map[string]uint64{"cluster_manager.cds.update_rejected": e.rejected, "control_plane.connected_state": s.connectedState()},
		Texts:  map[string]string{"cluster_manager.cds.version_text": e.versions["CDS"], "listener_manager.lds.version_text": e.versions["LDS"]}}})
	e.sampled = true
	now := s.hosts()
	for _, c := range slices.Sorted(maps.Keys(now)) {
		if all := fmt.Sprint(now[c]); e.hosts[c] != all {
			e.hosts[c] = all
			h := &journal.Hosts{Pid: e.pid, Cluster: c}
			for _, a := range now[c] {
				h.Hosts = append(h.Hosts, journal.Host{Address: a})
			}
			s.emit(journal.Envoy, journal.Event{Kind: journal.KindHosts, Hosts: h})
		}
	}
	for c := range e.hosts {
		if _, ok := now[c]; !ok {
			delete(e.hosts, c)
			s.emit(journal.Envoy, journal.Event{Kind: journal.KindHosts, Hosts: &journal.Hosts{Pid: e.pid, Cluster: c, Gone: true}})
		}
	}
}

func (s *sim) connectedState() uint64 {
	if s.cp == nil {
		return 0
	}
	return 1
}

// hosts are Envoy's, by Cluster.
func (s *sim) hosts() map[string][]string {
	out := map[string][]string{}
	for _, c := range s.envoy.accepted["CDS"] {
		body, from := s.body(c)
		if body["type"] == "EDS" {
			from = ""
			for _, a := range s.envoy.accepted["EDS"] {
				if a.Name == c.Name {
					_, from = s.body(a)
				}
			}
		}
		out[c.Name] = []string{}
		for _, w := range strings.Split(from, "port_value:")[1:] {
			port, _, _ := strings.Cut(w, "]")
			port, _, _ = strings.Cut(port, " ")
			out[c.Name] = append(out[c.Name], "127.0.0.1:"+port)
		}
	}
	return out
}

// advance lets time pass, with 12 requests a second, 3 in a window.
func (s *sim) advance(d time.Duration) {
	const every = 250 * time.Millisecond
	for s.late += d; s.late >= every; s.late -= every {
		d -= every
		s.now = s.now.Add(every)
		s.sample()
		s.probe(every)
	}
	s.now = s.now.Add(max(d, 0))
}

func (s *sim) probe(every time.Duration) {
	p := &journal.Probe{Name: "steady", From: s.now.Add(-every + 10*time.Millisecond), To: s.now}
	for range 3 {
		g := journal.ProbeGroup{Count: 1, Last: s.now.Add(-10 * time.Millisecond)}
		g.Status, g.Upstream = s.serve()
		if g.Status == 0 || g.Status >= 500 {
			p.Failed++
		}
		p.Sent++
		p.Groups = append(p.Groups, g)
	}
	s.emit(journal.Client, journal.Event{Kind: journal.KindProbe, Probe: p})
}

// serve is the fate of a request.
func (s *sim) serve() (status int, upstream string) {
	if s.envoy == nil {
		return 0, ""
	}
	cluster := "orders"
	for _, r := range s.envoy.accepted["RDS"] {
		switch _, all := s.body(r); {
		case strings.Contains(all, "prefix:/elsewhere"):
			return 404, ""
		case strings.Contains(all, "direct_response"):
			return 200, ""
		case strings.Contains(all, "cluster:copy"):
			cluster = "copy"
		case strings.Contains(all, "cluster:order]") || strings.Contains(all, "cluster:order "):
			return 503, ""
		}
	}
	hosts := s.hosts()[cluster]
	if len(hosts) == 0 {
		return 503, ""
	}
	s.turn++
	at := hosts[s.turn%len(hosts)]
	for name, addr := range s.values.Upstreams {
		if f := s.faults[name]; addr == at && (f == "" || f == "ok") {
			return 200, name
		}
	}
	return 503, ""
}
