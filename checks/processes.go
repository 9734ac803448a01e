package checks

import (
	"time"

	"lab/pkg/journal"
)

// The roles of processes, and the notes of the sampler (pkg/journal).
const (
	roleEnvoy        = "envoy"
	roleControlPlane = "control-plane"
	roleSession      = "session"
	noteSilent       = "admin-silent"
	noteLost         = "lost"
	noteBack         = "admin-back"
	noteUnread       = "file-unread"
)

// envoyState is what is known of one Envoy process.
type envoyState struct {
	types  map[string]exchange
	held   holdings
	hosts  map[string][]hostList
	values map[string][]point[uint64]
	texts  map[string][]point[string]
	read   bool // its stats and hosts were read at least once
	silent bool // its admin interface does not answer
}

// state gives the state of an Envoy; nil stands for one that was never seen to
// start.
func (ev *Evidence) state(p *Process) *envoyState {
	st := ev.latest[p]
	if st == nil {
		st = &envoyState{
			types: map[string]exchange{}, hosts: map[string][]hostList{},
			values: map[string][]point[uint64]{}, texts: map[string][]point[string]{},
		}
		ev.latest[p] = st
	}
	return st
}

func (ev *Evidence) foldProcess(e journal.Event) {
	p := e.Process
	switch p.State {
	case "started":
		if p.Role == roleSession {
			ev.endAll(e) // the parts of a session die with it, and nobody is left to say so
			ev.giveUp(e)
		}
		ev.processes = append(ev.processes, &Process{
			Event: e.Seq, Time: e.Time, Role: p.Role, Pid: p.Pid, Epoch: p.Epoch, Alive: true,
			ParentShutdown: time.Duration(p.ParentShutdownMS) * time.Millisecond})
		if p.Role != roleSession {
			ev.act(e)
		}
	case "exited", "lost":
		if p.Role == roleControlPlane { // the next one reads the file as it starts
			ev.unread = false
		}
		for _, known := range ev.processes {
			if known.Alive && known.Role == p.Role && known.Pid == p.Pid {
				ev.end(known, e)
				known.Signal, known.By, known.Exit = p.Signal, p.By, p.Exit
			}
		}
		ev.act(e)
	}
}

func (ev *Evidence) endAll(e journal.Event) {
	for _, p := range ev.processes {
		if p.Alive {
			ev.end(p, e)
		}
	}
}

// end closes the streams of a control plane that is gone: killed, it could not
// say so. Those of an Envoy are closed by the control plane's own event.
func (ev *Evidence) end(p *Process, e journal.Event) {
	p.Alive, p.Ended, p.EndTime = false, e.Seq, e.Time
	if p.Role != roleControlPlane {
		return
	}
	for key, s := range ev.streams {
		if key.pid == p.Pid && s.Open {
			s.close(e.Seq)
		}
	}
}

// envoy is the Envoy that started last and is alive, nil without one.
func (ev *Evidence) envoy() *Process { return ev.alive(roleEnvoy) }

// envoyOf is the Envoy with this pid: during a hot restart two are alive.
func (ev *Evidence) envoyOf(pid int) *Process {
	for i := len(ev.processes) - 1; pid != 0 && i >= 0; i-- {
		if p := ev.processes[i]; p.Role == roleEnvoy && p.Alive && p.Pid == pid {
			return p
		}
	}
	return ev.envoy()
}

func (ev *Evidence) alive(role string) *Process {
	for i := len(ev.processes) - 1; i >= 0; i-- {
		if p := ev.processes[i]; p.Role == role && p.Alive {
			return p
		}
	}
	return nil
}

// find gives the Envoy that an event of the sampler speaks of. One that ended
// gets none: its last samples may come late.
func (ev *Evidence) find(pid, epoch int) *Process {
	for i := len(ev.processes) - 1; i >= 0; i-- {
		p := ev.processes[i]
		if p.Role == roleEnvoy && p.Alive && p.Pid == pid && p.Epoch == epoch {
			return p
		}
	}
	return nil
}

func (ev *Evidence) foldNote(e journal.Event) {
	if e.Note.Code == noteLost {
		ev.step.lost = true
	}
	if e.Note.Code == noteUnread {
		ev.unread = true
	}
	if e.Note.Code == noteNotCounted {
		ev.step.access.lost = true
	}
	if e.Note.Code != noteSilent && e.Note.Code != noteBack {
		return
	}
	for _, p := range ev.processes {
		if p.Role == roleEnvoy && p.Alive && decimal(p.Pid) == e.Note.Args["pid"] {
			ev.state(p).silent = e.Note.Code == noteSilent
		}
	}
}
