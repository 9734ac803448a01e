package checks

import (
	"cmp"
	"slices"
	"strings"

	"lab/pkg/journal"
)

// streamKey is unique in a journal: stream numbers start at 1 in each control
// plane process.
type streamKey struct {
	pid int
	id  int64
}

type stream struct {
	*Stream
	open map[string]*Response // nonce -> response without an answer
}

// holdings is what an Envoy has accepted, by type. A map is never changed once
// a response refers to it.
type holdings map[string][]*Resource

// exchange is the state of one type at one Envoy.
type exchange struct {
	version  string // accepted
	rejected string // the last response, where that was rejected
}

func (ev *Evidence) foldLoaded(e journal.Event) {
	s := e.Snapshot
	ev.loaded, ev.broken, ev.unread = s.SHA256, false, false
	clear(ev.lines)
	out := &Snapshot{Event: e.Seq, Time: e.Time, Version: s.Version, Explicit: s.Explicit}
	for _, r := range s.Resources {
		if r.Body != nil {
			ev.bodies[r.Hash] = r.Body
		}
		ev.lines[lineKey(r.Type, r.Name, r.Hash)] = r.Line
		out.Resources = append(out.Resources, ev.resource(r.Type, r.Name, r.Hash))
	}
	if s.Version == ev.served { // a comment, or a control plane that is back: nothing new to send
		return
	}
	ev.served = s.Version
	ev.step.snapshots = append(ev.step.snapshots, out)
	ev.act(e)
}

func (ev *Evidence) foldRefused(e journal.Event) {
	ev.loaded, ev.broken, ev.unread = e.Snapshot.SHA256, true, false
	out := &Refused{Event: e.Seq, Time: e.Time}
	for _, p := range e.Snapshot.Problems {
		if !p.Warning {
			out.Problems = append(out.Problems, Problem{p.Code, p.Line})
		}
	}
	ev.step.refused = append(ev.step.refused, out)
}

func lineKey(kind, name, hash string) string { return kind + " " + name + " " + hash }

func (ev *Evidence) resource(kind, name, hash string) *Resource {
	return &Resource{Type: kind, Name: name, Hash: hash, Body: ev.bodies[hash], Line: ev.lines[lineKey(kind, name, hash)]}
}

func (ev *Evidence) foldStream(e journal.Event) {
	key := streamKey{e.Stream.Pid, e.Stream.ID}
	if e.Stream.Client == journal.Stranger {
		ev.strangers[key] = true
		return
	}
	if e.Stream.State == "opened" {
		delete(ev.strangers, key)
		ev.stream(key, e, e.Stream.Client)
		return
	}
	if s := ev.streams[key]; s != nil {
		s.close(e.Seq)
	}
}

// stream gives a stream that is there, or notes a new one: its opening may be
// lost with a torn line. Client is the pid of the Envoy at its other end, 0
// where that is not known.
func (ev *Evidence) stream(key streamKey, e journal.Event, client int) *stream {
	s := ev.streams[key]
	if s == nil || !s.Open {
		s = &stream{
			Stream: &Stream{Event: e.Seq, Time: e.Time, Open: true, Envoy: ev.envoyOf(client)},
			open:   map[string]*Response{},
		}
		ev.streams[key] = s
		ev.step.streams = append(ev.step.streams, s.Stream)
	}
	return s
}

func (ev *Evidence) knownStreams() []*Stream {
	out := []*Stream{}
	for _, s := range ev.streams {
		out = append(out, s.Stream)
	}
	slices.SortFunc(out, func(a, b *Stream) int { return cmp.Compare(a.Event, b.Event) })
	return out
}

// close ends a stream; answers that are out will not come.
func (s *stream) close(seq int64) {
	s.Open, s.Closed = false, seq
	for _, r := range s.open {
		r.Pending = false
	}
	clear(s.open)
}

func (ev *Evidence) foldResponse(e journal.Event) {
	r := e.Response
	if ev.strangers[streamKey{r.Pid, r.Stream}] {
		return
	}
	s := ev.stream(streamKey{r.Pid, r.Stream}, e, 0)
	out := &Response{
		Event: e.Seq, Time: e.Time, Type: r.Type, Version: r.Version, Nonce: r.Nonce, Stream: s.Event,
		Envoy: s.Envoy, Pending: true,
	}
	for _, ref := range r.Resources {
		out.Resources = append(out.Resources, ev.resource(r.Type, ref.Name, ref.Hash))
	}
	out.remember(ev.state(s.Envoy))
	s.open[r.Nonce] = out
	ev.step.responses = append(ev.step.responses, out)
}

