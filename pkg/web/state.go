package web

import (
	"path/filepath"
	"slices"
	"strconv"

	"lab/checks"
	"lab/pkg/problem"
	"lab/pkg/report"
	"lab/pkg/term/text"
)

// stateView is what every part does now.
type stateView struct {
	Envoy        partView       `json:"envoy"`
	ControlPlane partView       `json:"control_plane"`
	Types        []typeView     `json:"types"`
	Troubles     []troubleView  `json:"troubles"`
	Upstreams    []upstreamView `json:"upstreams"`
	Steps        []stepMark     `json:"steps"`
}

type partView struct {
	OK   bool   `json:"ok"`
	Text string `json:"text"`
}

// typeView is a line of the table of versions.
type typeView struct {
	Type     string `json:"type"`
	Sent     string `json:"sent"`
	Acked    string `json:"acked"`
	Nacked   string `json:"nacked"`
	Withheld string `json:"withheld"`
	InEffect string `json:"in_effect"`
	Refused  bool   `json:"refused"` // what was sent last was rejected
}

// troubleView is something that needs a person.
type troubleView struct {
	Kind   string   `json:"kind"` // "fail", "open"
	Mark   string   `json:"mark"`
	Text   string   `json:"text"`
	Line   int      `json:"line,omitempty"` // of the file, with its source
	Source string   `json:"source,omitempty"`
	More   []string `json:"more,omitempty"`
}

type upstreamView struct {
	Name    string  `json:"name"`
	Address string  `json:"address"`
	Fault   string  `json:"fault"`
	Rate    float64 `json:"rate"` // requests a second
}

type stepMark struct {
	ID      string `json:"id"`
	State   string `json:"state"`
	Current bool   `json:"current"`
	Say     string `json:"say"` // its place, name and state
}

type stepView struct {
	ID        string     `json:"id"`
	Head      string     `json:"head"`
	Title     string     `json:"title"`
	HTML      string     `json:"html"` // of trusted Markdown, see markdown.go
	Questions []Question `json:"questions"`
}

type gradeView struct {
	Step      string      `json:"step"`
	Verdict   string      `json:"verdict"` // "passed", "not yet", "cannot tell"
	Text      string      `json:"text"`
	Next      string      `json:"next"` // what to do
	Missing   []string    `json:"missing"`
	Checks    []checkView `json:"checks"`
	Diagnosis string      `json:"diagnosis"`
}

type checkView struct {
	ID       string `json:"id"`
	Verdict  string `json:"verdict"`
	Mark     string `json:"mark"`
	Word     string `json:"word"`
	Text     string `json:"text"`     // what was seen
	Expected string `json:"expected"` // where it is not met
}

func (s speaker) state(st report.Status) *stateView {
	v := &stateView{Envoy: s.envoyPart(st), ControlPlane: s.controlPart(st), Types: []typeView{}, Upstreams: []upstreamView{}, Steps: []stepMark{}}
	for _, name := range []string{"CDS", "EDS", "LDS", "RDS", "SDS"} {
		if t, ok := st.Types[name]; ok {
			v.Types = append(v.Types, typeView{name, short(t.Sent), short(t.Acked), short(t.Nacked), short(t.Withheld), short(t.InEffect),
				t.Nacked != "" && t.Nacked == t.Sent})
		}
	}
	for _, u := range st.Upstreams {
		v.Upstreams = append(v.Upstreams, upstreamView{u.Name, u.Address, u.Fault, float64(int(u.Rate*10+0.5)) / 10})
	}
	for i, x := range st.Steps {
		say := s.t("page.step.mark", map[string]any{"Number": i + 1, "ID": x.ID, "State": s.t("page.state."+x.State, nil)})
		v.Steps = append(v.Steps, stepMark{x.ID, x.State, x.ID == st.Step, say})
	}
	v.Troubles = s.troubles(st)
	return v
}

func (s speaker) envoyPart(st report.Status) partView {
	if st.Envoy.Pid == 0 {
		return partView{false, s.t("report.status.down", nil)}
	}
	line := s.t("page.part.envoy", map[string]any{"Version": st.Envoy.Version, "Epoch": st.Envoy.Epoch, "Ready": st.Envoy.Ready})
	for _, o := range st.Envoy.Others {
		line += s.t("page.part.other-epoch", map[string]any{"Epoch": o.Epoch})
	}
	return partView{st.Envoy.Ready, line}
}

func (s speaker) controlPart(st report.Status) partView {
	switch cp := st.ControlPlane; {
	case cp.Pid == 0:
		return partView{false, s.t("report.status.down", nil)}
	case !cp.Connected:
		return partView{false, s.t("report.status.not-connected", nil)}
	}
	return partView{true, s.t("report.status.connected", nil)}
}

