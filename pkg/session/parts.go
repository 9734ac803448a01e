package session

import (
	"context"
	"net"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"lab/envoy"
	"lab/pkg/child"
	"lab/pkg/journal"
	"lab/pkg/problem"
)

// The roles of processes in the journal.
const (
	roleSession      = "session"
	roleControlPlane = "control-plane"
	roleEnvoy        = "envoy"
)

// readyWithin bounds how long a part may take to come up. Envoy's own limit
// for first Clusters and Listeners is 15 s each.
const readyWithin = 35 * time.Second

// controlPlane is the child that serves ADS.
type controlPlane struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended and its last event is stored
}

func (c *controlPlane) alive() bool {
	if c == nil {
		return false
	}
	select {
	case <-c.done:
		return false
	default:
		return true
	}
}

// startControlPlane starts it and waits until it listens. Its events come
// through a pipe; what it wrote before it was killed is still read.
func (s *Session) startControlPlane(ctx context.Context) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	log, err := os.OpenFile(s.folder.Log(roleControlPlane), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return writeProblem(s.folder.Log(roleControlPlane), err)
	}
	defer log.Close()
	addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(s.run.Ports[roleControlPlane]))
	cmd := exec.Command(s.folder.Binary(), "control-plane", "serve",
		"--snapshot", s.folder.Snapshot(), "--listen", addr,
		"--state", s.folder.path("control-plane.json"),
		"--first-version", s.params["first_version"],
		"--order", s.run.Order, "--journal-fd", "3")
	cmd.Dir = "/"
	cmd.Stdout, cmd.Stderr = log, log
	cmd.ExtraFiles = []*os.File{w}
	err = child.Start(cmd)
	_ = w.Close()
	if err != nil {
		_ = r.Close()
		return problem.New("session.exec", problem.Args{"File": s.folder.Binary(), "Error": Reason(err)}).Wrap(err)
	}
	c := &controlPlane{cmd: cmd, done: make(chan struct{})}
	s.setControlPlane(c)
	s.emit(journal.Event{Source: journal.Session, Kind: journal.KindProcess,
		Process: &journal.Process{Role: roleControlPlane, State: "started", Pid: cmd.Process.Pid}})
	s.background.Go(func() {
		_ = journal.Forward(r, identified{s}) // it ends with the process that writes
		_ = r.Close()
		_ = cmd.Wait()
		s.ended(roleControlPlane, cmd.Process.Pid, 0, exitOf(cmd.ProcessState), tail(s.folder.Log(roleControlPlane), 5))
		close(c.done)
	})
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	if s.await(ctx, c.done, func() bool { return s.readyPids[cmd.Process.Pid] }) {
		return nil
	}
	if ctx.Err() != nil {
		_ = cmd.Process.Kill()
	}
	return s.controlPlaneProblem()
}

func (s *Session) controlPlaneProblem() error {
	if err := s.journal.Err(); err != nil { // its word that it listens may be among what was lost
		return writeProblem(s.folder.Journal(), err)
	}
	return problem.New("session.control-plane", problem.Args{
		"Address": s.adsAddress(),
		"Log":     s.folder.Log(roleControlPlane), "Tail": tail(s.folder.Log(roleControlPlane), 8)})
}

// stopControlPlane ends it with the signal and waits for its end.
func (s *Session) stopControlPlane(sig syscall.Signal) bool {
	c := s.controlPlane()
	if !c.alive() {
		return false
	}
	s.expectEnd(c.cmd.Process.Pid)
	_ = c.cmd.Process.Signal(sig)
	timer := time.NewTimer(5 * time.Second)
	defer timer.Stop()
	select {
	case <-c.done:
	case <-timer.C:
		_ = c.cmd.Process.Kill()
		<-c.done
	}
	return true
}

// ended journals the end of a child, and whether lab ended it on purpose.
func (s *Session) ended(role string, pid, epoch int, exit envoy.Exit, text string) {
	by := ""
	if s.wasExpected(pid) {
		by, text = "lab", ""
	}
	s.emit(journal.Event{Source: journal.Session, Kind: journal.KindProcess, Process: &journal.Process{
		Role: role, State: "exited", Pid: pid, Epoch: epoch, Exit: exit.Code, Signal: exit.Signal, By: by, Text: text}})
}

func exitOf(st *os.ProcessState) envoy.Exit {
	e := envoy.Exit{Code: st.ExitCode()}
	if ws, ok := st.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		e.Signal = unix.SignalName(ws.Signal())
	}
	return e
}
