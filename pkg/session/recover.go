package session

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"lab/envoy"
	"lab/pkg/control"
	"lab/pkg/problem"
)

// NewRun is a run that was never started.
func NewRun(lab, lang string, seed int64, ads, order string) (*Run, error) {
	id := newID()
	dir, err := socketDir()
	if err != nil {
		return nil, err
	}
	return &Run{FormatVersion: FormatVersion, ID: id, Lab: lab, Lang: lang, Seed: seed, Runtime: "native",
		ADS: ads, Order: order, Socket: filepath.Join(dir, id+".sock"), Created: time.Now().UTC()}, nil
}

// CheckEmpty refuses a folder that has a snapshot.yaml of somebody else's.
func (f Folder) CheckEmpty() error {
	if _, err := os.Stat(f.Snapshot()); err == nil {
		return problem.New("session.foreign-file", problem.Args{"File": f.Snapshot()})
	}
	return nil
}

// Prepare makes the folder ready for Launch, and removes what a killed session
// left there. No session may come up meanwhile.
func (f Folder) Prepare(ctx context.Context, run *Run) error {
	if err := f.Create(); err != nil {
		return err
	}
	unlock, err := f.hold(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if err := f.CleanUp(run); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(run.Socket), 0o700); err != nil {
		return writeProblem(run.Socket, err)
	}
	if err := f.Save(run); err != nil {
		return err
	}
	return f.KeepBinary()
}

// CleanUp removes what a killed session left: processes that outlived it, its
// socket, and Envoy's shared memory. The session must be dead.
func (f Folder) CleanUp(run *Run) error {
	for role, p := range run.Pids {
		if role != roleSession && p.Running() {
			if err := syscall.Kill(p.Pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
				return problem.New("session.left-over", problem.Args{"Role": role, "Pid": p.Pid, "Error": err.Error()})
			}
			if err := gone(p); err != nil {
				return err
			}
		}
	}
	run.Pids = nil
	_ = os.Remove(run.Socket)
	if run.BaseID != 0 {
		if err := envoy.CleanShm(int(run.BaseID)); err != nil {
			return err
		}
	}
	return nil
}

// gone waits until a killed process is no longer there.
func gone(p Pid) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return poll(ctx, func() bool { return !p.Running() }, problem.New("session.left-over",
		problem.Args{"Role": "process", "Pid": p.Pid, "Error": "it does not end"}))
}

// poll asks until yes or until ctx is done, when it gives late. It is for what
// the system tells no event about.
func poll(ctx context.Context, yes func() bool, late error) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !yes() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return late
		}
	}
	return nil
}

// Stop ends the run of the folder and leaves no process, port, socket or
// shared memory. It tells what there was: "running", "killed" (a session that
// had died), "stopped", or "stray" (a session whose folder is gone).
func (f Folder) Stop(ctx context.Context) (string, error) {
	run, err := f.Load()
	if err != nil {
		found, stopErr := f.StopStray(ctx)
		if found {
			return "stray", stopErr
		}
		return "", err
	}
	if !f.Alive() {
		was := "stopped"
		if len(run.Pids) > 0 {
			was = "killed"
		}
		if err := f.CleanUp(run); err != nil {
			return "", err
		}
		_ = f.Save(run) // on a full disk: whoever reads it sees that the pids are gone
		return was, nil
	}
	pid, asked := run.Pids[roleSession], false
	return "running", f.awaitEnd(ctx, func() bool {
		if !asked {
			asked = f.askToStop(ctx)
		}
		return !f.Alive() && !pid.Running() // it forgets its pid before it ends
	})
}

// askToStop asks over the socket, or by a signal where the socket is gone. It
// gives false when the session is so young that it has neither.
func (f Folder) askToStop(ctx context.Context) bool {
	run, err := f.Load()
	if err != nil {
		return false
	}
	_, err = control.Call[Ask, Nothing](ctx, run.Socket, "/stop", Ask{})
	if pid := run.Pids[roleSession]; err != nil && pid.Running() {
		err = syscall.Kill(pid.Pid, syscall.SIGTERM)
	}
	return err == nil
}

// awaitEnd waits until a session that was asked to stop has ended.
func (f Folder) awaitEnd(ctx context.Context, ended func() bool) error {
	grace, cancel := context.WithTimeout(ctx, stopGrace)
	defer cancel()
	pid := 0
	if run, err := f.Load(); err == nil {
		pid = run.Pids[roleSession].Pid
	}
	err := poll(grace, ended, problem.New("session.does-not-stop", problem.Args{"Pid": pid, "Log": f.Log("session")}))
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// youngWithin bounds how long a session may hold its folder before it listens.
const youngWithin = 2 * time.Second

// socketComes waits for the socket of a session that has just begun, or is
// about to end.
func (f Folder) socketComes(ctx context.Context, run *Run) bool {
	there := func() bool {
		_, err := os.Lstat(run.Socket)
		return err == nil
	}
	if there() {
		return false // and nobody answers: nobody will
	}
	ctx, cancel := context.WithTimeout(ctx, youngWithin)
	defer cancel()
	_ = poll(ctx, func() bool { return there() || !f.Alive() }, nil)
	return there()
}

// dies waits for the end of a session that does not answer any more: one that
// was killed holds its folder for a moment longer than its socket.
func (f Folder) dies() bool {
	ctx, cancel := context.WithTimeout(context.Background(), holdWithin)
	defer cancel()
	return poll(ctx, func() bool { return !f.Alive() }, context.DeadlineExceeded) == nil
}

// explain turns "nobody answers" into what died and how to go on.
func (c *Client) explain(run *Run, err error) error {
	if !errors.Is(err, control.ErrNoSession) {
		return err
	}
	if !c.folder.dies() {
		return problem.New("session.silent", problem.Args{"Dir": c.folder.Dir, "Log": c.folder.Log("session")}).Wrap(err)
	}
	if now, err := c.folder.Load(); err == nil {
		run = now // it has forgotten its pids where it was stopped, and not killed
	}
	if len(run.Pids) == 0 {
		return problem.New("session.stopped", problem.Args{"Dir": c.folder.Dir, "LabID": run.Lab}).Wrap(err)
	}
	var left []string
	for role, p := range run.Pids {
		if role != roleSession && p.Running() {
			left = append(left, role+" (pid "+itoa(p.Pid)+")")
		}
	}
	return problem.New("session.dead", problem.Args{"Pid": run.Pids[roleSession].Pid,
		"Left": strings.Join(left, ", "), "Log": c.folder.Log("session")}).Wrap(err)
}

// resume brings back the parts that are down, in a session that lives.
func (s *Session) resume(ctx context.Context) error {
	s.moving.Lock()
	defer s.moving.Unlock()
	return s.bringBack(ctx)
}

func (s *Session) bringBack(ctx context.Context) error {
	if err := s.save(); err != nil { // a full disk is told before anything starts
		return err
	}
	if !s.controlPlane().alive() {
		if err := s.startControlPlane(ctx); err != nil {
			return err
		}
	}
	if !s.envoy().alive() {
		s.stopEnvoy() // what the dead one left
		if err := s.coldStart(ctx); err != nil {
			return err
		}
	}
	s.rememberPids()
	return s.save()
}
