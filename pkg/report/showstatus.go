package report

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"lab/pkg/problem"
	"lab/pkg/term/text"
)

// typeOrder is the order in which types are shown, that of make-before-break
// (Envoy docs, api-docs/xds_protocol, "Eventual consistency considerations").
var typeOrder = []string{"CDS", "EDS", "LDS", "RDS", "SDS"}

// none stands in a table where there is no version.
const none = "–"

// ShowStatus is the screen of `lab status`.
func ShowStatus(st Status, s Style) string {
	var b strings.Builder
	b.WriteString(s.statusTitle(st))
	b.WriteString(s.statusParts(st))
	b.WriteString("\n" + s.statusTypes(st.Types))
	for _, block := range []string{s.statusTrouble(st), s.statusTraffic(st.Traffic), s.statusUpstreams(st.Upstreams)} {
		if block != "" {
			b.WriteString("\n" + block)
		}
	}
	return b.String()
}

// statusTitle says where the learner is, and for how long the session has run.
func (s Style) statusTitle(st Status) string {
	number := 1 + slices.IndexFunc(st.Steps, func(x StepStatus) bool { return x.ID == st.Step })
	left := s.t("report.status.title", args{"Name": st.Lab, "Number": number, "Of": len(st.Steps)})
	up := s.t("report.status.up", args{"Duration": s.duration(seconds(st.UptimeSeconds))})
	return text.Ends(s.Paint.Bold(left), s.Paint.Dim(up), s.Width) + "\n"
}

// statusParts is a line for Envoy and one for the control plane. A part that is
// down shows nothing of its former life, which would read as if it went on.
func (s Style) statusParts(st Status) string {
	e, cp := st.Envoy, st.ControlPlane
	down := map[string]bool{}
	for _, d := range st.Down {
		down[d.Part] = true
	}
	envoy := s.t("report.status.envoy", args{"Version": e.Version, "Runtime": e.Runtime, "Epoch": e.Epoch, "State": envoyState(e)})
	var addrs []string
	for _, name := range sorted(e.Listeners) {
		addrs = append(addrs, text.CleanLine(e.Listeners[name]))
	}
	control := s.t("report.status.control-plane", args{"Pid": cp.Pid, "Address": cp.Address})
	link := s.t("report.status.not-connected", nil)
	if cp.Connected && cp.Since != nil {
		link = s.t("report.status.connected-since", args{"Time": s.inZone(*cp.Since).Format(time.TimeOnly)})
	} else if cp.Connected {
		link = s.t("report.status.connected", nil)
	}
	if down["envoy"] {
		envoy, addrs = s.Paint.Bad(s.t("report.status.down", nil)), nil
	}
	if down["control-plane"] {
		control, link = s.Paint.Bad(s.t("report.status.down", nil)), ""
	}
	lines := [][]string{{s.t("report.part.envoy", nil), envoy, strings.Join(addrs, " ")}}
	for _, o := range e.Others {
		lines = append(lines, []string{"", s.t("report.status.other-epoch", args{"Epoch": o.Epoch, "Pid": o.Pid}), ""})
	}
	rows := text.Columns(append(lines, []string{s.t("report.part.control-plane", nil), control, link}), 2, nil)
	out := strings.Join(rows, "\n") + "\n"
	if st.Page != "" {
		out += s.wrap(s.t("report.status.page", args{"URL": st.Page}), 0)
	}
	return out
}

func envoyState(e EnvoyStatus) string {
	if e.State == "" && e.Ready {
		return "LIVE"
	}
	return e.State
}

