package session

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"lab/pkg/problem"
)

// Stage is a line of progress of a start: which part, and its values. The
// words are "start.PART" in pkg/words.
type Stage struct {
	Part string         `json:"part"`
	Args map[string]any `json:"args,omitempty"`
}

// handshake is one line that a starting session writes to its parent.
type handshake struct {
	Stage   *Stage           `json:"stage,omitempty"`
	Ready   bool             `json:"ready,omitempty"`
	Problem *problem.Problem `json:"problem,omitempty"`
}

// handshakeFD is the descriptor on which a session finds its parent's pipe.
const handshakeFD = 3

// stopGrace is how long a session may take to stop its parts.
const stopGrace = 20 * time.Second

// Launch starts the session of a folder in the background and returns when it
// serves. When it does not come to that, the session is gone and Launch tells
// why: the problem that it reported, or the last lines of its log.
func Launch(ctx context.Context, f Folder, progress func(Stage)) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	log, err := os.OpenFile(f.Log("session"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		_ = w.Close()
		return writeProblem(f.Log("session"), err)
	}
	defer log.Close()
	cmd := exec.Command(f.Binary(), "session", "serve", "--dir", f.Dir)
	cmd.Dir = "/" // the learner may move or delete any folder
	cmd.Stdout, cmd.Stderr = log, log
	cmd.ExtraFiles = []*os.File{w}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // a Ctrl-C in the terminal is not for it
	err = cmd.Start()
	_ = w.Close()
	if err != nil {
		return problem.New("session.exec", problem.Args{"File": f.Binary(), "Error": Reason(err)}).Wrap(err)
	}
	done := make(chan error, 1)
	go func() { done <- follow(r, progress) }()
	select {
	case err = <-done:
	case <-ctx.Done():
		_ = cmd.Process.Signal(syscall.SIGTERM)
		late := time.AfterFunc(stopGrace, func() { _ = cmd.Process.Kill() })
		defer late.Stop()
		<-done
		err = ctx.Err()
	}
	if err == nil {
		return cmd.Process.Release()
	}
	_ = cmd.Wait() // it ends by itself after a problem; a silent one is gone already
	if errors.Is(err, errSilent) {
		return problem.New("session.died", problem.Args{"Log": f.Log("session"), "Tail": tail(f.Log("session"), 12)})
	}
	return err
}

// errSilent means that the session ended without a word.
var errSilent = errors.New("the session ended before it was ready")

func follow(r io.Reader, progress func(Stage)) error {
	dec := json.NewDecoder(r)
	for {
		var h handshake
		if err := dec.Decode(&h); err != nil {
			return errSilent
		}
		switch {
		case h.Ready:
			return nil
		case h.Problem != nil:
			return h.Problem
		case h.Stage != nil:
			progress(*h.Stage)
		}
	}
}

// KeepBinary puts the running program into the run folder, as a link where
// the file system can and a copy elsewhere: `go run` deletes its program when
// it returns, and the session needs it later to start its parts.
func (f Folder) KeepBinary() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if same(self, f.Binary()) {
		return nil
	}
	tmp := f.Binary() + ".new"
	_ = os.Remove(tmp)
	if err := os.Link(self, tmp); err != nil {
		if err := copyFile(self, tmp); err != nil {
			return err
		}
	}
	if err := os.Rename(tmp, f.Binary()); err != nil {
		return writeProblem(f.Binary(), err)
	}
	return nil
}

func same(a, b string) bool {
	x, err1 := os.Stat(a)
	y, err2 := os.Stat(b)
	return err1 == nil && err2 == nil && os.SameFile(x, y)
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o700)
	if err != nil {
		return writeProblem(to, err)
	}
	_, err = io.Copy(out, in)
	if err = errors.Join(err, out.Close()); err != nil {
		_ = os.Remove(to)
		return writeProblem(to, err)
	}
	return nil
}

// tail gives the last n lines of a file, or nothing.
func tail(path string, n int) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	const most = 8 << 10
	if st, err := f.Stat(); err == nil && st.Size() > most {
		_, _ = f.Seek(-most, io.SeekEnd)
	}
	raw, _ := io.ReadAll(f)
	lines := strings.Split(strings.TrimRight(string(raw), "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
