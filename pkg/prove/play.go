package prove

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"lab/checks"
	"lab/pkg/curriculum"
	"lab/pkg/journal"
	"lab/pkg/report"
	"lab/pkg/session"
)

// caseWithin bounds one case, start and stop included.
const caseWithin = 90 * time.Second

// otherWait bounds a wait of another step's solution: what it waits for may
// never come here.
const otherWait = time.Second

// player plays one case in a run of its own.
type player struct {
	c      Config
	dir    string // the learner's folder
	client *session.Client
	buffer string // what the learner has in the editor
	loaded bool   // the buffer holds something
	beside []*exec.Cmd
}

func play(ctx context.Context, c Config, k Case, round, n int) (o Outcome) {
	begun := time.Now()
	o = Outcome{Case: k, Round: round}
	p := &player{c: c, dir: filepath.Join(c.Dir, fmt.Sprintf("%s-%s-%s-%d", k.Step.ID, k.Kind, strings.ReplaceAll(k.Name, "/", "-"), n))}
	ctx, cancel := context.WithTimeout(ctx, caseWithin)
	defer cancel()
	o.Report, o.Err = p.run(ctx, k, c.Seed+int64(round))
	if o.Err == nil {
		o.Bad = k.judge(o.Report)
	}
	p.interrupt()
	if _, err := p.lab(context.WithoutCancel(ctx), "stop"); err != nil && o.Err == nil {
		o.Err = fmt.Errorf("stop: %w", err)
	}
	if c.Keep && (o.Err != nil || o.Bad != "") {
		o.Dir = p.dir
	} else {
		_ = os.RemoveAll(p.dir)
	}
	o.Took = time.Since(begun)
	return o
}

func (p *player) run(ctx context.Context, k Case, seed int64) (*checks.Report, error) {
	args := []string{"start", p.c.Lab.ID, "--seed", fmt.Sprint(seed)}
	if p.c.Envoy != "" {
		args = append(args, "--envoy", p.c.Envoy)
	}
	if _, err := p.lab(ctx, args...); err != nil {
		return nil, err
	}
	p.client = session.NewClient(session.Folder{Dir: p.dir})
	move := session.MoveCall{Move: "goto", Step: k.Step.ID}
	if k.Step.Number > 1 || k.Kind == Before {
		if _, err := p.client.Move(ctx, move); err != nil {
			return nil, fmt.Errorf("goto %s: %w", k.Step.ID, err)
		}
	}
	if k.want != nil && len(k.want.Before) > 0 {
		for _, a := range k.want.Before {
			if err := p.act(ctx, k.from, a); err != nil {
				return nil, fmt.Errorf("before: %w: %w", describe(a), err)
			}
		}
		move.Move = "open"
		if _, err := p.client.Move(ctx, move); err != nil {
			return nil, err
		}
	}
	for _, a := range k.acts {
		if k.Kind == Other {
			a.Within = otherWait
		}
		// What another step's solution cannot do here, it does not do.
		if err := p.act(ctx, k.from, a); err != nil && (k.Kind != Other || ctx.Err() != nil) {
			return nil, fmt.Errorf("%w: %w", describe(a), err)
		}
	}
	if k.Kind == Before {
		move.Move = "open"
		if _, err := p.client.Move(ctx, move); err != nil {
			return nil, err
		}
	}
	rep, err := p.client.Check(ctx, session.CheckCall{Ask: session.Ask{Lang: "en", Command: "lab"}, Wait: session.DefaultWait})
	return &rep, err
}

func describe(a curriculum.Act) error {
	raw, _ := json.Marshal(a) // plain values
	return errors.New(string(raw))
}

// act does what a learner would do.
func (p *player) act(ctx context.Context, step *curriculum.Step, a curriculum.Act) error {
	a, err := p.fill(step, a)
	if err != nil {
		return err
	}
	switch {
	case len(a.Lab) > 0:
		_, err = p.lab(ctx, a.Lab...)
		return err
	case len(a.Begin) > 0:
		return p.begin(ctx, a.Begin...)
	case len(a.Refused) > 0:
		_, err := p.lab(ctx, a.Refused...)
		var exit *exec.ExitError
		if err == nil {
			err = errors.New("it was not refused")
		} else if errors.As(err, &exit) {
			err = nil
		}
		return err
	case a.Kill != "":
		return p.kill(ctx, a.Kill)
	case a.Wait != "":
		held, err := p.client.Wait(ctx, session.WaitCall{Expr: a.Wait, Wait: a.Within})
		if err == nil && !held {
			err = fmt.Errorf("waited %s for: %s", a.Within, a.Wait)
		}
		return err
	case a.Save != "":
		return p.save(ctx, a.Save)
	}
	if !p.loaded {
		raw, err := os.ReadFile(p.file())
		if err != nil {
			return err
		}
		p.buffer, p.loaded = string(raw), true
	}
	p.buffer, err = a.Edit(p.buffer)
	return err
}

