package session

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/adrg/xdg"
	"github.com/gofrs/flock"

	"lab/pkg/problem"
)

// FormatVersion is that of run.json; a higher one is refused.
const FormatVersion = 1

// Folder is a learner's folder: what a learner edits, and .lab beside it.
type Folder struct{ Dir string }

// The files of a run; docs/architecture.md says who writes each.
func (f Folder) Snapshot() string     { return filepath.Join(f.Dir, "snapshot.yaml") }
func (f Folder) path(n string) string { return filepath.Join(f.Dir, ".lab", n) }
func (f Folder) Journal() string      { return f.path("journal.jsonl") }
func (f Folder) RunFile() string      { return f.path("run.json") }
func (f Folder) Binary() string       { return f.path("lab") }
func (f Folder) Log(part string) string {
	return filepath.Join(f.path("log"), part+".log")
}

// Run is what run.json keeps: everything that a later start needs to bring
// the same run back.
type Run struct {
	FormatVersion int               `json:"format_version"`
	ID            string            `json:"id"`
	Lab           string            `json:"lab"`
	Lang          string            `json:"lang"`
	Command       string            `json:"command,omitempty"` // what the learner types before a command
	Seed          int64             `json:"seed"`
	Runtime       string            `json:"runtime"`
	ADS           string            `json:"ads"`
	Order         string            `json:"order,omitempty"`
	Envoy         EnvoyBinary       `json:"envoy"`
	Socket        string            `json:"socket"`
	BaseID        uint32            `json:"base_id"`
	Ports         map[string]int    `json:"ports"` // listeners, the control plane, the access log and the page, by name
	PageToken     string            `json:"page_token,omitempty"`
	Upstreams     map[string]string `json:"upstreams"` // name -> address
	Pids          map[string]Pid    `json:"pids"`      // of the last session's processes, by role
	LabVersion    string            `json:"lab_version"`
	Created       time.Time         `json:"created"`
}

// EnvoyBinary is the Envoy that the run was started with.
type EnvoyBinary struct {
	Path    string `json:"path"`
	Version string `json:"version"`
	SHA256  string `json:"sha256"`
	From    string `json:"from"`
}

// Pid is a process together with its start time, so that a number that the
// system gave to somebody else is not taken for ours.
type Pid struct {
	Pid   int    `json:"pid"`
	Start string `json:"start"`
}

// Load reads run.json.
func (f Folder) Load() (*Run, error) {
	raw, err := os.ReadFile(f.RunFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, problem.New("session.no-run", problem.Args{"Dir": f.Dir}).Wrap(err)
	}
	if err != nil {
		return nil, problem.New("session.unreadable", problem.Args{"File": f.RunFile(), "Error": Reason(err)}).Wrap(err)
	}
	var r Run
	if err := json.Unmarshal(raw, &r); err != nil {
		return nil, problem.New("session.run-file", problem.Args{"File": f.RunFile(), "Error": err.Error()}).Wrap(err)
	}
	if r.FormatVersion > FormatVersion {
		return nil, problem.New("session.newer-format", problem.Args{"File": f.RunFile(), "Have": r.FormatVersion, "Know": FormatVersion})
	}
	if bad := r.damage(); bad != "" {
		return nil, problem.New("session.run-file", problem.Args{"File": f.RunFile(), "Error": bad})
	}
	return &r, nil
}

var runID = regexp.MustCompile(`^[0-9a-f]{12}$`)

// damage names a value that no lab wrote. The file may come from anybody, and
// what stands in it is removed and killed.
func (r *Run) damage() string {
	switch {
	case r.FormatVersion < 1:
		return "format_version"
	case !runID.MatchString(r.ID):
		return "id"
	case r.Lab == "":
		return "lab"
	case !filepath.IsAbs(r.Socket) || filepath.Base(r.Socket) != r.ID+".sock":
		return "socket"
	}
	for _, p := range r.Ports {
		if p < 1 || p > 65535 {
			return "ports"
		}
	}
	return ""
}

// Save writes run.json.
func (f Folder) Save(r *Run) error {
	raw, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return writeFile(f.RunFile(), append(raw, '\n'))
}

// writeFile replaces a file as a whole, or leaves it as it was, also when the
// process is killed meanwhile. It does not wait for the disk: that takes up to
// seconds on a busy one, and a run does not outlive a power cut anyway.
func writeFile(path string, data []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // 0600
	if err != nil {
		return writeProblem(path, err)
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(data)
	if err = errors.Join(err, tmp.Close()); err != nil {
		return writeProblem(path, err)
	}
	if err := os.Rename(tmp.Name(), path); err != nil {
		return writeProblem(path, err)
	}
	return nil
}

func writeProblem(path string, err error) error {
	return problem.New("session.unwritable", problem.Args{"File": path, "Error": Reason(err)}).Wrap(err)
}

// Reason is the system's word for an error, without the path around it.
func Reason(err error) string {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	var le *os.LinkError
	if errors.As(err, &le) {
		return le.Err.Error()
	}
	return err.Error()
}

// Create makes the folder and its .lab.
func (f Folder) Create() error {
	for _, d := range []string{f.Dir, f.path(""), f.path("log"), f.path("kept")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return writeProblem(d, err)
		}
	}
	if err := os.Chmod(f.path(""), 0o700); err != nil {
		return writeProblem(f.path(""), err)
	}
	return nil
}

