package curriculum

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strconv"
	"strings"

	"lab/pkg/problem"
)

// Lab is one folder of labs/. It is safe for concurrent use.
type Lab struct {
	ID        string // the folder's name, "08-xds"
	Title     map[string]string
	Minutes   int // that a learner needs
	Upstreams []Upstream
	Listeners []string // names of the ports that are chosen for Listeners
	Traffic   Traffic
	Steps     []*Step
	Content   string // SHA-256 over the folder's files

	params   []Param
	snapshot string // a text/template over Values
}

// Upstream is a backend of the run.
type Upstream struct {
	Name string `yaml:"name"`
}

// Traffic is what the session sends through Envoy all the time.
type Traffic struct {
	Rate float64 `yaml:"rate"` // requests a second
	Path string  `yaml:"path"`
}

// labFile is lab.yaml.
type labFile struct {
	Title     map[string]string `yaml:"title"`
	Minutes   int               `yaml:"minutes"`
	Upstreams []Upstream        `yaml:"upstreams"`
	Listeners []string          `yaml:"listeners"`
	Traffic   Traffic           `yaml:"traffic"`
	Params    ordered[Param]    `yaml:"params"`
	Steps     []string          `yaml:"steps"`
}

// FirstVersion is the param that every lab has: the number at which the
// control plane starts to count snapshots.
const FirstVersion = "first_version"

// idPattern is what ids of steps, checks and questions look like.
var idPattern = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)

// Load reads the lab in the folder dir of fsys, whose name is its id. The lab
// is nil when there are errors. It does not compile: Lint does.
func Load(fsys fs.FS, dir string) (*Lab, problem.List) {
	l := &loader{fsys: fsys, dir: dir}
	lab := l.lab()
	if len(l.problems.Errors()) > 0 {
		return nil, l.problems
	}
	return lab, l.problems
}

type loader struct {
	fsys     fs.FS
	dir      string
	problems problem.List
}

func (l *loader) lab() *Lab {
	var f labFile
	if !l.decode("lab.yaml", &f) {
		return nil
	}
	lab := &Lab{
		ID: path.Base(l.dir), Title: f.Title, Minutes: f.Minutes, Upstreams: f.Upstreams,
		Listeners: f.Listeners, Traffic: f.Traffic,
	}
	for _, p := range f.Params {
		p.value.name, p.value.line = p.name, p.line
		lab.params = append(lab.params, p.value)
	}
	l.checkParams(lab)
	raw, ok := l.read("snapshot.yaml")
	if !ok {
		return nil
	}
	lab.snapshot = string(raw)
	for i, id := range f.Steps {
		if !idPattern.MatchString(id) {
			l.fail("curriculum.id", problem.Place{File: "lab.yaml"}, problem.Args{"ID": id})
			continue
		}
		if s := l.step(lab, i+1, id); s != nil {
			lab.Steps = append(lab.Steps, s)
		}
	}
	if len(f.Steps) == 0 {
		l.fail("curriculum.missing", problem.Place{File: "lab.yaml"}, problem.Args{"What": "steps"})
	}
	lab.Content = l.content()
	return lab
}

func (l *loader) read(name string) ([]byte, bool) {
	raw, err := fs.ReadFile(l.fsys, path.Join(l.dir, name))
	if err != nil {
		l.fail("curriculum.file", problem.Place{File: name}, problem.Args{"File": name, "Error": err.Error()})
		return nil, false
	}
	return raw, true
}

// fail notes a problem; files are named from the folder of all labs.
func (l *loader) fail(code string, at problem.Place, args problem.Args) {
	at.File = path.Join(path.Base(l.dir), at.File)
	l.problems = append(l.problems, problem.New(code, args).At(at))
}

// content hashes names and contents of all files, so that a journal tells
// which lab it was made with.
func (l *loader) content() string {
	h := sha256.New()
	err := fs.WalkDir(l.fsys, l.dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := fs.ReadFile(l.fsys, name)
		fmt.Fprintf(h, "%s %d\n", strings.TrimPrefix(name, l.dir), len(raw))
		h.Write(raw)
		return err
	})
	if err != nil {
		l.fail("curriculum.file", problem.Place{}, problem.Args{"File": l.dir, "Error": err.Error()})
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Step finds a step by its id, its number or both ("nack", "3", "03-nack").
func (l *Lab) Step(name string) (*Step, bool) {
	for _, s := range l.Steps {
		if name == s.ID || name == s.file() || name == strconv.Itoa(s.Number) {
			return s, true
		}
	}
	return nil, false
}

// Next is the step behind one, nil behind the last.
func (l *Lab) Next(id string) *Step {
	for i, s := range l.Steps {
		if s.ID == id && i+1 < len(l.Steps) {
			return l.Steps[i+1]
		}
	}
	return nil
}

// StepIDs lists the ids of the steps in order.
func (l *Lab) StepIDs() []string {
	out := make([]string, 0, len(l.Steps))
	for _, s := range l.Steps {
		out = append(out, s.ID)
	}
	return out
}
