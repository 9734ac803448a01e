package session

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"lab/checks"
	"lab/pkg/control"
	"lab/pkg/journal"
	"lab/pkg/problem"
	"lab/pkg/report"
)

// The calls of the control socket; each has its method on Client. Lang is the
// language of the texts in the answer.
type (
	// Ask is a call that needs nothing but whom it talks to: a language, and
	// what a person types before a command.
	Ask struct {
		Lang    string `json:"lang"`
		Command string `json:"command"`
	}
	// CheckCall grades the current step. Wait bounds how long it may wait for
	// what is still under way, after the last event; 0 is the default.
	CheckCall struct {
		Ask
		Wait time.Duration `json:"wait"`
	}
	// MoveCall is next, goto, skip, reset, solution or open (the last one for
	// proofs: it opens a step without building its start).
	MoveCall struct {
		Ask
		Move string `json:"move"`
		Step string `json:"step"`
	}
	// AnswerCall answers one question of the current step.
	AnswerCall struct {
		Ask
		Question string `json:"question"`
		Value    string `json:"value"`
	}
	// PartCall is an action on the control plane or on Envoy.
	PartCall struct {
		Part   string `json:"part"`
		Action string `json:"action"`
	}
	// FaultCall sets the fault of an upstream; "ok" clears it.
	FaultCall struct {
		Upstream string `json:"upstream"`
		Fault    string `json:"fault"`
	}
	// WaitCall waits until a condition over the evidence of the current step
	// holds, for proofs.
	WaitCall struct {
		Expr string        `json:"expr"`
		Wait time.Duration `json:"wait"` // until it holds, at most so long
	}
	// Nothing is an empty answer.
	Nothing struct{}
)

func (s *Session) serveCalls(l net.Listener) *http.Server {
	mux := http.NewServeMux()
	handle(mux, s, "/status", func(ctx context.Context, _ Ask) (report.Status, error) { return s.status(ctx) })
	handle(mux, s, "/check", s.check)
	handle(mux, s, "/why", s.why)
	handle(mux, s, "/hint", s.hint)
	handle(mux, s, "/step", s.stepText)
	handle(mux, s, "/move", s.move)
	handle(mux, s, "/questions", s.questions)
	handle(mux, s, "/answer", s.answer)
	handle(mux, s, "/part", s.part)
	handle(mux, s, "/fault", s.fault)
	handle(mux, s, "/begin", s.begin)
	handle(mux, s, "/sent", s.sent)
	mux.HandleFunc("POST /slow", s.slow)
	handle(mux, s, "/resume", func(ctx context.Context, _ Ask) (Nothing, error) { return Nothing{}, s.resume(ctx) })
	handle(mux, s, "/wait", s.wait)
	control.Handle(mux, "/who", func(context.Context, Ask) (Who, error) {
		return Who{Dir: s.folder.Dir, Pid: pidOf(os.Getpid())}, nil
	})
	control.Handle(mux, "/stop", func(context.Context, Ask) (Nothing, error) { s.stop(); return Nothing{}, nil })
	mux.HandleFunc("POST /follow", s.follow)
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = srv.Serve(l) }() // ends with Close
	return srv
}

// handle serves a call once the parts are up, while the folder is there.
func handle[In, Out any](mux *http.ServeMux, s *Session, path string, fn func(context.Context, In) (Out, error)) {
	control.Handle(mux, path, func(ctx context.Context, in In) (out Out, err error) {
		select {
		case <-s.up:
		case <-ctx.Done():
			return out, ctx.Err()
		}
		if err := s.gone(); err != nil {
			return out, err
		}
		return fn(ctx, in)
	})
}

// follow streams events as they are stored. A reader that stalls is dropped:
// the journal file has everything.
func (s *Session) follow(w http.ResponseWriter, r *http.Request) {
	events := make(chan journal.Event, 1024)
	full := make(chan struct{})
	var once sync.Once
	cancel := s.journal.Subscribe(func(e journal.Event) {
		select {
		case events <- e:
		default:
			once.Do(func() { close(full) })
		}
	})
	defer cancel()
	enc := json.NewEncoder(w)
	flush := http.NewResponseController(w)
	_ = flush.Flush()
	for {
		select {
		case e := <-events:
			if enc.Encode(e) != nil || flush.Flush() != nil {
				return
			}
		case <-full:
			return
		case <-r.Context().Done():
			return
		}
	}
}