// statusTypes is the table of versions. The column of withheld versions stands
// there only when one is withheld.
func (s Style) statusTypes(types map[string]TypeState) string {
	head := []string{"", s.t("report.status.sent", nil), s.t("report.status.acked", nil), s.t("report.status.nacked", nil)}
	withheld := false
	for _, t := range types {
		withheld = withheld || t.Withheld != ""
	}
	if withheld {
		head = append(head, s.t("report.status.withheld", nil))
	}
	rows := [][]string{append(head, s.t("report.status.in-effect", nil))}
	for _, name := range orderedTypes(types) {
		t := types[name]
		row := []string{text.CleanLine(name), version(t.Sent), version(t.Acked), version(t.Nacked)}
		if t.Nacked != "" && t.Nacked == t.Sent {
			row[3] = s.Paint.Bad(row[3])
		}
		if withheld {
			row = append(row, version(t.Withheld))
		}
		rows = append(rows, append(row, version(t.InEffect)))
	}
	return strings.Join(text.Columns(rows, 3, map[int]bool{1: true, 2: true, 3: true, 4: true, 5: true}), "\n") + "\n"
}

// version is a version for a table cell: whatever a learner gave as
// version_info, on one line and short.
func version(v string) string {
	if v == "" {
		return none
	}
	return text.Cut(text.CleanLine(v), 12)
}

// orderedTypes puts the known types in their order and others behind them.
func orderedTypes[V any](types map[string]V) []string {
	out := sorted(types)
	rank := func(t string) int {
		if i := slices.Index(typeOrder, t); i >= 0 {
			return i
		}
		return len(typeOrder)
	}
	slices.SortStableFunc(out, func(a, b string) int { return rank(a) - rank(b) })
	return out
}

// statusTrouble is what needs a person, the part that is down first.
func (s Style) statusTrouble(st Status) string {
	var b strings.Builder
	for _, d := range st.Down {
		b.WriteString(s.statusDown(d))
	}
	if len(st.Down) == 0 && !st.ControlPlane.Connected {
		b.WriteString(s.marked(text.Open, s.t("report.status.retrying", nil)))
	}
	if r := st.Refused; r != nil {
		a := args{"File": r.File, "Line": r.Line, "Count": r.Problems, "Version": r.InForce}
		b.WriteString(s.marked(text.Fail, s.t("report.status.refused", a)))
		b.WriteString(s.wrap(s.t(pick(r.InForce == "", "report.status.refused-nothing", "report.status.refused-kept"), a), 2))
	}
	b.WriteString(s.fileProblems(st.FileProblems))
	for _, r := range st.Rejected {
		b.WriteString(s.rejection(r))
	}
	for _, w := range st.Withheld {
		b.WriteString(s.marked(text.Open, s.t(withheldID(w.Reason), args{"Type": w.Type, "Version": w.Version, "Names": w.Names, "Reason": w.Reason})))
	}
	for _, w := range st.Warming {
		b.WriteString(s.marked(text.Open, s.t("report.status.warming",
			args{"Type": w.Type, "Name": w.Name, "Duration": s.duration(seconds(w.Seconds)), "For": w.For})))
	}
	return b.String()
}

// fileProblems shows each with its line, as `lab snapshot lint` does. One whose
// code this lab does not know keeps its English text.
func (s Style) fileProblems(found []FileProblem) string {
	if len(found) == 0 {
		return ""
	}
	var out []*problem.Problem
	for _, fp := range found {
		p := &problem.Problem{Code: fp.Code, Args: problem.Args{}, Warning: fp.Warning}
		for k, v := range fp.Args {
			p.Args[k] = v
		}
		if !s.Words.Has("problem." + fp.Code + ".what") {
			p.Cause = errors.New(fp.Text)
		}
		out = append(out, p.At(problem.Place{File: fp.File, Line: fp.Line, Col: fp.Col, Source: fp.Source}))
	}
	return Problems(out, s)
}

// rejection is the line that must not be missed: who refused what, where it
// stands in the file, and what still serves.
func (s Style) rejection(r Rejection) string {
	a := args{"Type": r.Type, "Version": r.Version, "Nonce": r.Nonce, "Resource": r.Resource,
		"File": r.File, "Line": r.Line, "InEffect": r.InEffect, "Error": text.Cut(text.CleanLine(r.Error), maxError)}
	line := s.t("report.status.rejected", a)
	out := text.Wrap(s.Paint.Bad(line), s.Width, s.Paint.Mark(text.Fail)+" ", "  ") + "\n"
	if r.Source != "" {
		bar := text.PadLeft(strconv.Itoa(r.Line), gutter) + " | "
		out += s.Paint.Dim(bar) + text.Cut(text.Clean(strings.TrimRight(r.Source, "\r\n")), s.Width-len(bar)) + "\n"
	}
	if r.Error != "" {
		out += s.dim(s.t("report.says", a), 2)
	}
	return out + s.wrap(s.t(pick(r.InEffect == "", "report.status.rejected-first", "report.status.rejected-kept"), a), 2)
}

