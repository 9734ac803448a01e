package upstreams

import (
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"regexp"
	"sync"
	"sync/atomic"
	"time"

	"lab/pkg/journal"
)

// Config is what an Upstream needs; every field must be set.
type Config struct {
	Name string // stands in its answers: letters, digits, ".", "_", "-"
	Addr string // "127.0.0.1:0", or with the port of last time
	Sink journal.Sink
	Now  func() time.Time
}

// Upstream is one server. Its methods may be called from any goroutine.
type Upstream struct {
	cfg    Config
	addr   string
	server *http.Server
	conns  conns
	hits   *hits
	active atomic.Pointer[active]
	ended  chan struct{}  // closed by Close
	wg     sync.WaitGroup // of the goroutine of hits

	mu       sync.Mutex // one SetFault or Close at a time; guards what follows
	closed   bool
	stopFlap func()

	// port and serving belong to the holder of mu, or to the goroutine of a
	// Flap, which the holder of mu ends before it touches them.
	port    *port
	serving chan struct{} // closed when the accept loop has ended; nil when the port is not open
}

// names keeps an upstream's name harmless in a header.
var names = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// errClosed is what SetFault gives after Close.
var errClosed = errors.New("upstreams: closed")

// Start starts a healthy upstream. A port that cannot be had is a problem
// (upstreams.port).
func Start(c Config) (*Upstream, error) {
	if !names.MatchString(c.Name) {
		return nil, fmt.Errorf("upstreams: %q is no name for an upstream", c.Name)
	}
	p, err := reserve(c.Addr)
	if err != nil {
		return nil, err
	}
	u := &Upstream{
		cfg: c, addr: p.addr(), port: p, ended: make(chan struct{}), stopFlap: func() {},
		conns: conns{open: map[net.Conn]struct{}{}},
		hits:  &hits{name: c.Name, sink: c.Sink, now: c.Now},
	}
	u.server = &http.Server{
		Handler: http.HandlerFunc(u.answer), ConnState: u.conns.hook,
		ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 64 << 10,
		ErrorLog: log.New(io.Discard, "", 0),
	}
	u.store(Fault{Kind: OK})
	if err := u.open(); err != nil {
		p.release()
		return nil, err
	}
	u.wg.Go(func() { u.hits.run(u.ended) })
	return u, nil
}

// Addr is the address, "127.0.0.1:41001"; it never changes.
func (u *Upstream) Addr() string { return u.addr }

// Name is the name it was started with.
func (u *Upstream) Name() string { return u.cfg.Name }

// Fault is the fault in force.
func (u *Upstream) Fault() Fault { return u.active.Load().Fault }

// Flush tells the journal now of the requests that it has not heard of.
func (u *Upstream) Flush() { u.hits.flush() }

// SetFault changes the behavior. A request that is pending ends under the fault
// that it found, with one exception: refuse, black-hole and each refusing half
// of a flap cut every connection and the requests on it, as the end of a
// process would. Otherwise Envoy would go on over the connections in its pool
// and never notice.
//
// When SetFault returns, the fault is in force: a new connection meets it. The
// error is a problem for a Fault that ParseFault would not give, and else one
// of the system.
func (u *Upstream) SetFault(f Fault) error {
	f, err := ParseFault(f.String())
	if err != nil {
		return err
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.closed {
		return errClosed
	}
	u.stopFlap()
	u.stopFlap = func() {}
	switch f.Kind {
	case Refuse, Flap, BlackHole:
		err = u.shut()
		u.store(f)
	default:
		u.store(f) // before a request can come
		err = u.open()
	}
	switch {
	case err != nil:
	case f.Kind == BlackHole:
		err = u.port.blackHole()
	case f.Kind == Flap:
		u.stopFlap = u.flap(f.Time)
	}
	if err != nil {
		return fmt.Errorf("upstream %s: %s: %w", u.cfg.Name, f, err)
	}
	return nil
}

// Close ends the upstream, cuts its connections and gives the port back. When
// it returns, nothing of it runs and the journal has heard of every request.
func (u *Upstream) Close() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.closed {
		return nil
	}
	u.closed = true
	u.stopFlap()
	close(u.ended)
	err := u.shut()
	u.port.release()
	u.conns.wg.Wait()
	u.wg.Wait()
	return err
}

func (u *Upstream) store(f Fault) { u.active.Store(&active{Fault: f, text: f.String()}) }

// open makes the port accept connections, if it does not.
func (u *Upstream) open() error {
	if u.serving != nil {
		return nil
	}
	if err := u.port.shut(); err != nil { // it may be a black hole
		return err
	}
	l, err := u.port.open()
	if err != nil {
		return err
	}
	done := make(chan struct{})
	u.serving = done
	go func() {
		defer close(done)
		_ = u.server.Serve(l) // its error says that the port was shut
	}()
	return nil
}

// shut makes the port refuse connections and cuts those that are open.
func (u *Upstream) shut() error {
	err := u.port.shut()
	if u.serving != nil {
		<-u.serving // after it, no connection can be new
		u.serving = nil
	}
	u.conns.cut()
	return err
}

// flap opens and shuts the port in turn, each time after d.
func (u *Upstream) flap(d time.Duration) (stop func()) {
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(d)
		defer tick.Stop()
		for {
			for _, turn := range []func() error{u.open, u.shut} {
				select {
				case <-quit:
					return
				case <-tick.C:
				}
				if err := turn(); err != nil {
					u.note(err)
				}
			}
		}
	}()
	return func() { close(quit); <-done }
}

// note tells the journal of a fault of the system that no caller can hear.
func (u *Upstream) note(err error) {
	u.cfg.Sink.Emit(journal.Event{
		Time: u.cfg.Now(), Source: journal.Upstream, Kind: journal.KindNote,
		Note: &journal.Note{Code: "upstream-flap", Args: map[string]string{"upstream": u.cfg.Name, "error": err.Error()}},
	})
}
