package web

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"lab/pkg/journal"
	"lab/pkg/words"
)

// frame is what a reader gets at once. What is absent has not changed.
type frame struct {
	Reset   bool         `json:"reset,omitempty"` // forget what you had
	Now     int64        `json:"now"`             // the session's clock; times are Unix milliseconds
	Rows    []rowView    `json:"rows,omitempty"`
	Marks   []markView   `json:"marks,omitempty"`
	Buckets []bucketView `json:"buckets,omitempty"`
	Hosts   *[]hostView  `json:"hosts,omitempty"`
}

// rowView is a line of the diagram. An arrow goes From one lane To another;
// where they are the same, it is a note in that lane.
type rowView struct {
	ID    int64  `json:"id"`
	At    int64  `json:"at"`
	Kind  string `json:"kind"`
	From  lane   `json:"from"`
	To    lane   `json:"to"`
	Mark  string `json:"mark,omitempty"`
	Label string `json:"label"`
	Up    string `json:"up,omitempty"` // which upstreams answered
	Say   string `json:"say"`          // the whole line for who does not see the arrow
}

type markView struct {
	ID   int64  `json:"id"`
	At   int64  `json:"at"`
	Kind string `json:"kind"`
	Text string `json:"text"` // a version, where there is room for it alone
	Say  string `json:"say"`
}

type bucketView struct {
	Second  int64       `json:"s"`
	Slowest float64     `json:"ms"`
	Groups  []groupView `json:"g"`
}

type groupView struct {
	Upstream string `json:"u"`
	Status   string `json:"c"`
	Failed   bool   `json:"f,omitempty"`
	Count    int    `json:"n"`
}

type hostView struct {
	Cluster  string `json:"cluster"`
	Address  string `json:"address"`
	State    string `json:"state"` // "healthy", "ejected", "other"
	Health   string `json:"health"`
	Ejected  int64  `json:"ejected,omitempty"`
	Earliest int64  `json:"earliest,omitempty"` // an estimate
	Latest   int64  `json:"latest,omitempty"`
}

// speaker puts the model into words of one language, for a learner who types
// lab before a command.
type speaker struct {
	w   *words.Words
	lab string
}

func (s speaker) t(id string, args map[string]any) string {
	all := map[string]any{"Lab": s.lab}
	maps.Copy(all, args)
	return s.w.T(id, all)
}

func (s speaker) frame(c changes, now time.Time) frame {
	f := frame{Reset: c.reset, Now: now.UnixMilli()}
	for _, r := range c.rows {
		f.Rows = append(f.Rows, s.row(r))
	}
	for _, m := range c.marks {
		f.Marks = append(f.Marks, markView{m.seq, m.at.UnixMilli(), m.kind, m.text, s.mark(m)})
	}
	for _, b := range c.buckets {
		f.Buckets = append(f.Buckets, viewBucket(b))
	}
	if c.hostsOn {
		hosts := []hostView{}
		for _, h := range c.hosts {
			hosts = append(hosts, s.host(h))
		}
		f.Hosts = &hosts
	}
	return f
}

// The marks of the diagram: no kind of message is told by colour alone.
var rowMarks = map[string]string{
	journal.Ack: "✔", journal.Nack: "✘", journal.Stale: "⊘", "withheld": "⊣", "refused": "✘",
	"failing": "✘", "requests": "✔", "ejected": "✘", "returned": "✔",
}

// arrows tells the direction of a message: true is from Envoy.
var arrows = map[string]bool{
	"response": false, "withheld": false, journal.Subscribe: true, journal.Resubscribe: true,
	journal.Ack: true, journal.Nack: true, journal.Stale: true, "stream-opened": true, "stream-closed": true,
}

