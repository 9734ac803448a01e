package traffic

import (
	"context"
	"errors"
	"sync"
	"time"

	"lab/pkg/journal"
)

// SendConfig is a number of requests to send. Sink, Now and the numbers without
// a remark must be set.
type SendConfig struct {
	URL         string        // of the Listener: "http://127.0.0.1:41000"
	Path        string        // starts with "/" and may have a query; "" is the path of URL
	N           int           // how many requests
	Concurrency int           // how many at a time
	Rate        float64       // the most a second; 0 is as fast as they go
	Timeout     time.Duration // of one request
	Mark        string        // value of ProbeHeader, "" for none: it tells Envoy's access log whose request it is
	Sink        journal.Sink
	Now         func() time.Time
}

// Summary is how the requests of a Send went.
type Summary struct {
	Sent   int `json:"sent"`
	Failed int `json:"failed"`
	// NotCounted is how many were given up since ctx ended, or could not be
	// judged since this process did not run.
	NotCounted int                  `json:"not_counted"`
	Groups     []journal.ProbeGroup `json:"groups"`
	Took       time.Duration        `json:"took_ns"` // from the first sent to the last done
}

// Send sends requests, journals them as the probe "send", and returns when all
// are done. When ctx ends it gives up, and returns what was done until then with
// the context's error.
func Send(ctx context.Context, c SendConfig) (Summary, error) {
	to, err := target(c.URL, c.Path)
	if err != nil {
		return Summary{}, err
	}
	if c.N < 1 || c.Concurrency < 1 || c.Rate < 0 {
		return Summary{}, errors.New("traffic: nothing to send")
	}
	s := sender{agent: "lab/send", headers: marked(c.Mark), timeout: c.Timeout, now: c.Now}
	w := &window{name: "send", sink: c.Sink, now: c.Now}
	jobs, done := make(chan struct{}), make(chan struct{})
	go feed(ctx, c, jobs)

	var mu sync.Mutex
	var total tally
	var missed int
	var workers, windows sync.WaitGroup
	for range min(c.Concurrency, c.N) {
		workers.Go(func() {
			for range jobs {
				r := s.send(ctx, to)
				w.record(r)
				mu.Lock()
				if r.skip != "" {
					missed++
				} else {
					total.add(r)
				}
				mu.Unlock()
			}
		})
	}
	windows.Go(func() { w.run(done) })
	workers.Wait()
	close(done)
	windows.Wait()
	return Summary{
		Sent: total.sent, Failed: total.failed, NotCounted: missed,
		Groups: total.list(), Took: total.to.Sub(total.from),
	}, ctx.Err()
}

// feed gives out the requests at the rate, until ctx ends, and closes jobs.
func feed(ctx context.Context, c SendConfig, jobs chan<- struct{}) {
	defer close(jobs)
	var pace <-chan time.Time // nil: no limit
	if c.Rate > 0 {
		tick := time.NewTicker(time.Duration(float64(time.Second) / c.Rate))
		defer tick.Stop()
		pace = tick.C
	}
	for i := range c.N {
		if pace != nil && i > 0 {
			select {
			case <-pace:
			case <-ctx.Done():
				return
			}
		}
		select {
		case jobs <- struct{}{}:
		case <-ctx.Done():
			return
		}
	}
}