// fill gives an act the values of this run, read from its journal.
func (p *player) fill(step *curriculum.Step, a curriculum.Act) (curriculum.Act, error) {
	folder := session.Folder{Dir: p.dir}
	run, err := folder.Load()
	if err != nil {
		return a, err
	}
	events, _, err := journal.ReadFile(folder.Journal())
	if err != nil {
		return a, err
	}
	ev := checks.New()
	for _, e := range events {
		ev.Fold(e)
	}
	return step.Fill(a, curriculum.Moment{Evidence: ev, Now: time.Now(), Values: curriculum.Values{
		Params: p.c.Lab.Params(run.Seed), Upstreams: run.Upstreams, Ports: run.Ports, Command: "lab"}})
}

func (p *player) file() string { return filepath.Join(p.dir, "snapshot.yaml") }

// save writes the buffer in one of the ways in which editors do, and waits
// until the control plane, where it runs, has read these bytes: the next save
// is another act.
func (p *player) save(ctx context.Context, how string) error {
	if err := p.write(how); err != nil || how == curriculum.SaveAside {
		return err
	}
	sum := sha256.Sum256([]byte(p.buffer))
	want := hex.EncodeToString(sum[:])
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		events, _, err := journal.ReadFile(session.Folder{Dir: p.dir}.Journal())
		if err != nil {
			return err
		}
		if hasRead(events, want) {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return errors.New("waited for the control plane to read the file")
		}
	}
}

// hasRead tells whether the last reading is of these bytes, or nobody reads.
func hasRead(events []journal.Event, sha string) bool {
	for _, e := range slices.Backward(events) {
		switch {
		case e.Snapshot != nil:
			return e.Snapshot.SHA256 == sha
		case e.Process != nil && e.Process.Role == "control-plane":
			return e.Process.State == "exited"
		}
	}
	return false
}

func (p *player) write(how string) error {
	text := []byte(p.buffer)
	p.loaded = false
	switch how {
	case curriculum.SaveWrite:
		return os.WriteFile(p.file(), text, 0o600)
	case curriculum.SaveAside:
		return os.WriteFile(filepath.Join(p.dir, ".snapshot.yaml.swp"), text, 0o600)
	case curriculum.SaveRename:
		tmp := p.file() + "~new"
		if err := os.WriteFile(tmp, text, 0o600); err != nil {
			return err
		}
		return os.Rename(tmp, p.file())
	case curriculum.SaveSymlink:
		target := filepath.Join(p.dir, fmt.Sprintf("version-%d.yaml", time.Now().UnixNano()))
		if err := os.WriteFile(target, text, 0o600); err != nil {
			return err
		}
		tmp := p.file() + "~link"
		if err := os.Symlink(target, tmp); err != nil {
			return err
		}
		return os.Rename(tmp, p.file())
	}
	return fmt.Errorf("no way to save: %q", how)
}

// kill is kill -9 by hand, and waits until the session has seen it.
func (p *player) kill(ctx context.Context, part string) error {
	st, err := p.client.Status(ctx, session.Ask{})
	if err != nil {
		return err
	}
	pid := pidOf(st, part)
	if pid == 0 {
		return fmt.Errorf("%s is not running", part)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		return err
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !down(st, part) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("waited for the session to see that %s died", part)
		}
		if st, err = p.client.Status(ctx, session.Ask{}); err != nil {
			return err
		}
	}
	return nil
}

func pidOf(st report.Status, part string) int {
	switch {
	case part == "control-plane":
		return st.ControlPlane.Pid
	case part == "envoy":
		return st.Envoy.Pid
	case len(st.Envoy.Others) > 0:
		return st.Envoy.Others[0].Pid
	}
	return 0
}

func down(st report.Status, part string) bool {
	if part == "old-envoy" {
		return len(st.Envoy.Others) == 0
	}
	for _, d := range st.Down {
		if d.Part == part {
			return true
		}
	}
	return false
}

// begin starts a command that goes on beside the next acts.
func (p *player) begin(ctx context.Context, args ...string) error {
	cmd := p.command(ctx, args...)
	if err := cmd.Start(); err != nil {
		return err
	}
	p.beside = append(p.beside, cmd)
	return nil
}

// interrupt ends what begin started, and waits for it.
func (p *player) interrupt() {
	for _, cmd := range p.beside {
		_ = cmd.Process.Signal(os.Interrupt) // an error: it has ended
		_ = cmd.Wait()                       // what it came to is in the journal
	}
}

// lab runs a command and gives its output; a status that is not 0 is an error.
func (p *player) lab(ctx context.Context, args ...string) (string, error) {
	cmd := p.command(ctx, args...)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("lab %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(errOut.String()))
	}
	return out.String(), nil
}

func (p *player) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, p.c.Binary, append(args, "--dir", p.dir, "--lang", "en", "--no-input")...)
	cmd.WaitDelay = time.Second
	// The last active run of the person who proves is not ours to change.
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+filepath.Join(p.c.Dir, "state"))
	return cmd
}