// Client makes the calls of one run. Each method gives a *problem.Problem
// where the session refuses, and session.dead where nobody answers.
type Client struct{ folder Folder }

// NewClient is for the run in f.
func NewClient(f Folder) *Client { return &Client{f} }

// callWithin bounds a call. The longest are a step's start and a check, which
// have shorter bounds of their own.
const callWithin = 60 * time.Second

var errLate = errors.New("no answer in time")

func call[In, Out any](ctx context.Context, c *Client, path string, in In) (Out, error) {
	run, err := c.folder.Load()
	if err != nil {
		var none Out
		if errors.Is(err, fs.ErrNotExist) {
			if _, _, lost := c.folder.stray(ctx); lost {
				return none, folderGone(c.folder)
			}
		}
		return none, err
	}
	within, cancel := context.WithTimeoutCause(ctx, callWithin, errLate)
	defer cancel()
	out, err := control.Call[In, Out](within, run.Socket, path, in)
	if errors.Is(err, control.ErrNoSession) && c.folder.socketComes(within, run) {
		out, err = control.Call[In, Out](within, run.Socket, path, in)
	}
	if err != nil && ctx.Err() == nil && errors.Is(context.Cause(within), errLate) {
		err = control.ErrNoSession // it holds the folder and says nothing
	}
	return out, c.explain(run, err)
}

// Status is what every part does.
func (c *Client) Status(ctx context.Context, in Ask) (report.Status, error) {
	return call[Ask, report.Status](ctx, c, "/status", in)
}

// Check grades the current step.
func (c *Client) Check(ctx context.Context, in CheckCall) (checks.Report, error) {
	return call[CheckCall, checks.Report](ctx, c, "/check", in)
}

// Why is the last grading of the current step.
func (c *Client) Why(ctx context.Context, in Ask) (checks.Report, error) {
	return call[Ask, checks.Report](ctx, c, "/why", in)
}

// Hint takes the next hint of the current step.
func (c *Client) Hint(ctx context.Context, in Ask) (Hint, error) {
	return call[Ask, Hint](ctx, c, "/hint", in)
}

// Step is the text of the current step.
func (c *Client) Step(ctx context.Context, in Ask) (Step, error) {
	return call[Ask, Step](ctx, c, "/step", in)
}

// Move goes to another step, or begins one again.
func (c *Client) Move(ctx context.Context, in MoveCall) (Moved, error) {
	return call[MoveCall, Moved](ctx, c, "/move", in)
}

// Questions are those of the current step.
func (c *Client) Questions(ctx context.Context, in Ask) ([]Question, error) {
	return call[Ask, []Question](ctx, c, "/questions", in)
}

// Answer answers a question.
func (c *Client) Answer(ctx context.Context, in AnswerCall) (Question, error) {
	return call[AnswerCall, Question](ctx, c, "/answer", in)
}

// Part acts on the control plane or on Envoy.
func (c *Client) Part(ctx context.Context, in PartCall) (PartDone, error) {
	return call[PartCall, PartDone](ctx, c, "/part", in)
}

// Fault sets the fault of an upstream.
func (c *Client) Fault(ctx context.Context, in FaultCall) error {
	_, err := call[FaultCall, Nothing](ctx, c, "/fault", in)
	return err
}

// Resume brings back the parts that are down.
func (c *Client) Resume(ctx context.Context) error {
	_, err := call[Ask, Nothing](ctx, c, "/resume", Ask{})
	return err
}

// Wait tells whether a condition came to hold.
func (c *Client) Wait(ctx context.Context, in WaitCall) (bool, error) {
	return call[WaitCall, bool](ctx, c, "/wait", in)
}

// Follow gives each event to fn from now on until ctx ends.
func (c *Client) Follow(ctx context.Context, fn func([]byte) error) error {
	run, err := c.folder.Load()
	if err != nil {
		return err
	}
	return c.explain(run, control.Stream(ctx, run.Socket, "/follow", Nothing{}, fn))
}

// Moved is where a move led.
type Moved struct {
	Step  Step   `json:"step"`
	Kept  string `json:"kept,omitempty"`  // where the earlier snapshot.yaml is kept
	Shown string `json:"shown,omitempty"` // a solution, in Markdown
}

// noSuch is a usage error that lists what there is.
func noSuch(code, name string, have []string) error {
	return problem.New(code, problem.Args{"Name": name, "Have": have}).WithExit(problem.Usage)
}