// remember keeps what the Envoy had before this response.
func (r *Response) remember(st *envoyState) {
	x := st.types[r.Type]
	r.before, r.AcceptedBefore, r.RejectedBefore = st.held, x.version, x.rejected
}

func (ev *Evidence) foldRequest(e journal.Event) {
	r := e.Request
	if ev.strangers[streamKey{r.Pid, r.Stream}] {
		return
	}
	s := ev.stream(streamKey{r.Pid, r.Stream}, e, 0)
	st := ev.state(s.Envoy)
	ev.step.requests = append(ev.step.requests, &Request{
		Event: e.Seq, Time: e.Time, Type: r.Type, Version: r.Version, Nonce: r.Nonce, Names: r.Names,
		Class: r.Class, Stream: s.Event, HasNode: r.HasNode, Error: r.Error != nil, Accepted: st.types[r.Type].version,
	})
	switch r.Class {
	case journal.Subscribe: // it says what the Envoy has, whatever we have seen
		x := st.types[r.Type]
		x.version = r.Version
		st.types[r.Type] = x
	case journal.Ack, journal.Nack:
		if out := s.open[r.Nonce]; out != nil && out.Type == r.Type {
			out.answer(e, st)
			delete(s.open, r.Nonce)
		}
	}
}

// answer pairs a response with the request that carried its nonce. The error
// alone makes a NACK.
func (r *Response) answer(e journal.Event, st *envoyState) {
	r.remember(st)
	r.Pending, r.Nacked = false, e.Request.Error != nil
	r.Acked = !r.Nacked
	r.AnswerEvent, r.AnswerTime, r.AnswerVersion = e.Seq, e.Time, e.Request.Version
	x := st.types[r.Type]
	if r.Nacked {
		x.rejected = r.Version
	} else {
		x = exchange{version: e.Request.Version}
		st.held = st.held.with(r)
	}
	st.types[r.Type] = x
}

// with gives what is held after r was accepted. CDS and LDS responses hold
// everything of their type; what an EDS or RDS response omits is kept (Envoy
// docs, api-docs/xds_protocol, "Deleting Resources").
func (h holdings) with(r *Response) holdings {
	now := make(holdings, len(h)+1)
	for k, v := range h {
		now[k] = v
	}
	now[r.Type] = r.Resources
	if r.Type != "CDS" && r.Type != "LDS" {
		now[r.Type] = merge(h[r.Type], r.Resources)
	}
	if r.Type == "CDS" {
		now["EDS"] = used(now["EDS"], r.Resources)
	}
	return now
}

func merge(old, fresh []*Resource) []*Resource {
	names := make(map[string]bool, len(fresh))
	for _, r := range fresh {
		names[r.Name] = true
	}
	out := slices.Clip(fresh)
	for _, r := range old {
		if !names[r.Name] {
			out = append(out, r)
		}
	}
	return out
}

// used drops the load assignments that no Cluster refers to any more: Envoy
// forgets the endpoints of a Cluster that it removes.
func used(assignments, clusters []*Resource) []*Resource {
	names := make(map[string]bool, len(clusters))
	for _, c := range clusters {
		if c.Body == nil { // content unknown: do not conclude from it
			return assignments
		}
		names[serviceName(c)] = true
	}
	return slices.DeleteFunc(slices.Clone(assignments), func(r *Resource) bool { return !names[r.Name] })
}

// serviceName is the load assignment that an EDS Cluster asks for
// (eds_cluster_config.service_name, else its own name).
func serviceName(cluster *Resource) string {
	if eds, ok := cluster.Body["eds_cluster_config"].(map[string]any); ok {
		if n, ok := eds["service_name"].(string); ok && n != "" {
			return n
		}
	}
	return cluster.Name
}

// endpoints gives the addresses of a Cluster as configured: from its load
// assignment, by EDS or inline. It is empty where the Cluster is not held.
func (h holdings) endpoints(cluster string) []string {
	i := slices.IndexFunc(h["CDS"], func(r *Resource) bool { return r.Name == cluster })
	if i < 0 {
		return nil
	}
	c := h["CDS"][i]
	if kind, _ := c.Body["type"].(string); !strings.EqualFold(kind, "EDS") {
		return endpointsOf(c.Body)
	}
	name := serviceName(c)
	for _, a := range h["EDS"] {
		if a.Name == name {
			return endpointsOf(a.Body)
		}
	}
	return nil
}
