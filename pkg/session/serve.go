package session

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"time"

	"lab/checks"
	"lab/envoy"
	"lab/pkg/accesslog"
	"lab/pkg/control"
	"lab/pkg/curriculum"
	"lab/pkg/journal"
	"lab/pkg/problem"
	"lab/pkg/traffic"
	"lab/pkg/web"
	"lab/upstreams"
)

// Session is one running lab.
type Session struct {
	folder  Folder
	run     *Run
	lab     *curriculum.Lab
	params  map[string]string
	now     func() time.Time
	started time.Time
	journal *journal.Writer
	stop    context.CancelFunc
	home    os.FileInfo   // .lab as it was when the session started
	up      chan struct{} // closed when the parts are up: calls wait for it
	page    *web.Page     // folds by itself

	starting   sync.Mutex     // held while an Envoy starts, until it is journaled and known
	moving     sync.Mutex     // one check or move at a time
	background sync.WaitGroup // goroutines that wait for children

	mu        sync.Mutex // guards what follows
	evidence  *checks.Evidence
	steps     progress
	view      *view
	recall    recall
	changed   chan struct{} // closed and replaced on each event
	active    time.Time     // of the last event that a check may have to wait behind
	readyPids map[int]bool
	expected  map[int]bool // pids that lab is ending on purpose
	cp        *controlPlane
	ev        *envoyPart   // the epoch that serves, or served last
	epochs    []*envoyPart // every epoch since the last cold start
	upstreams map[string]*upstreams.Upstream
	steady    *traffic.Generator
	access    *accesslog.Server
	lastCheck *checks.Report
	wantFile  string // SHA-256 of the file that a step's start wrote
}

// Serve is the background process of a run, from lock to stop. It writes the
// handshake to hand and closes it.
func Serve(ctx context.Context, f Folder, hand *os.File) error {
	say := json.NewEncoder(hand)
	err := serve(ctx, f, func(st Stage) { _ = say.Encode(handshake{Stage: &st}) }, func() {
		_ = say.Encode(handshake{Ready: true})
		_ = hand.Close()
	})
	if err != nil && !errors.Is(err, context.Canceled) {
		var p *problem.Problem
		if !errors.As(err, &p) {
			p = problem.New("session.fault", problem.Args{"Error": err.Error(), "Log": f.Log("session")}).WithExit(problem.Fault)
		}
		_ = say.Encode(handshake{Problem: p}) // fails when nobody waits any more
	}
	return err
}

