package envoy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"lab/envoy/admin"
	"lab/pkg/problem"

	"golang.org/x/sys/unix"
)

// pollEvery is how often a starting Envoy is asked. It starts in well under
// 100 ms, and an answer takes about 1 ms; there is no event to wait for.
const pollEvery = 5 * time.Millisecond

type process struct {
	cmd         *exec.Cmd
	epoch       int
	baseID      int
	addressFile string
	logFile     string
	logFrom     int64 // where the log of this start begins
	done        chan struct{}
	exit        Exit // written before done is closed

	mu        sync.Mutex
	adminAddr string
}

func (p *process) Pid() int                   { return p.cmd.Process.Pid }
func (p *process) Epoch() int                 { return p.epoch }
func (p *process) Done() <-chan struct{}      { return p.done }
func (p *process) Signal(sig os.Signal) error { return p.cmd.Process.Signal(sig) }

func (p *process) Exit() Exit {
	select {
	case <-p.done:
		return p.exit
	default:
		return Exit{}
	}
}

func (p *process) AdminAddr() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.adminAddr
}

// wait reaps the process.
func (p *process) wait() {
	_ = p.cmd.Wait() // the state says more than the error
	state := p.cmd.ProcessState
	p.exit = Exit{Code: state.ExitCode()}
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		p.exit.Signal = unix.SignalName(ws.Signal())
	}
	close(p.done)
}

func (p *process) WaitAdmin(ctx context.Context) error {
	_, err := p.poll(ctx, p.findAdmin)
	return err
}

func (p *process) WaitReady(ctx context.Context) error {
	if err := p.WaitAdmin(ctx); err != nil {
		return err
	}
	c := admin.New(p.AdminAddr())
	defer c.Close()
	state, err := p.poll(ctx, func(ctx context.Context) (string, bool) {
		live, state, err := c.Ready(ctx)
		return state, err == nil && live
	})
	var pr *problem.Problem
	if errors.As(err, &pr) && pr.Code == "envoy.not-ready" {
		pr.Args["State"] = state
	}
	return err
}

// findAdmin reads the address that Envoy wrote after it bound its admin port,
// and makes sure that who answers there is this Envoy: the file is fresh (Start
// removed the old one), and base id and epoch are its own. Without that, a
// left-over Envoy could answer for one that is dying.
func (p *process) findAdmin(ctx context.Context) (string, bool) {
	raw, err := os.ReadFile(p.addressFile)
	if err != nil {
		return "", false
	}
	addr := strings.TrimSpace(string(raw))
	if _, _, err := net.SplitHostPort(addr); err != nil {
		return "", false // written in part
	}
	c := admin.New(addr)
	defer c.Close()
	info, err := c.ServerInfo(ctx)
	if err != nil || info.BaseID != strconv.Itoa(p.baseID) || info.Epoch != p.epoch {
		return "", false
	}
	p.mu.Lock()
	p.adminAddr = addr
	p.mu.Unlock()
	return "", true
}

// poll asks until it is told yes, the process ends, or ctx is done. It returns
// the last thing that was said beside the yes or no.
func (p *process) poll(ctx context.Context, ask func(context.Context) (string, bool)) (string, error) {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	var said string
	for {
		asking, cancel := context.WithTimeout(ctx, time.Second)
		s, yes := ask(asking)
		cancel()
		if s != "" {
			said = s
		}
		select {
		case <-p.done: // whoever answered, it was not this one
			return said, p.Problem()
		default:
		}
		if yes {
			return said, nil
		}
		select {
		case <-p.done:
			return said, p.Problem()
		case <-ctx.Done():
			return said, problem.New("envoy.not-ready", problem.Args{
				"Pid": p.Pid(), "Epoch": p.epoch, "State": "", "Log": p.tail(), "LogFile": p.logFile,
			}).Wrap(context.Cause(ctx))
		case <-tick.C:
		}
	}
}

// tail is the last lines that this start logged.
func (p *process) tail() string { return tail(p.logFile, p.logFrom, 12) }

// Validate asks Envoy whether it would start with the bootstrap, without
// taking a port or a base id. Before a hot restart this matters: an epoch that
// dies while it starts leaves the shared memory in a state from which no later
// epoch can start.
func Validate(ctx context.Context, binary, bootstrap string) error {
	cmd := exec.CommandContext(ctx, binary, "--mode", "validate", "-l", "error", "-c", bootstrap)
	cmd.Env = environment(os.Environ())
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("envoy --mode validate: %w", ctx.Err())
	case errors.As(err, &exit):
		return problem.New("envoy.bootstrap", problem.Args{
			"File": bootstrap, "Log": lastLines(out, 6),
		}).Wrap(err)
	default:
		return startProblem(binary, err)
	}
}