// lock is held by the session as long as it lives: the system frees it when
// the process is gone, however it went.
func (f Folder) lock() *flock.Flock { return flock.New(f.path("lock"), flock.SetPermissions(0o600)) }

// holdWithin is longer than any command looks at the lock.
const holdWithin = time.Second

// hold takes the lock for the session. Another command may look at it at this
// very moment, so one refusal is not the last word.
func (f Folder) hold(ctx context.Context) (unlock func(), err error) {
	within, cancel := context.WithTimeout(ctx, holdWithin)
	defer cancel()
	l := f.lock()
	got, err := l.TryLockContext(within, 10*time.Millisecond)
	switch {
	case got:
		return func() { _ = l.Unlock() }, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case within.Err() != nil:
		return nil, problem.New("session.running", problem.Args{"Dir": f.Dir})
	}
	return nil, writeProblem(f.path("lock"), err)
}

// Begin keeps other starts of the same folder waiting until done is called.
// Its lock is not in the folder, which may not be there yet.
func (f Folder) Begin(ctx context.Context) (done func(), err error) {
	dir, err := socketDir()
	if err != nil {
		return nil, err
	}
	l := flock.New(filepath.Join(dir, sha(f.Dir)[:12]+".start"), flock.SetPermissions(0o600))
	got, err := l.TryLockContext(ctx, 20*time.Millisecond)
	if !got && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if !got {
		return nil, writeProblem(l.Path(), err)
	}
	return func() { _ = l.Unlock() }, nil
}

// Alive tells whether a session holds the folder: by its pid, or by its lock
// when it has yet to write its pid.
func (f Folder) Alive() bool {
	if run, err := f.Load(); err == nil && run.Pids[roleSession].Running() {
		return true
	}
	if _, err := os.Stat(f.path("lock")); err != nil {
		return false
	}
	l := f.lock()
	got, err := l.TryRLock()
	if err != nil {
		return false
	}
	if got {
		_ = l.Unlock()
	}
	return !got
}

// newID names a run; it is no secret.
func newID() string {
	var b [6]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand)
	return hex.EncodeToString(b[:])
}

// socketDir is short, since a Unix socket's path may have 104 bytes, and only
// its owner can enter it.
func socketDir() (string, error) {
	base := os.Getenv("XDG_RUNTIME_DIR")
	if base == "" || len(base) > 60 {
		base = filepath.Join(os.TempDir(), fmt.Sprintf("lab-%d", os.Getuid()))
	} else {
		base = filepath.Join(base, "lab")
	}
	if len(base) > 70 {
		base = fmt.Sprintf("/tmp/lab-%d", os.Getuid())
	}
	if err := os.MkdirAll(base, 0o700); err != nil {
		return "", writeProblem(base, err)
	}
	if err := ownedByUs(base); err != nil {
		return "", err
	}
	return base, nil
}

// The pointer to the last active run.
func currentFile() string { return filepath.Join(xdg.StateHome, "lab", "current") }

// SetCurrent remembers the folder for commands that run elsewhere.
func SetCurrent(f Folder) error {
	if err := os.MkdirAll(filepath.Dir(currentFile()), 0o700); err != nil {
		return writeProblem(filepath.Dir(currentFile()), err)
	}
	return writeFile(currentFile(), []byte(f.Dir+"\n"))
}

// At is the folder of that name.
func At(dir string) (Folder, error) {
	abs, err := filepath.Abs(dir)
	if err != nil { // the working folder was deleted
		return Folder{}, problem.New("session.unreadable", problem.Args{"File": dir, "Error": Reason(err)}).Wrap(err)
	}
	return Folder{abs}, nil
}

// Locate finds the run a command is about: the folder given, else the working
// folder or one above it that has a run, else the one run in the working
// folder, else the last active one.
func Locate(dir, wd string) (Folder, error) {
	if dir != "" {
		return At(dir)
	}
	for d := wd; ; d = filepath.Dir(d) {
		if _, err := os.Stat(Folder{d}.RunFile()); err == nil {
			return Folder{d}, nil
		}
		if d == filepath.Dir(d) {
			break
		}
	}
	below, err := filepath.Glob(filepath.Join(wd, "[0-9][0-9]-*", ".lab", "run.json"))
	if err == nil && len(below) == 1 {
		return Folder{filepath.Dir(filepath.Dir(below[0]))}, nil
	}
	raw, err := os.ReadFile(currentFile())
	if err != nil || len(raw) < 2 {
		return Folder{}, problem.New("session.none", nil)
	}
	return Folder{string(raw[:len(raw)-1])}, nil
}
