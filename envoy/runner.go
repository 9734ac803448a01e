package envoy

import (
	"context"
	"os"
	"syscall"
	"time"
)

// Runner starts Envoys that share a bootstrap and a base id, each in an epoch
// of its own.
type Runner interface {
	// Start starts the Envoy of an epoch and returns at once. Epoch 0 is a
	// cold start; epoch N takes over the Listeners of epoch N-1, which must be
	// running and must have finished its own start (Envoy docs,
	// intro/arch_overview/operations/hot_restart).
	Start(epoch int) (Process, error)
	// Clean removes what an Envoy leaves on the machine when it ends. No epoch
	// may be running.
	Clean() error
}

// Process is one Envoy of one epoch. Its methods may be called from any
// goroutine.
type Process interface {
	Pid() int
	Epoch() int
	// AdminAddr is the address of its admin interface, "127.0.0.1:41234", or
	// "" before WaitAdmin has returned nil.
	AdminAddr() string
	// WaitAdmin waits until its admin interface answers. It gives a problem
	// when Envoy ends first or ctx is done.
	WaitAdmin(ctx context.Context) error
	// WaitReady is WaitAdmin and waits on until Envoy is LIVE: its workers
	// run. That tells nothing about whether it has a configuration.
	WaitReady(ctx context.Context) error
	// Done is closed when the process has ended and was waited for.
	Done() <-chan struct{}
	// Exit says how it ended; it is the zero value before Done is closed.
	Exit() Exit
	// Problem is how it ended, for a person: the reason where it is a known
	// one, and the last lines of its log. It may be called when Done is closed.
	Problem() error
	Signal(sig os.Signal) error
}

// Exit is how a process ended.
type Exit struct {
	Code   int    // exit status; -1 when a signal ended it
	Signal string // "SIGKILL", or ""
}

// Stop ends p and waits for its end: SIGTERM, at which Envoy closes its
// Listeners and exits at once, and SIGKILL when it has not ended after grace.
func Stop(p Process, grace time.Duration) {
	timer := time.NewTimer(grace)
	defer timer.Stop()
	// An error means that the process has ended already: Done tells.
	_ = p.Signal(syscall.SIGTERM)
	select {
	case <-p.Done():
		return
	case <-timer.C:
	}
	_ = p.Signal(syscall.SIGKILL)
	<-p.Done()
}
