package session

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"time"

	"lab/pkg/accesslog"
	"lab/pkg/control"
	"lab/pkg/journal"
	"lab/pkg/problem"
	"lab/pkg/traffic"
	"lab/upstreams"
)

// accessLog names the port to which Envoy sends its access log.
const accessLog = "access-log"

// entriesWithin bounds the wait for the access log of requests that have ended:
// Envoy sends entries every 20 ms.
const entriesWithin = time.Second

type (
	// Mark is what the requests of a command carry, so that their entries in
	// the access log are known.
	Mark struct {
		Batch string `json:"batch"`
		Value string `json:"value"` // of the header traffic.ProbeHeader
	}
	// SentCall asks how Envoy finished a batch of N requests, all of which have
	// ended.
	SentCall struct {
		Batch string `json:"batch"`
		N     int    `json:"n"`
	}
	// Entries are what the access log has of requests.
	Entries struct {
		Access []Outcome `json:"access"`
		// Missing is how many requests have no entry. Where none has one, the
		// Listener has no access log that reaches lab, or there is no Listener.
		Missing int `json:"access_missing"`
	}
	// Outcome is requests that ended alike.
	Outcome struct {
		journal.AccessGroup
		UpstreamName string `json:"upstream_name,omitempty"` // where the address is one of the run's
	}
	// SlowCall sends one request that takes Delay, by a delay of the upstream
	// for this request alone.
	SlowCall struct {
		Path    string        `json:"path"`
		Delay   time.Duration `json:"delay"`   // at most upstreams.MaxDelay
		Timeout time.Duration `json:"timeout"` // beyond Delay
	}
	// SlowLine is one line of the answer to a SlowCall: its begin, and how it
	// went.
	SlowLine struct {
		Begun *time.Time `json:"begun,omitempty"`
		Done  *SlowDone  `json:"done,omitempty"`
		Error string     `json:"error,omitempty"`
	}
	// SlowDone is how a slow request went.
	SlowDone struct {
		Probe journal.Probe `json:"probe"`
		Entries
	}
)

// startAccessLog listens for what Envoy says of each request.
func (s *Session) startAccessLog() error {
	addr := net.JoinHostPort("127.0.0.1", itoa(s.run.Ports[accessLog]))
	server, err := accesslog.Start(accesslog.Config{Addr: addr, Header: traffic.ProbeHeader, Sink: s.journal, Now: s.now,
		Owner: func(peer string) int { return s.owner(peer, addr) }})
	if err != nil {
		return problem.New("session.port-taken", problem.Args{"Name": accessLog, "Port": s.run.Ports[accessLog], "Error": Reason(err)}).Wrap(err)
	}
	s.access = server
	return nil
}

func (s *Session) listener() string { return "http://127.0.0.1:" + itoa(s.run.Ports["http"]) }

// begin gives a mark to a command that is about to send requests.
func (s *Session) begin(context.Context, Ask) (Mark, error) {
	b := s.access.Batch("send")
	return Mark{Batch: b.ID(), Value: b.Mark()}, nil
}

// sent tells what the access log has of a batch.
func (s *Session) sent(ctx context.Context, in SentCall) (Entries, error) {
	return s.entries(ctx, s.access.Find(in.Batch), in.N), nil
}

// entries waits for those of n requests; b is nil for a batch that is forgotten.
func (s *Session) entries(ctx context.Context, b *accesslog.Batch, n int) Entries {
	out := Entries{Access: []Outcome{}, Missing: n}
	if b == nil {
		return out
	}
	defer b.Close()
	ctx, cancel := context.WithTimeout(ctx, entriesWithin)
	defer cancel()
	groups, seen := b.Await(ctx, n)
	out.Missing = max(n-seen, 0)
	names := map[string]string{}
	for name, addr := range s.run.Upstreams {
		names[addr] = name
	}
	for _, g := range groups {
		out.Access = append(out.Access, Outcome{AccessGroup: g, UpstreamName: names[g.Upstream]})
	}
	return out
}

// slow sends a request that takes its time, as a stream: its begin, and then
// how it went. When the command is interrupted or killed, the stream ends and
// the request is given up.
func (s *Session) slow(w http.ResponseWriter, r *http.Request) {
	var in SlowCall
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 64<<10)).Decode(&in); err != nil || in.Delay <= 0 || in.Delay > upstreams.MaxDelay {
		http.Error(w, "no such delay", http.StatusBadRequest)
		return
	}
	select {
	case <-s.up:
	case <-r.Context().Done():
		return
	}
	say := func(line SlowLine) {
		_ = json.NewEncoder(w).Encode(line) // who went away ends the context
		_ = http.NewResponseController(w).Flush()
	}
	b := s.access.Batch(traffic.SlowName)
	p, err := traffic.Slow(r.Context(), traffic.SlowConfig{
		URL: s.listener(), Path: in.Path, Mark: b.Mark(), Header: upstreams.DelayHeader, Value: in.Delay.String(),
		Timeout: in.Delay + in.Timeout, Sink: s.journal, Now: s.now,
		Begun: func(at time.Time) { say(SlowLine{Begun: &at}) },
	})
	if err != nil {
		b.Close()
		say(SlowLine{Error: err.Error()})
		return
	}
	say(SlowLine{Done: &SlowDone{Probe: p, Entries: s.entries(context.WithoutCancel(r.Context()), b, 1)}})
}

// Begin gives a mark for requests that a command sends.
func (c *Client) Begin(ctx context.Context) (Mark, error) {
	return call[Ask, Mark](ctx, c, "/begin", Ask{})
}

// Sent is how Envoy finished the requests of a mark.
func (c *Client) Sent(ctx context.Context, in SentCall) (Entries, error) {
	return call[SentCall, Entries](ctx, c, "/sent", in)
}

// Slow sends a request that takes its time, and calls begun when it has begun.
// When ctx ends, the session gives the request up.
func (c *Client) Slow(ctx context.Context, in SlowCall, begun func(time.Time)) (SlowDone, error) {
	run, err := c.folder.Load()
	if err != nil {
		return SlowDone{}, err
	}
	var done *SlowDone
	err = control.Stream(ctx, run.Socket, "/slow", in, func(raw []byte) error {
		var line SlowLine
		if err := json.Unmarshal(raw, &line); err != nil {
			return err
		}
		switch {
		case line.Error != "":
			return errors.New(line.Error)
		case line.Begun != nil:
			begun(*line.Begun)
		case line.Done != nil:
			done = line.Done
		}
		return nil
	})
	if err == nil && done == nil {
		err = control.ErrNoSession // it ended before the request did
	}
	if err != nil {
		return SlowDone{}, c.explain(run, err)
	}
	return *done, nil
}