// maxError bounds how much of an error_detail is shown, in cells: Envoy may put
// a whole resource into it. `lab journal --raw` has all of it.
const maxError = 300

// statusDown says what is down, what that means for traffic, and the one command
// that brings it back.
func (s Style) statusDown(d Down) string {
	a := args{"Part": d.Part, "Exit": d.Exit, "Signal": d.Signal, "By": d.By, "Command": d.Command}
	what, meaning := "report.status.down.other", ""
	switch d.Part {
	case "envoy":
		what, meaning = "report.status.down.envoy", s.t("report.status.meaning.envoy", a)
	case "control-plane":
		what, meaning = "report.status.down.control-plane", s.t("report.status.meaning.control-plane", a)
	}
	out := s.marked(text.Fail, s.t(what, a))
	if meaning != "" {
		out += s.wrap(meaning, 2)
	}
	return out + s.wrap(s.t("report.status.back", a), 2)
}

// statusTraffic tells no traffic from good traffic: without a request nothing is
// known.
func (s Style) statusTraffic(t *Traffic) string {
	if t == nil || t.Seconds <= 0 {
		return ""
	}
	a := args{"Rate": rate(float64(t.Sent) / t.Seconds), "Failed": t.Failed, "Count": t.Sent, "Seconds": fmt.Sprintf("%.0f", t.Seconds)}
	switch {
	case t.Sent == 0:
		return s.marked(text.Open, s.t("report.status.traffic-none", a))
	case t.Failed > 0:
		return s.marked(text.Fail, s.t("report.status.traffic-failing", a))
	}
	return s.marked(text.Pass, s.t("report.status.traffic-ok", a))
}

// statusUpstreams lists the backends with their faults and ejections.
func (s Style) statusUpstreams(ups []UpstreamStatus) string {
	if len(ups) == 0 {
		return ""
	}
	var parts []string
	for _, u := range ups {
		a := args{"Name": u.Name, "Fault": u.Fault, "Rate": rate(u.Rate)}
		id := "report.status.upstream.serves"
		switch {
		case u.Ejected && u.BackIn != nil:
			id, a["Seconds"] = "report.status.upstream.back-in", fmt.Sprintf("%.1f", *u.BackIn)
		case u.Ejected:
			id = "report.status.upstream.ejected"
		}
		// A name and its state stay on one line.
		parts = append(parts, strings.ReplaceAll(s.t(id, a), " ", "\u00a0"))
	}
	return strings.ReplaceAll(s.wrap(strings.Join(parts, " · "), 0), "\u00a0", " ")
}

func pick(cond bool, yes, no string) string {
	if cond {
		return yes
	}
	return no
}

// rate is requests a second, with a decimal only where it matters.
func rate(r float64) string {
	if r >= 10 || r == 0 {
		return fmt.Sprintf("%.0f", r)
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", r), ".0")
}

func seconds(f float64) time.Duration { return time.Duration(f * float64(time.Second)) }

// duration is a length of time for a person: 0.4 s, 12 s, 3 m 10 s, 2 h 5 m.
func (s Style) duration(d time.Duration) string {
	d = max(d, 0)
	a := args{"H": int(d.Hours()), "M": int(d.Minutes()) % 60, "S": int(d.Seconds()) % 60, "Short": fmt.Sprintf("%.1f", d.Seconds())}
	switch {
	case d < 10*time.Second:
		return s.t("report.duration.short", a)
	case d < time.Minute:
		return s.t("report.duration.s", a)
	case d < time.Hour:
		return s.t("report.duration.ms", a)
	}
	return s.t("report.duration.hm", a)
}
