package checks

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
)

// function is one of the language. An error of eval makes the check that
// called it tell nothing.
type function struct {
	name   string
	args   []*cel.Type
	result *cel.Type
	plain  bool // needs no evidence
	doc    string
	eval   func(*Evidence, []ref.Val) (any, error)
}

var functions = []function{
	{name: "responses", args: types1(cel.StringType), result: responsesType,
		doc: "the responses of a type sent in this step, with their answers",
		eval: func(ev *Evidence, a []ref.Val) (any, error) {
			return ev.responses(text(a[0]), func(*Response) bool { return true }), nil
		}},
	{name: "acked", args: types1(cel.StringType), result: responsesType,
		doc: "those that were acknowledged",
		eval: func(ev *Evidence, a []ref.Val) (any, error) {
			return ev.responses(text(a[0]), func(r *Response) bool { return r.Acked }), nil
		}},
	{name: "nacked", args: types1(cel.StringType), result: responsesType,
		doc: "those that were rejected: the answer has error_detail",
		eval: func(ev *Evidence, a []ref.Val) (any, error) {
			return ev.responses(text(a[0]), func(r *Response) bool { return r.Nacked }), nil
		}},
	{name: "accepted", args: types1(cel.StringType), result: cel.StringType,
		doc: "the version of a type that this Envoy accepted last, \"\" for none",
		eval: func(ev *Evidence, a []ref.Val) (any, error) {
			st, err := ev.current()
			return st.types[text(a[0])].version, err
		}},
	{name: "rejected", args: types1(cel.StringType), result: cel.StringType,
		doc: "the version of the last answered response of a type, where that was rejected; \"\" otherwise",
		eval: func(ev *Evidence, a []ref.Val) (any, error) {
			st, err := ev.current()
			return st.types[text(a[0])].rejected, err
		}},
	{name: "changed", args: types1(responseType), result: cel.ListType(resourceType),
		doc: "the resources of a response that its Envoy did not have with this content",
		eval: func(_ *Evidence, a []ref.Val) (any, error) {
			r, err := response(a[0])
			return r.changed(), err
		}},
	{name: "endpoints_before", args: types2(responseType, cel.StringType), result: stringsType,
		doc: "addresses of a Cluster in what the Envoy had accepted when it answered a response",
		eval: func(_ *Evidence, a []ref.Val) (any, error) {
			r, err := response(a[0])
			return r.before.endpoints(text(a[1])), err
		}},
	{name: "endpoints_after", args: types2(responseType, cel.StringType), result: stringsType,
		doc: "the same, once that response is accepted",
		eval: func(_ *Evidence, a []ref.Val) (any, error) {
			r, err := response(a[0])
			return r.before.with(r).endpoints(text(a[1])), err
		}},
	{name: "endpoints", args: types1(cel.StringType), result: stringsType,
		doc: "addresses of a Cluster in what this Envoy has accepted until now",
		eval: func(ev *Evidence, a []ref.Val) (any, error) {
			st, err := ev.current()
			return st.held.endpoints(text(a[0])), err
		}},
	{name: "clusters", result: stringsType,
		doc: "names of the Clusters that this Envoy has accepted until now",
		eval: func(ev *Evidence, _ []ref.Val) (any, error) {
			st, err := ev.current()
			names := []string{}
			for _, c := range st.held["CDS"] {
				names = append(names, c.Name)
			}
			return names, err
		}},
	{name: "hosts", args: types1(cel.StringType), result: stringsType,
		doc: "the hosts of a Cluster in this Envoy now (/clusters); none where the Cluster is not there",
		eval: func(ev *Evidence, a []ref.Val) (any, error) {
			st, err := ev.sampled()
			hosts, _ := at(st.hosts[text(a[0])], math.MaxInt64)
			return hosts, err
		}},
	{name: "hosts_at", args: types2(cel.StringType, cel.IntType), result: stringsType,
		doc: "the same as last read before an event of this step",
		eval: func(ev *Evidence, a []ref.Val) (any, error) {
			st, err := ev.sampled()
			hosts, _ := at(st.hosts[text(a[0])], integerOf(a[1]))
			return hosts, err
		}},
	{name: "stat", args: types1(cel.StringType), result: cel.IntType,
		doc: "a counter or gauge of this Envoy; an error where it is missing",
		eval: func(ev *Evidence, a []ref.Val) (any, error) {
			return ev.stat(text(a[0]), math.MaxInt64)
		}},
	{name: "rise", args: types1(cel.StringType), result: cel.IntType,
		doc: "how much it rose since this step was opened, or since this Envoy started",
		eval: func(ev *Evidence, a []ref.Val) (any, error) {
			return ev.rise(text(a[0]), ev.step.Event)
		}},
	{name: "rise_since", args: types2(cel.StringType, cel.IntType), result: cel.IntType,
		doc: "the same since an event of this step",
		eval: func(ev *Evidence, a []ref.Val) (any, error) {
			return ev.rise(text(a[0]), integerOf(a[1]))
		}},
	{name: "text", args: types1(cel.StringType), result: cel.StringType,
		doc: "a text readout of this Envoy (version_text); an error where it is missing",
		eval: func(ev *Evidence, a []ref.Val) (any, error) {
			st, err := ev.sampled()
			if err != nil {
				return nil, err
			}
			v, ok := at(st.texts[text(a[0])], math.MaxInt64)
			if !ok {
				return nil, fmt.Errorf("Envoy has no readout %q", text(a[0]))
			}
			return v, nil
		}},
	{name: "seen", args: types2(cel.StringType, cel.StringType), result: cel.BoolType,
		doc: "whether a text readout of this Envoy had a value at some time of this step",
		eval: func(ev *Evidence, a []ref.Val) (any, error) {
			st, err := ev.sampled()
			if err != nil {
				return nil, err
			}
			pts, ok := st.texts[text(a[0])]
			if !ok {
				return nil, fmt.Errorf("Envoy has no readout %q", text(a[0]))
			}
			for _, p := range pts {
				if !p.gone && p.value == text(a[1]) {
					return true, nil
				}
			}
			return false, nil
		}},
	{name: "read_as", args: types2(cel.StringType, cel.IntType), result: cel.BoolType,
		doc: "whether a counter or gauge of this Envoy had a value at some reading of this step",
		eval: func(ev *Evidence, a []ref.Val) (any, error) {
			st, err := ev.sampled()
			if err != nil {
				return nil, err
			}
			return slices.ContainsFunc(st.values[text(a[0])], func(p point[uint64]) bool {
				return p.event > ev.step.Event && !p.gone && int64(min(p.value, math.MaxInt64)) == integerOf(a[1])
			}), nil
		}},
	{name: "traffic_between", args: types2(cel.IntType, cel.IntType), result: windowType,
		doc: "steady traffic from one event of this step until another",
		eval: func(ev *Evidence, a []ref.Val) (any, error) {
			from, err := ev.moment(integerOf(a[0]))
			if err != nil {
				return nil, err
			}
			until, err := ev.moment(integerOf(a[1]))
			w := ev.step.traffic.between(from, until)
			return &w, err
		}},
	{name: "traffic_since", args: types1(cel.IntType), result: windowType,
		doc: "steady traffic from an event of this step until now",
		eval: func(ev *Evidence, a []ref.Val) (any, error) {
			from, err := ev.moment(integerOf(a[0]))
			w := ev.step.traffic.between(from, moment{})
			return &w, err
		}},
	{name: "traffic_later", args: types2(cel.IntType, cel.DurationType), result: windowType,
		doc: "the same from a time after that event, at most 1 s",
		eval: func(ev *Evidence, a []ref.Val) (any, error) {
			from, err := ev.moment(integerOf(a[0]))
			d, _ := a[1].Value().(time.Duration)
			w := ev.step.traffic.between(moment{from.event, from.time.Add(d)}, moment{})
			return &w, err
		}},
	{name: "traffic_until_next_act", args: types1(cel.IntType), result: windowType,
		doc: "the same from the event, until the file, a part or a fault was changed again",
		eval: func(ev *Evidence, a []ref.Val) (any, error) {
			from, err := ev.moment(integerOf(a[0]))
			w := ev.step.traffic.between(from, ev.nextAct(from.event))
			return &w, err
		}},
	{name: "values", args: types2(cel.DynType, cel.StringType), result: cel.ListType(cel.DynType), plain: true,
		doc: "what stands under a field name in a body, at any depth",
		eval: func(_ *Evidence, a []ref.Val) (any, error) {
			return valuesOf(a[0].Value(), text(a[1])), nil
		}},
	{name: "same", args: types2(cel.StringType, cel.StringType), result: cel.BoolType, plain: true,
		doc:  "whether an answer says the same as a right one, whatever its case, width and quotes",
		eval: func(_ *Evidence, a []ref.Val) (any, error) { return same(text(a[0]), text(a[1])), nil }},
	{name: "span", args: types1(cel.DurationType), result: cel.StringType, plain: true,
		doc: "a duration for people: \"0.006 s\", \"12 s\", \"3 m 10 s\"",
		eval: func(_ *Evidence, a []ref.Val) (any, error) {
			d, _ := a[0].Value().(time.Duration)
			return span(d), nil
		}},
}