func (s speaker) row(r row) rowView {
	v := rowView{ID: r.seq, At: r.at.UnixMilli(), Kind: r.kind, From: r.lane, To: r.lane, Mark: rowMarks[r.kind], Label: s.label(r)}
	fromEnvoy, arrow := arrows[r.kind]
	switch {
	case arrow && fromEnvoy:
		v.From, v.To = envoy, controlPlane
	case arrow:
		v.From, v.To = controlPlane, envoy
	case r.kind == "requests" || r.kind == "failing":
		v.From, v.To = client, envoy
		v.Up = counts(r.upstreams)
	case r.kind == "stranger-opened" || r.kind == "stranger-closed":
		v.From, v.To = controlPlane, controlPlane
	}
	a := map[string]any{"From": s.lane(v.From), "To": s.lane(v.To), "Label": strings.TrimSpace(v.Mark + " " + v.Label), "Upstreams": v.Up}
	switch {
	case v.Up != "":
		v.Say = s.t("page.say.requests", a)
	case v.From != v.To:
		v.Say = s.t("page.say.arrow", a)
	default:
		v.Say = s.t("page.say.note", a)
	}
	return v
}

// label is what stands on the arrow or in the lane.
func (s speaker) label(r row) string {
	a := map[string]any{"Type": r.typ, "Version": r.version, "Nonce": r.nonce, "Text": r.text,
		"Names": strings.Join(r.names, ", "), "Epoch": r.epoch, "Count": r.count, "Failed": r.failed, "Statuses": counts(r.statuses)}
	if r.kind == "withheld" {
		a["Text"] = s.reason(r.text)
	}
	id := "page.row." + r.kind
	if !s.w.Has(id) { // of a later journal
		return strings.TrimSpace(r.kind + " " + r.typ + " " + r.version)
	}
	label := s.t(id, a)
	if _, arrow := arrows[r.kind]; arrow && r.overlap {
		label = s.t("page.row.of-epoch", map[string]any{"Label": label, "Epoch": r.epoch})
	}
	return label
}

func (s speaker) reason(r string) string {
	if id := "page.withheld." + r; s.w.Has(id) {
		return s.t(id, nil)
	}
	return short(r)
}

func (s speaker) mark(m mark) string {
	switch m.kind {
	case "snapshot":
		return s.t("page.mark.snapshot", map[string]any{"Version": m.text})
	case "nack":
		return s.t("page.mark.nack", map[string]any{"Version": m.text})
	}
	if id := "page.row." + m.text; s.w.Has(id) {
		return s.t(id, map[string]any{"Epoch": m.epoch, "Text": "", "Names": ""})
	}
	return m.text
}

func (s speaker) lane(l lane) string {
	switch l {
	case controlPlane:
		return s.t("page.lane.control-plane", nil)
	case envoy:
		return s.t("page.lane.envoy", nil)
	case upstream:
		return s.t("page.lane.upstreams", nil)
	case client:
	}
	return s.t("page.lane.client", nil)
}

// counts lists what was counted: "orders-1 ×14, orders-2 ×13".
func counts(m map[string]int) string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, k+" ×"+strconv.Itoa(m[k]))
	}
	return strings.Join(out, ", ")
}

func viewBucket(b bucket) bucketView {
	v := bucketView{Second: b.second, Slowest: b.slowest, Groups: []groupView{}}
	for g, n := range b.groups {
		v.Groups = append(v.Groups, groupView{g.Upstream, g.Status, g.Failed, n})
	}
	slices.SortFunc(v.Groups, func(a, b groupView) int {
		return strings.Compare(a.Upstream+" "+a.Status, b.Upstream+" "+b.Status)
	})
	return v
}

func (s speaker) host(h host) hostView {
	v := hostView{Cluster: h.cluster, Address: h.address, State: "healthy", Health: s.t("page.host.healthy", nil)}
	switch {
	case !h.ejected.IsZero():
		v.State, v.Health, v.Ejected = "ejected", s.t("page.host.ejected", nil), h.ejected.UnixMilli()
		if !h.earliest.IsZero() {
			v.Earliest, v.Latest = h.earliest.UnixMilli(), h.latest.UnixMilli()
		}
	case len(h.flags) > 0:
		v.State, v.Health = "other", strings.Join(h.flags, ", ")
	}
	return v
}
