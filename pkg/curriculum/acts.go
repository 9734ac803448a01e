package curriculum

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"text/template"
	"time"

	"lab/checks"
	"lab/pkg/problem"
)

// Values are what a run chose; templates of snapshot.yaml and of acts read
// them: {{.Port "http"}}, {{.Param "endpoint"}}, {{.UpstreamPort "orders-1"}}.
type Values struct {
	Params    map[string]string
	Upstreams map[string]string // name -> "127.0.0.1:41001"
	Ports     map[string]int    // of Listeners, and of what lab serves to Envoy, by name
	Command   string            // prefix of commands that a learner types: "lab"
}

// Port is the port of a Listener.
func (v Values) Port(name string) (int, error) {
	p, ok := v.Ports[name]
	if !ok {
		return 0, fmt.Errorf("no port %q", name)
	}
	return p, nil
}

// Address is where Envoy reaches what lab serves to it: "127.0.0.1:41005".
func (v Values) Address(name string) (string, error) {
	p, err := v.Port(name)
	return "127.0.0.1:" + strconv.Itoa(p), err
}

// Param is a value that the seed chose.
func (v Values) Param(name string) (string, error) {
	p, ok := v.Params[name]
	if !ok {
		return "", fmt.Errorf("no param %q", name)
	}
	return p, nil
}

// UpstreamPort is the port of an upstream.
func (v Values) UpstreamPort(name string) (int, error) {
	_, port, _ := strings.Cut(v.Upstreams[name], ":")
	n, err := strconv.Atoi(port)
	if err != nil {
		return 0, fmt.Errorf("no upstream %q", name)
	}
	return n, nil
}

func (v Values) fill(s string) (string, error) {
	if !strings.Contains(s, "{{") {
		return s, nil
	}
	t, err := template.New("").Option("missingkey=error").Parse(s)
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, v); err != nil {
		return "", err
	}
	return b.String(), nil
}

// Snapshot is the file that a learner gets.
func (l *Lab) Snapshot(v Values) (string, error) {
	s, err := v.fill(l.snapshot)
	if err != nil {
		return "", fmt.Errorf("lab %s: snapshot.yaml: %w", l.ID, err)
	}
	return s, nil
}

// The ways to save.
const (
	SaveWrite   = "write"   // over the file
	SaveRename  = "rename"  // a new file takes its name
	SaveSymlink = "symlink" // the name becomes a link to a new file
	SaveAside   = "aside"   // into .snapshot.yaml.swp, as an editor does that was not told to save
)

// Act is one thing that a learner may do. Exactly one of its verbs is set.
//
// Edits change a buffer that begins as the file is; Save writes it. After a
// save other than aside, the one who acts waits until the journal has a
// reading of these bytes, unless the control plane is down.
type Act struct {
	DeleteLine string   `yaml:"delete_line,omitempty"` // the one line that contains this
	Replace    *Replace `yaml:"replace,omitempty"`
	Append     string   `yaml:"append,omitempty"` // behind the last line
	Write      string   `yaml:"write,omitempty"`  // the whole file
	Save       string   `yaml:"save,omitempty"`
	Lab        []string `yaml:"lab,omitempty"`     // a command, without its prefix
	Begin      []string `yaml:"begin,omitempty"`   // the same, and the next acts go on beside it; it is interrupted at the end
	Refused    []string `yaml:"refused,omitempty"` // the same, and it must end with a problem
	Kill       string   `yaml:"kill,omitempty"`    // SIGKILL by hand: "envoy", "old-envoy" (the epoch that drains), "control-plane"
	Wait       string   `yaml:"wait,omitempty"`    // until this condition holds
	// Within bounds a Wait; the default is 10 s. Running out of it is an error
	// of the one who acts, no verdict.
	Within time.Duration `yaml:"within,omitempty"`
}

// Replace puts one text in place of another that stands in the file once.
type Replace struct {
	Old string `yaml:"old"`
	New string `yaml:"new"`
}

// waitWithin bounds a wait that says nothing about it.
const waitWithin = 10 * time.Second