func types1(a *cel.Type) []*cel.Type    { return []*cel.Type{a} }
func types2(a, b *cel.Type) []*cel.Type { return []*cel.Type{a, b} }

// text and integerOf read arguments whose types the compiler has checked.
func text(v ref.Val) string {
	s, _ := v.(types.String)
	return string(s)
}

func integerOf(v ref.Val) int64 {
	n, _ := v.(types.Int)
	return int64(n)
}

func response(v ref.Val) (*Response, error) {
	switch r := v.Value().(type) {
	case *Response:
		return r, nil
	case Response:
		return &r, nil
	}
	return &Response{}, fmt.Errorf("no response: %T", v.Value())
}

func (ev *Evidence) responses(kind string, want func(*Response) bool) []*Response {
	out := []*Response{}
	for _, r := range ev.step.responses {
		if r.Type == kind && want(r) {
			out = append(out, r)
		}
	}
	return out
}

// current is the state of the Envoy that runs.
func (ev *Evidence) current() (*envoyState, error) {
	p := ev.envoy()
	if p == nil {
		return &envoyState{}, fmt.Errorf("no Envoy runs")
	}
	return ev.state(p), nil
}

// sampled is the same where its admin interface was read.
func (ev *Evidence) sampled() (*envoyState, error) {
	st, err := ev.current()
	if err == nil && !st.read {
		err = fmt.Errorf("Envoy's admin interface was not read yet")
	}
	return st, err
}