func serve(ctx context.Context, f Folder, stage func(Stage), ready func()) error {
	unlock, err := f.hold(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	run, err := f.Load()
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	listener, err := control.Listen(run.Socket) // who calls now waits until it is served
	if err != nil {
		return writeProblem(run.Socket, err)
	}
	defer listener.Close() //nolint:errcheck // the server closes it first
	defer os.Remove(run.Socket)
	s, err := newSession(f, run, stop)
	if err != nil {
		return err
	}
	defer s.journal.Close() //nolint:errcheck // its error was kept by Err
	defer s.stopParts()
	calls := s.serveCalls(listener)
	defer calls.Close()
	err = s.startParts(ctx, stage)
	if ctx.Err() != nil { // whatever it broke, it was on purpose
		return problem.New("session.stopped", problem.Args{"Dir": f.Dir, "LabID": run.Lab})
	}
	if err != nil {
		return err
	}
	close(s.up)
	ready()
	<-ctx.Done()
	return nil
}

// newSession reads what the run already has.
func newSession(f Folder, run *Run, stop context.CancelFunc) (*Session, error) {
	lab, err := curriculum.Find(run.Lab)
	if err != nil {
		return nil, err
	}
	home, err := os.Stat(f.path(""))
	if err != nil {
		return nil, err
	}
	start := time.Now()
	s := &Session{
		folder: f, run: run, lab: lab, stop: stop, started: start, home: home, up: make(chan struct{}),
		now:       func() time.Time { return start.Add(time.Since(start)) }, // a clock that jumps does not move it
		changed:   make(chan struct{}),
		readyPids: map[int]bool{}, expected: map[int]bool{},
		upstreams: map[string]*upstreams.Upstream{}, view: newView(),
	}
	s.params = lab.Params(run.Seed)
	s.evidence = checks.New()
	s.page = web.New(pageLab{s}, s.now)
	s.journal, err = journal.Open(f.Journal(), s.now, s.observe)
	if err != nil {
		return nil, problem.New("session.journal", problem.Args{"File": f.Journal(), "Error": err.Error()}).Wrap(err)
	}
	s.journal.Subscribe(s.observe)
	return s, nil
}

func (s *Session) emit(e journal.Event) { s.journal.Emit(e) }

// record is emit for what a learner was told or will be graded by: a disk that
// does not take it is a problem.
func (s *Session) record(e journal.Event) error {
	if err := s.journal.Add(e); err != nil {
		return writeProblem(s.folder.Journal(), err)
	}
	return nil
}

func (s *Session) note(code string, args map[string]string) {
	s.emit(journal.Event{Source: journal.Session, Kind: journal.KindNote, Note: &journal.Note{Code: code, Args: args}})
}

// observe folds an event into what the session knows. It runs under the
// journal's lock and returns at once.
func (s *Session) observe(e journal.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.evidence.Fold(e)
	s.steps.fold(e)
	s.view.fold(e)
	s.recall.fold(e)
	switch e.Kind {
	case journal.KindProcess:
		if e.Process.State == "ready" {
			s.readyPids[e.Process.Pid] = true
		}
		s.active = s.now()
	case journal.KindSnapshotLoaded, journal.KindSnapshotRefused:
		s.active = s.now()
	case journal.KindResponse, journal.KindRequest, journal.KindCommand, journal.KindAnswer, journal.KindStreamOpen:
		s.active = s.now()
	}
	s.page.Fold(e)
	close(s.changed)
	s.changed = make(chan struct{})
}

// await waits until cond, asked under the lock after each event, holds. It
// gives false when ctx is done or gone is closed first.
func (s *Session) await(ctx context.Context, gone <-chan struct{}, cond func() bool) bool {
	for {
		s.mu.Lock()
		ok, changed := cond(), s.changed
		s.mu.Unlock()
		if ok {
			return true
		}
		select {
		case <-changed:
		case <-gone:
			return false
		case <-ctx.Done():
			return false
		}
	}
}

// startParts brings everything up: upstreams first, since Envoy's first
// requests go there, then the step that the first conversation belongs to.
func (s *Session) startParts(ctx context.Context, stage func(Stage)) error {
	if err := s.startUpstreams(); err != nil {
		return err
	}
	stage(Stage{Part: "upstreams", Args: map[string]any{"Ports": upstreamPorts(s.run.Upstreams)}})
	if err := s.choosePorts(); err != nil {
		return err
	}
	if err := s.servePage(ctx); err != nil {
		return err
	}
	if err := s.writeStart(); err != nil {
		return err
	}
	if err := s.openJournal(); err != nil {
		return err
	}
	if err := s.startAccessLog(); err != nil {
		return err
	}
	s.background.Go(s.step().Prepare) // while the parts start
	if err := s.startControlPlane(ctx); err != nil {
		return err
	}
	stage(Stage{Part: "control-plane", Args: map[string]any{"Port": s.run.Ports[roleControlPlane], "File": s.folder.Snapshot()}})
	begun := time.Now()
	if err := s.coldStart(ctx); err != nil {
		return err
	}
	s.awaitConversation(ctx)
	stage(Stage{Part: "envoy", Args: map[string]any{"Port": s.run.Ports["http"]}})
	s.startTraffic(ctx)
	if err := s.save(); err != nil {
		return err
	}
	stage(Stage{Part: "serving", Args: map[string]any{"Seconds": time.Since(begun).Seconds()}})
	stage(Stage{Part: "page", Args: map[string]any{"URL": s.pageURL()}})
	return nil
}

// openJournal writes what a journal begins with, and what of it was cut off.
func (s *Session) openJournal() error {
	if s.opened() == nil {
		if err := s.record(s.runEvent()); err != nil {
			return err
		}
	}
	if err := s.record(journal.Event{Source: journal.Session, Kind: journal.KindProcess,
		Process: &journal.Process{Role: roleSession, State: "started", Pid: os.Getpid()}}); err != nil {
		return err
	}
	if s.currentStep() == "" {
		return s.openStep(s.lab.Steps[0].ID, "start")
	}
	return nil
}

// coldStart starts epoch 0 and, where the file is good, waits until Envoy has
// what it says.
func (s *Session) coldStart(ctx context.Context) error {
	boot, err := envoy.Bootstrap(envoy.BootstrapConfig{
		NodeID: "lab-" + s.run.ID, NodeCluster: "lab", ADS: s.run.ADS,
		ControlPlane: s.adsAddress(),
	})
	if err != nil {
		return err
	}
	if err := writeFile(s.bootstrap(), boot); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cp := s.controlPlane()
	down := !cp.alive()
	if !down { // one that dies now leaves Envoy waiting for nobody
		s.background.Go(func() {
			select {
			case <-cp.done:
				cancel()
			case <-ctx.Done():
			}
		})
	}
	err = s.startEnvoy(ctx)
	if err != nil && !down && !cp.alive() {
		return s.controlPlaneProblem()
	}
	s.rememberPids()
	return err
}

// writeStart gives the learner the file of the first step, where there is none.
func (s *Session) writeStart() error {
	if _, err := os.Stat(s.folder.Snapshot()); err == nil {
		return nil
	}
	text, err := s.renderSnapshot()
	if err != nil {
		return err
	}
	return writeFile(s.folder.Snapshot(), []byte(text))
}

func (s *Session) startTraffic(ctx context.Context) {
	s.steady = traffic.Steady(traffic.Config{
		Name: "steady", Rate: s.lab.Traffic.Rate, Timeout: 2 * time.Second, Mark: s.access.Mark("steady"), Sink: s.journal, Now: s.now,
		URL: func() string {
			return "http://127.0.0.1:" + itoa(s.run.Ports["http"]) + filepath.ToSlash(s.lab.Traffic.Path)
		},
	})
	s.steady.Start(ctx)
}

// stopParts ends everything, Envoy first so that nothing fails on the way, and
// leaves no process, port or shared memory.
func (s *Session) stopParts() {
	s.moving.Lock() // a move that is under way must not start anything any more
	defer s.moving.Unlock()
	if s.steady != nil {
		s.steady.Stop()
	}
	s.stopEnvoy()
	if s.access != nil {
		s.access.Close()
	}
	s.stopControlPlane(sigTerm)
	s.mu.Lock()
	ups := s.upstreams
	s.mu.Unlock()
	for _, u := range ups {
		_ = u.Close()
	}
	s.background.Wait()
	s.emit(journal.Event{Source: journal.Session, Kind: journal.KindProcess,
		Process: &journal.Process{Role: roleSession, State: "exited", Pid: os.Getpid(), By: "lab"}})
	s.run.Pids = nil
	_ = s.save() // the folder may be gone
}
