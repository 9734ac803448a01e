package traffic

import (
	"context"
	"sync"
	"time"

	"lab/pkg/journal"
)

// maxInFlight is how many requests of a Generator may wait for an answer at a
// time.
const maxInFlight = 64

// Config is what a Generator needs; every field without a remark must be set.
type Config struct {
	Name string // of the probe in the journal: "steady"
	// URL gives the Listener's present address and the path to ask for
	// ("http://127.0.0.1:41000/orders"), or "" when there is none. It is called
	// for each request and must not block.
	URL     func() string
	Rate    float64       // requests a second, above 0
	Timeout time.Duration // of one request, from connecting to the end of the body
	Mark    string        // value of ProbeHeader; may be ""
	Sink    journal.Sink
	Now     func() time.Time
}

// Generator sends requests at a steady rate, however long the answers take. A
// moment at which it could not run is not made up for: no burst follows. What it
// did not send, or could not judge, is noted ("probe-not-counted") with the
// reason, and is never a failure: "no-address", "busy" (too many wait for an
// answer), "starved" (this process did not run), "stopped".
type Generator struct {
	cfg    Config
	sender sender
	window window
	free   chan struct{} // holds one for each request in flight
	cancel context.CancelFunc
	loops  sync.WaitGroup
}

// Steady makes a Generator; Start sets it going.
func Steady(c Config) *Generator {
	return &Generator{
		cfg:    c,
		sender: sender{agent: "lab/" + c.Name, headers: marked(c.Mark), timeout: c.Timeout, now: c.Now},
		window: window{name: c.Name, sink: c.Sink, now: c.Now},
		free:   make(chan struct{}, maxInFlight),
		cancel: func() {},
	}
}

// Start sends until ctx ends or Stop is called. It may be called once.
func (g *Generator) Start(ctx context.Context) {
	ctx, g.cancel = context.WithCancel(ctx)
	sent := make(chan struct{})
	g.loops.Go(func() { defer close(sent); g.loop(ctx) })
	g.loops.Go(func() { g.window.run(sent) })
}

// Stop ends the generator and returns when the journal has heard of every
// request. Those in flight are given up, noted, and not counted.
func (g *Generator) Stop() {
	g.cancel()
	g.loops.Wait()
}

// Flush tells the journal now of the requests that are done and that it has not
// heard of. Those in flight are counted when they are done.
func (g *Generator) Flush() { g.window.flush() }

// loop returns when no request is in flight any more.
func (g *Generator) loop(ctx context.Context) {
	tick := time.NewTicker(time.Duration(float64(time.Second) / g.cfg.Rate))
	defer tick.Stop()
	var flying sync.WaitGroup
	defer flying.Wait()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C: // one that nobody took in time is dropped by the ticker
		}
		to, err := target(g.cfg.URL(), "")
		if err != nil {
			g.window.skip("no-address")
			continue
		}
		select {
		case g.free <- struct{}{}:
			flying.Go(func() {
				g.window.record(g.sender.send(ctx, to))
				<-g.free
			})
		default:
			g.window.skip("busy")
		}
	}
}