func (ev *Evidence) stat(name string, event int64) (int64, error) {
	st, err := ev.sampled()
	if err != nil {
		return 0, err
	}
	v, ok := at(st.values[name], event)
	if !ok {
		return 0, fmt.Errorf("Envoy has no stat %q", name)
	}
	return int64(min(v, math.MaxInt64)), nil
}

// rise counts from 0 where Envoy had no such counter yet, as at its start.
func (ev *Evidence) rise(name string, since int64) (int64, error) {
	now, err := ev.stat(name, math.MaxInt64)
	if err != nil {
		return 0, err
	}
	st, _ := ev.sampled()
	was, _ := at(st.values[name], since)
	return now - int64(min(was, math.MaxInt64)), nil
}

// moment finds an event that traffic may be counted from.
func (ev *Evidence) moment(event int64) (moment, error) {
	t, ok := ev.timeOf(event)
	if !ok {
		return moment{}, fmt.Errorf("event %d is none of this step", event)
	}
	return moment{event, t}, nil
}

// lastAct is the last act of the step, or its opening.
func (ev *Evidence) lastAct() int64 {
	if n := len(ev.step.acts); n > 0 {
		return ev.step.acts[n-1]
	}
	return ev.step.Event
}

// nextAct is the first act after an event; its event is 0 where there is none.
func (ev *Evidence) nextAct(after int64) moment {
	for _, a := range ev.step.acts {
		if a > after {
			t, _ := ev.timeOf(a)
			return moment{a, t}
		}
	}
	return moment{}
}

func span(d time.Duration) string {
	switch s := d.Seconds(); {
	case s < 0:
		return "0 s"
	case s < 1:
		return strconv.FormatFloat(s, 'f', 3, 64) + " s"
	case s < 60:
		return strconv.Itoa(int(s)) + " s"
	case s < 3600:
		return fmt.Sprintf("%d m %d s", int(s)/60, int(s)%60)
	}
	return fmt.Sprintf("%d h %d m", int(d.Hours()), int(d.Minutes())%60)
}
