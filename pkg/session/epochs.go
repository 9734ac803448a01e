package session

import (
	"context"
	"sync"
	"time"

	"lab/envoy"
	"lab/envoy/admin"
	"lab/pkg/child"
	"lab/pkg/journal"
)

// How an epoch hands over to the next one (Envoy docs, operations/cli,
// --drain-time-s and --parent-shutdown-time-s). The second bounds how long a
// request in flight may take: the one of `lab send --slow` is shorter.
const (
	drainTime      = 3 * time.Second
	parentShutdown = 6 * time.Second
)

// envoyPart is one epoch of Envoy, with what watches it.
type envoyPart struct {
	proc        envoy.Process
	stopSampler context.CancelFunc
	sampler     *admin.Sampler
	// spoiled: a child of it died before it was LIVE. Envoy then believes that
	// it is still initializing, and lets no later epoch start.
	spoiled bool
	// orphaned: the epoch before it was killed before Envoy ended it. When its
	// time comes, Envoy tries to tell it so, again and again, and stalls.
	orphaned bool
}

func (e *envoyPart) alive() bool {
	if e == nil {
		return false
	}
	select {
	case <-e.proc.Done():
		return false
	default:
		return true
	}
}

// startEnvoy starts epoch 0 and waits until it is LIVE.
func (s *Session) startEnvoy(ctx context.Context) error {
	part, err := s.launch(0)
	if err != nil {
		return err
	}
	s.setEnvoy(part)
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	return s.awaitLive(ctx, part)
}

// launch starts an epoch and journals it. It does not become the one that
// serves.
func (s *Session) launch(epoch int) (*envoyPart, error) {
	s.starting.Lock() // no stream is told apart before it is known whose it may be
	defer s.starting.Unlock()
	p, err := s.runner().Start(epoch)
	if err != nil {
		return nil, err
	}
	started := &journal.Process{Role: roleEnvoy, State: "started", Pid: p.Pid(), Epoch: epoch}
	if epoch > 0 {
		started.ParentShutdownMS = parentShutdown.Milliseconds()
	}
	s.emit(journal.Event{Source: journal.Session, Kind: journal.KindProcess, Process: started})
	part := &envoyPart{proc: p, stopSampler: func() {}}
	s.mu.Lock()
	s.epochs = append(s.epochs, part)
	s.mu.Unlock()
	s.background.Go(func() {
		<-p.Done()
		text := ""
		if err := p.Problem(); err != nil && p.Exit().Code > 0 {
			text = err.Error()
		}
		s.orphan(part)
		s.ended(roleEnvoy, p.Pid(), epoch, p.Exit(), text)
	})
	return part, nil
}

// orphan marks the epoch that serves, where the one that ended was killed while
// it drained.
func (s *Session) orphan(ended *envoyPart) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ev != nil && s.ev != ended && s.ev.proc.Epoch() > ended.proc.Epoch() && ended.proc.Exit() != (envoy.Exit{}) {
		s.ev.orphaned = true
	}
}

// awaitLive watches an epoch from the moment its admin interface answers, and
// returns when it is LIVE.
func (s *Session) awaitLive(ctx context.Context, part *envoyPart) error {
	p := part.proc
	if err := p.WaitAdmin(ctx); err != nil {
		return err
	}
	s.startSampler(part)
	if err := p.WaitReady(ctx); err != nil {
		return err
	}
	s.emit(journal.Event{Source: journal.Session, Kind: journal.KindProcess,
		Process: &journal.Process{Role: roleEnvoy, State: "ready", Pid: p.Pid(), Epoch: p.Epoch()}})
	return nil
}

func (s *Session) runner() *envoy.Native {
	return &envoy.Native{
		Binary: s.run.Envoy.Path, Bootstrap: s.bootstrap(), BaseID: int(s.run.BaseID),
		Dir: s.folder.path(""), LogDir: s.folder.path("log"),
		DrainTime: drainTime, ParentShutdown: parentShutdown, Spawn: child.Start,
	}
}

func (s *Session) bootstrap() string { return s.folder.path("bootstrap.json") }

// stopEnvoy ends every epoch and removes what they leave in shared memory. It
// tells whether there was any.
func (s *Session) stopEnvoy() bool {
	epochs := s.takeEpochs()
	var ending sync.WaitGroup
	for _, part := range epochs {
		ending.Go(func() { s.endEpoch(part) })
	}
	ending.Wait()
	if len(epochs) == 0 {
		return false
	}
	if err := s.runner().Clean(); err != nil {
		s.note("shared-memory", map[string]string{"error": err.Error()})
	}
	return true
}

// endEpoch ends one epoch, and nobody else's.
func (s *Session) endEpoch(part *envoyPart) {
	part.stopSampler()
	if part.alive() {
		s.expectEnd(part.proc.Pid())
		envoy.Stop(part.proc, 5*time.Second)
	}
}

// killEpoch ends a new epoch by SIGKILL: at SIGTERM it would tell the old one to
// end, too (e2e, TestHotRestartFails).
func (s *Session) killEpoch(part *envoyPart) {
	part.stopSampler()
	if part.alive() {
		s.expectEnd(part.proc.Pid())
		_ = part.proc.Signal(sigKill) // an error: it has ended
		<-part.proc.Done()
	}
}

// sampleEvery is often enough to see a short ejection.
const sampleEvery = 100 * time.Millisecond

func (s *Session) startSampler(part *envoyPart) {
	ctx, stop := context.WithCancel(context.Background())
	part.stopSampler = stop
	part.sampler = &admin.Sampler{Client: admin.New(part.proc.AdminAddr()), Sink: s.journal,
		Pid: part.proc.Pid(), Epoch: part.proc.Epoch(), Interval: sampleEvery, Now: s.now}
	s.background.Go(func() { part.sampler.Run(ctx) })
	s.background.Go(func() { // a dead Envoy is not asked
		select {
		case <-part.proc.Done():
			stop()
		case <-ctx.Done():
		}
	})
}

// envoy is the epoch that serves, or served last; nil before the first.
func (s *Session) envoy() *envoyPart {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ev
}

func (s *Session) setEnvoy(e *envoyPart) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ev = e
}

// running are the epochs that are alive, the oldest first.
func (s *Session) running() []*envoyPart {
	s.mu.Lock()
	defer s.mu.Unlock()
	var alive []*envoyPart
	for _, e := range s.epochs {
		if e.alive() {
			alive = append(alive, e)
		}
	}
	return alive
}

// takeEpochs gives every epoch since the last cold start, and forgets them.
func (s *Session) takeEpochs() []*envoyPart {
	s.mu.Lock()
	defer s.mu.Unlock()
	epochs := s.epochs
	s.epochs = nil
	return epochs
}
