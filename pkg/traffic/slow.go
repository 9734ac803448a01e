package traffic

import (
	"context"
	"time"

	"lab/pkg/journal"
)

// SlowName is the name of slow requests in the journal.
const SlowName = "slow"

// Stopped is the Error of a slow request that was given up.
const Stopped = "stopped"

// SlowConfig is one request that takes its time. Sink and Now must be set.
type SlowConfig struct {
	URL     string // of the Listener: "http://127.0.0.1:41000"
	Path    string // starts with "/" and may have a query
	Mark    string // value of ProbeHeader
	Header  string // the header that makes it slow, and its value
	Value   string
	Timeout time.Duration
	Begun   func(time.Time) // called when the journal has heard of the begin
	Sink    journal.Sink
	Now     func() time.Time
}

// Slow sends one request and journals it twice as the probe "slow": when it
// begins, with Sent 0 and no group, and when it has ended, with the same From. A
// request that was given up because ctx ended has failed with Stopped.
func Slow(ctx context.Context, c SlowConfig) (journal.Probe, error) {
	to, err := target(c.URL, c.Path)
	if err != nil {
		return journal.Probe{}, err
	}
	headers := marked(c.Mark)
	headers.Set(c.Header, c.Value)
	s := sender{agent: "lab/" + SlowName, headers: headers, timeout: c.Timeout, now: c.Now}
	p := journal.Probe{Name: SlowName, From: c.Now(), Groups: []journal.ProbeGroup{}}
	p.To = p.From
	emit := func(p journal.Probe) {
		c.Sink.Emit(journal.Event{Time: c.Now(), Source: journal.Client, Kind: journal.KindProbe, Probe: &p})
	}
	emit(p)
	c.Begun(p.From)
	r := s.send(ctx, to)
	if r.skip != "" {
		r.err = Stopped
	}
	r.sent = p.From
	var t tally
	t.add(r)
	p.To, p.Sent, p.Failed, p.Groups = t.to, t.sent, t.failed, t.list()
	emit(p)
	return p, nil
}