// troubles is what needs a person: the red line after a NACK among them, with
// who refused what, where it stands in the file, and what still serves.
func (s speaker) troubles(st report.Status) []troubleView {
	out := []troubleView{}
	for _, d := range st.Down {
		a := map[string]any{"Part": d.Part, "Exit": d.Exit, "Signal": d.Signal, "By": d.By}
		id := "report.status.down.other"
		if d.Part == "envoy" {
			id = "report.status.down.envoy"
		} else if d.Part == "control-plane" {
			id = "report.status.down.control-plane"
		}
		out = append(out, fail(s.t(id, a), s.t("page.back", map[string]any{"Command": d.Command})))
	}
	for _, r := range st.Rejected {
		out = append(out, s.rejection(r))
	}
	if r := st.Refused; r != nil {
		out = append(out, s.refused(*r, st.FileProblems))
	}
	for _, w := range st.Withheld {
		if slices.ContainsFunc(st.Rejected, func(r report.Rejection) bool { return r.Type == w.Type && r.Version == w.Version }) {
			continue // the red line says it
		}
		out = append(out, open(s.t("page.trouble.withheld", map[string]any{"Type": w.Type, "Version": short(w.Version), "Reason": s.reason(w.Reason)})))
	}
	for _, w := range st.Warming {
		out = append(out, open(s.t("page.trouble.warming", map[string]any{"Type": w.Type, "Name": short(w.Name), "For": short(w.For)})))
	}
	return out
}

func fail(line string, more ...string) troubleView {
	return troubleView{Kind: "fail", Mark: markOf("fail"), Text: line, More: more}
}

func open(line string) troubleView {
	return troubleView{Kind: "open", Mark: markOf("open"), Text: line}
}

// What is shown of an error_detail, in cells: Envoy may put a whole resource
// into it, and its reason stands at the end.
const (
	saysFirst = 60
	saysLast  = 180
)

func says(message string) string {
	line := text.CleanLine(message)
	if over := text.Width(line) - saysFirst - saysLast; over > 0 {
		return text.Cut(line, saysFirst) + " " + line[len(text.Cut(line, saysFirst+over))-len("…"):]
	}
	return line
}

func (s speaker) rejection(r report.Rejection) troubleView {
	a := map[string]any{"Type": r.Type, "Version": short(r.Version), "Nonce": short(r.Nonce), "Resource": short(r.Resource),
		"File": filepath.Base(r.File), "Line": r.Line, "InEffect": short(r.InEffect)}
	keeps := "page.trouble.keeps"
	if r.InEffect == "" {
		keeps = "page.trouble.keeps-none"
	}
	t := fail(s.t("report.status.rejected", a), s.t(keeps, a))
	if r.Error != "" {
		t.More = append(t.More, s.t("page.trouble.says", map[string]any{"Error": says(r.Error)}))
	}
	t.Line, t.Source = r.Line, short(r.Source)
	return t
}

func (s speaker) refused(r report.RefusedFile, problems []report.FileProblem) troubleView {
	t := fail(s.t("report.status.refused", map[string]any{"File": r.File, "Line": r.Line, "Count": r.Problems, "Version": r.InForce}))
	i := slices.IndexFunc(problems, func(p report.FileProblem) bool { return !p.Warning })
	if i < 0 {
		return t
	}
	p := problems[i]
	t.Line, t.Source = p.Line, short(p.Source)
	what, fix := p.Text, ""
	if id := "problem." + p.Code + ".what"; s.w.Has(id) {
		args := problem.Args{"Lab": s.lab}
		for k, v := range p.Args {
			args[k] = short(v)
		}
		known := &problem.Problem{Code: p.Code, Args: args}
		what, fix = known.What(s.w), known.Fix(s.w)
	}
	t.More = []string{s.t("page.trouble.place", map[string]any{"Line": p.Line, "Col": p.Col, "What": text.CleanLine(what)})}
	if fix != "" {
		t.More = append(t.More, text.CleanLine(fix))
	}
	return t
}

// markOf is the sign of a verdict or of a trouble.
func markOf(v string) string {
	switch v {
	case string(checks.Passed):
		return "✔"
	case string(checks.NotYet), "fail":
		return "✘"
	}
	return "?"
}

func (s speaker) step(st Step, qs []Question) (*stepView, error) {
	html, err := markdown(st.Text)
	if qs == nil {
		qs = []Question{}
	}
	return &stepView{st.ID, s.t("page.step.head", map[string]any{"Name": st.Lab, "Number": strconv.Itoa(st.Number), "Of": strconv.Itoa(st.Of)}), st.Title, html, qs}, err
}

func (s speaker) grade(r checks.Report) *gradeView {
	v := &gradeView{Step: r.Step, Verdict: string(r.Verdict), Text: s.verdict(r.Verdict), Checks: []checkView{}, Missing: []string{}}
	for _, m := range r.Missing {
		v.Missing = append(v.Missing, m.Text)
	}
	for _, c := range r.Checks {
		x := checkView{ID: c.ID, Verdict: string(c.Verdict), Mark: markOf(string(c.Verdict)), Word: s.verdict(c.Verdict), Text: text.CleanLine(c.Observed)}
		if c.Verdict != checks.Passed {
			x.Expected = text.CleanLine(c.Expected)
		}
		if len(r.Missing) > 0 { // what was observed is the missing thing, said already
			x.Text = ""
		}
		v.Checks = append(v.Checks, x)
	}
	if r.Diagnosis != nil {
		v.Diagnosis = text.CleanLine(r.Diagnosis.Text)
	}
	if r.Verdict == checks.Passed {
		v.Next = s.t("page.next.passed", nil)
	} else {
		v.Next = s.t("page.next.hint", nil)
	}
	return v
}

func (s speaker) verdict(v checks.Verdict) string {
	switch v {
	case checks.Passed:
		return s.t("report.verdict.passed", nil)
	case checks.NotYet:
		return s.t("report.verdict.not-yet", nil)
	case checks.CannotTell:
	}
	return s.t("report.verdict.cannot-tell", nil)
}