// verb names what the act does, "" when that is not exactly one thing.
func (a Act) verb() string {
	verb, n := "", 0
	for _, v := range []struct {
		name string
		set  bool
	}{
		{"delete_line", a.DeleteLine != ""}, {"replace", a.Replace != nil}, {"append", a.Append != ""},
		{"write", a.Write != ""}, {"save", a.Save != ""}, {"lab", len(a.Lab) > 0},
		{"begin", len(a.Begin) > 0}, {"refused", len(a.Refused) > 0}, {"kill", a.Kill != ""}, {"wait", a.Wait != ""},
	} {
		if v.set {
			verb = v.name
			n++
		}
	}
	if n != 1 {
		return ""
	}
	return verb
}

// edits tells whether the act changes the buffer.
func (a Act) edits() bool {
	switch a.verb() {
	case "delete_line", "replace", "append", "write":
		return true
	}
	return false
}

// SetsFault tells whether the act is the command that sets the fault of an
// upstream, and which.
func (a Act) SetsFault() (upstream, fault string, ok bool) {
	if len(a.Lab) == 4 && a.Lab[0] == "upstream" && a.Lab[1] == "set" {
		return a.Lab[2], a.Lab[3], true
	}
	return "", "", false
}

// RestartsEnvoy tells whether the act is a cold restart of Envoy.
func (a Act) RestartsEnvoy() bool {
	return len(a.Lab) == 2 && a.Lab[0] == "envoy" && a.Lab[1] == "restart"
}

// Fill puts the run's values in the act: first the templates, then, in the
// arguments of a command, the ${expressions}.
func (s *Step) Fill(a Act, m Moment) (Act, error) {
	var errs []error
	fill := func(t string) string {
		out, err := m.Values.fill(t)
		errs = append(errs, err)
		return out
	}
	a.DeleteLine, a.Append, a.Write, a.Wait = fill(a.DeleteLine), fill(a.Append), fill(a.Write), fill(a.Wait)
	if a.Replace != nil {
		a.Replace = &Replace{Old: fill(a.Replace.Old), New: fill(a.Replace.New)}
	}
	for _, command := range []*[]string{&a.Lab, &a.Begin, &a.Refused} {
		args := make([]string, 0, len(*command))
		for _, arg := range *command {
			v, err := s.segments(fill(arg), m)
			errs = append(errs, err)
			args = append(args, v)
		}
		*command = args
	}
	if a.Wait != "" && a.Within == 0 {
		a.Within = waitWithin
	}
	if err := errors.Join(errs...); err != nil {
		return a, fmt.Errorf("lab %s, step %s: act: %w", s.lab.ID, s.ID, err)
	}
	return a, nil
}

func (s *Step) segments(arg string, m Moment) (string, error) {
	if !strings.Contains(arg, "${") {
		return arg, nil
	}
	c, err := s.use()
	if err != nil {
		return "", err
	}
	t, bad := c.rules.Text(checks.Source{Text: arg})
	if len(bad) > 0 {
		return "", problem.New("curriculum.expression", problem.Args{"Error": bad[0].Message, "Expression": arg})
	}
	return s.scope(c, m).Text(t), nil
}

// ErrNotThere is why an edit cannot be done: the text that it speaks of is not
// in the file, or not once.
var ErrNotThere = errors.New("not there, or not once")

// Edit changes the text of the file as a filled act says, or gives
// ErrNotThere.
func (a Act) Edit(file string) (string, error) {
	switch a.verb() {
	case "write":
		return a.Write, nil
	case "append":
		return strings.TrimRight(file, "\n") + "\n" + strings.TrimRight(a.Append, "\n") + "\n", nil
	case "replace":
		if n := strings.Count(file, a.Replace.Old); n != 1 {
			return "", fmt.Errorf("%w: %q stands in the file %d times", ErrNotThere, a.Replace.Old, n)
		}
		return strings.Replace(file, a.Replace.Old, a.Replace.New, 1), nil
	case "delete_line":
		var kept []string
		n := 0
		for _, line := range strings.SplitAfter(file, "\n") {
			if strings.Contains(line, a.DeleteLine) {
				n++
				continue
			}
			kept = append(kept, line)
		}
		if n != 1 {
			return "", fmt.Errorf("%w: %d lines contain %q", ErrNotThere, n, a.DeleteLine)
		}
		return strings.Join(kept, ""), nil
	}
	return "", fmt.Errorf("act %q edits nothing", a.verb())
}
