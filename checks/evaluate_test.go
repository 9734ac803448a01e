package checks

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"lab/pkg/journal"
)

// grade evaluates rules of one check that always passes, with what is given.
func (b *book) grade(t testing.TB, def Definition) Report {
	t.Helper()
	if def.Checks == nil {
		def.Checks = []CheckRule{{ID: "c", Pass: Source{Text: "true"}}}
	}
	return rules(t, def).At(b.ev, Input{Lab: "l", Step: "s", Now: b.now}).Grade()
}

func TestVerdicts(t *testing.T) {
	for _, c := range []struct {
		check CheckRule
		want  Verdict
		why   string
	}{
		{CheckRule{Pass: Source{Text: "true"}}, Passed, ""},
		{CheckRule{Pass: Source{Text: "false"}}, NotYet, ""},
		{CheckRule{Pass: Source{Text: `stat("missing") > 0`}}, CannotTell, ""},
		{CheckRule{Pass: Source{Text: `snapshots[0].version == "1"`}}, CannotTell, ""},
		{CheckRule{Pass: Source{Text: "true"}, CannotTell: []Unknown{{When: Source{Text: "true"}, Because: "few"}}}, CannotTell, "few"},
		{CheckRule{Pass: Source{Text: "true"}, CannotTell: []Unknown{{When: Source{Text: `stat("missing") > 0`}, Because: "few"}}}, CannotTell, ""},
		{CheckRule{Pass: Source{Text: strings.Repeat("[1,2,3,4,5,6,7,8,9].all(a, ", 8) + "true" + strings.Repeat(")", 8)}}, CannotTell, ""}, // too dear
	} {
		b := newBook()
		b.open("s")
		b.stats(nil, nil)
		c.check.ID = "c"
		rep := b.grade(t, Definition{Checks: []CheckRule{c.check}})
		if rep.Verdict != c.want || rep.Checks[0].Verdict != c.want || rep.Checks[0].Because != c.why {
			t.Errorf("%.60s: %s %q, want %s %q", c.check.Pass.Text, rep.Verdict, rep.Checks[0].Because, c.want, c.why)
		}
		if c.want == CannotTell && c.why == "" && rep.Checks[0].Fault == nil {
			t.Errorf("%.60s: no fault", c.check.Pass.Text)
		}
	}
	if worse(CannotTell, NotYet) != NotYet || worse(Passed, CannotTell) != CannotTell {
		t.Error("what fails is known, whatever cannot be told")
	}
}

func TestMissing(t *testing.T) {
	all := Definition{Needs: []string{NeedEnvoy, NeedAdmin, NeedControlPlane, NeedConnection, NeedTraffic}}
	ready := func() *book {
		b := newBook()
		b.open("s")
		b.stats(nil, nil)
		b.probe(b.now, b.now, 1, 200, "orders-1")
		return b
	}
	for name, c := range map[string]struct {
		spoil func(*book)
		want  string
	}{
		"nothing":            {func(*book) {}, ""},
		"another step":       {func(b *book) { b.open("other") }, NeedStep},
		"envoy dead":         {func(b *book) { b.process("envoy", "exited", 3) }, NeedEnvoy},
		"session replaced":   {func(b *book) { b.process("session", "started", 9) }, NeedEnvoy},
		"admin silent":       {func(b *book) { b.note("admin-silent") }, NeedAdmin},
		"admin back":         {func(b *book) { b.note("admin-silent"); b.note("admin-back") }, ""},
		"control plane dead": {func(b *book) { b.process("control-plane", "exited", 2) }, NeedControlPlane},
		"no stream":          {func(b *book) { b.stream(2, 1, "closed") }, NeedConnection},
		"old traffic":        {func(b *book) { b.wait(recent) }, NeedTraffic},
	} {
		b := ready()
		c.spoil(b)
		rep := b.grade(t, all)
		got := ""
		if len(rep.Missing) > 0 {
			got = rep.Missing[0].ID
		}
		if got != c.want || (c.want != "") != (rep.Verdict == CannotTell) {
			t.Errorf("%s: missing %q, %s; want %q", name, got, rep.Verdict, c.want)
		}
	}
	if rep := New(); len(rules(t, all).At(rep, Input{Step: ""}).Grade().Missing) == 0 {
		t.Error("an empty journal passes")
	}
}

func (b *book) note(code string) {
	b.add(journal.Event{Source: journal.Session, Kind: journal.KindNote, Note: &journal.Note{Code: code, Args: map[string]string{"pid": "3", "epoch": "0"}}})
}

func TestDiagnosis(t *testing.T) {
	def := Definition{
		Checks:    []CheckRule{{ID: "c", Pass: Source{Text: "false"}}},
		Diagnoses: []Named{{"fails", Source{Text: `stat("missing") > 0`}}, {"no", Source{Text: "false"}}, {"first", Source{Text: "true"}}, {"second", Source{Text: "true"}}},
	}
	b := newBook()
	b.open("s")
	if rep := b.grade(t, def); rep.Diagnosis == nil || rep.Diagnosis.ID != "first" {
		t.Errorf("%+v", rep.Diagnosis)
	}
	def.Checks[0].Pass.Text = "true"
	if rep := b.grade(t, def); rep.Diagnosis != nil {
		t.Errorf("passed with %+v", rep.Diagnosis)
	}
}

func TestSettles(t *testing.T) {
	def := Definition{Checks: []CheckRule{{ID: "c", Pass: Source{Text: "false"},
		CannotTell: []Unknown{{When: Source{Text: "!settled"}, Because: "under-way", Settles: true}}}}}
	b := newBook()
	b.open("s")
	if b.grade(t, def).Settles {
		t.Error("nothing is under way")
	}
	b.loaded("2")
	if !b.grade(t, def).Settles {
		t.Error("a snapshot was loaded and not sent yet")
	}
	b.response("CDS", "2", "1")
	if !b.grade(t, def).Settles {
		t.Error("an answer is under way")
	}
	b.answer(journal.Ack, "CDS", "2", "1")
	if b.grade(t, def).Settles {
		t.Error("it was answered")
	}
}

func TestPredictions(t *testing.T) {
	def := Definition{Predictions: []Named{{"first-type", Source{Text: `"CDS"`}}}}
	say := func(b *book, v string) {
		b.add(journal.Event{Source: journal.Learner, Kind: journal.KindAnswer, Answer: &journal.Answer{Step: "s", Question: "first-type", Value: v, Prediction: true}})
	}
	b := newBook()
	b.open("s")
	if len(b.grade(t, def).Predictions) != 0 {
		t.Error("nothing was predicted")
	}
	say(b, " ＣＤＳ。")
	if p := b.grade(t, def).Predictions; len(p) != 1 || !p[0].Right || p[0].Late {
		t.Errorf("%+v", p)
	}
	b.loaded("2")
	say(b, "LDS")
	if p := b.grade(t, def).Predictions; len(p) != 1 || p[0].Right || !p[0].Late {
		t.Errorf("%+v", p)
	}
	b.open("other")
	b.open("s")
	if len(b.grade(t, def).Predictions) != 0 {
		t.Error("an answer from before the step counts")
	}
}

func TestEvidenceItems(t *testing.T) {
	b := newBook()
	b.open("s")
	sent := b.response("CDS", "2", "1")
	b.wait(5 * ms)
	acked := b.answer(journal.Ack, "CDS", "2", "1")
	rep := b.grade(t, Definition{Checks: []CheckRule{{ID: "c", Pass: Source{Text: "true"},
		Show: Source{Text: `[responses(CDS), responses(CDS)[0], requests[0].event, 0, 99999]`}}}})
	got := rep.Checks[0].Evidence
	if len(got) != 2 || got[0].Event != sent || got[1].Event != acked || !got[1].Time.Equal(begin.Add(5*ms)) {
		t.Errorf("%+v", got)
	}
	if rep := b.grade(t, Definition{Checks: []CheckRule{{ID: "c", Pass: Source{Text: "true"}, Show: Source{Text: "[snapshots[0]]"}}}}); rep.Verdict != Passed {
		t.Error("evidence that cannot be cited changes the verdict")
	}
}

// TestCompileErrors: a slip in an expression is found before anybody runs it.
func TestCompileErrors(t *testing.T) {
	l := language(t)
	for src, want := range map[string]string{
		`snapshots[0].versio == "1"`:  "undefined field 'versio'",
		`respones(CDS)`:               "undeclared reference to 'respones'",
		`responses(CSD)`:              "undeclared reference to 'CSD'",
		`responses(1)`:                "no matching overload",
		`param.endpont == ""`:         "undeclared reference to 'param.endpont'",
		`answer.last_type == ""`:      "undeclared reference to 'answer.last_type'",
		`size(snapshots)`:             "gives int, not bool",
		`evidence == evidence && tru`: "undeclared reference to 'tru'",
		`param.edge == "417"`:         "no matching overload",
		`true &&`:                     "Syntax error",
	} {
		_, errs := l.Compile(Definition{Checks: []CheckRule{{ID: "c", Pass: Source{Text: src, File: "f", Line: 7, Col: 11}}}})
		if len(errs) == 0 || !strings.Contains(errs[0].Message, want) || errs[0].Line != 7 || errs[0].Col < 11 {
			t.Errorf("%s: %v, want %s", src, errs, want)
		}
	}
}

func TestText(t *testing.T) {
	r := rules(t, Definition{Let: []Named{{"gone", Source{Text: `upstreams[param.endpoint]`}}}})
	b := newBook()
	b.open("s")
	for src, want := range map[string]string{
		"no segment":                       "no segment",
		"${gone} and ${param.edge + 1}":    "127.0.0.1:1002 and 418",
		`${{"a": "}"}["a"]} ${'}'}`:        "} }",
		"$${literal} ${[1, 2]}":            "${literal} 1, 2",
		`${snapshots[0].version} is a gap`: "(?) is a gap",
	} {
		text, errs := r.Text(Source{Text: src})
		if len(errs) > 0 {
			t.Fatal(src, errs)
		}
		if got := r.At(b.ev, Input{}).Text(text); got != want {
			t.Errorf("%s: %q, want %q", src, got, want)
		}
	}
	_, errs := r.Text(Source{Text: "line one\nand ${gone} then ${gon} here", File: "f", Line: 5, Col: 3})
	if len(errs) != 1 || errs[0].Line != 6 || errs[0].Col != 20 {
		t.Errorf("%+v", errs)
	}
	if _, errs := r.Text(Source{Text: "never ${ends"}); len(errs) != 1 {
		t.Error("a segment without an end compiles")
	}
}

func TestAnswers(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"412", " ４１２ ", true}, {"412", "“412”", true}, {"412", "0412", true}, {"CDS", "cds.", true}, {"all  types", "All types", true},
		{"412", "4120", false}, {"", "0", false}, {"-1", "1", false}, {"1", "1.0", false}, {"v1", "1", false}, {"'", "", true}, {"1e2", "100", false},
	} {
		if same(c.a, c.b) != c.want || same(c.b, c.a) != c.want {
			t.Errorf("%q and %q", c.a, c.b)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String().Draw(t, "s")
		if n := Normalise(s); Normalise(n) != n {
			t.Fatalf("%q: %q, then %q", s, n, Normalise(n))
		}
	})
}

// TestHostileJournal: a journal may come from anybody.
func TestHostileJournal(t *testing.T) {
	r := rules(t, Definition{Checks: []CheckRule{{ID: "c", Pass: Source{Text: `responses(CDS).exists(r, r.envoy.pid == 3 && size(changed(r)) > 0 && "x" in endpoints_after(r, "c"))
		|| hosts("c") == [] || stat("n") > 0 || seen("t", "x") || traffic_since(step.event).failed > 0 || settled`}}}})
	kinds := []journal.Kind{journal.KindRun, journal.KindStreamOpen, journal.KindRequest, journal.KindResponse, journal.KindSnapshotLoaded,
		journal.KindSnapshotRefused, journal.KindStats, journal.KindHosts, journal.KindProbe, journal.KindProcess, journal.KindStep, journal.KindNote}
	rapid.Check(t, func(t *rapid.T) {
		ev := New()
		pick := func(s ...string) string { return rapid.SampledFrom(s).Draw(t, "s") }
		n := func() int { return rapid.IntRange(0, 3).Draw(t, "n") }
		for i := range rapid.IntRange(0, 40).Draw(t, "events") {
			e := journal.Event{Seq: int64(i + 1), Time: begin.Add(time.Duration(n()) * time.Second), Kind: rapid.SampledFrom(kinds).Draw(t, "kind"),
				Source: journal.Source(pick("control-plane", "session"))}
			if n() > 0 {
				body := map[string]any{"endpoints": []any{1.0, map[string]any{"lb_endpoints": "x"}}, "load_assignment": nil, "eds_cluster_config": 3.0}
				e.Run, e.Step = &journal.Run{}, &journal.Step{ID: pick("s", "x"), State: pick("opened", "passed")}
				e.Stream = &journal.Stream{Pid: n(), ID: int64(n()), State: pick("opened", "closed")}
				e.Request = &journal.Request{Pid: n(), Stream: int64(n()), Type: pick("CDS", "EDS"), Class: pick("ack", "nack", "stale"), Nonce: pick("1", "2")}
				e.Response = &journal.Response{Pid: n(), Stream: int64(n()), Type: pick("CDS", "EDS"), Nonce: pick("1", "2"), Resources: []journal.Ref{{Name: "c", Hash: pick("a", "b")}}}
				e.Snapshot = &journal.Snapshot{Version: pick("1", "2"), Resources: []journal.Resource{{Type: "CDS", Name: "c", Hash: "a", Body: body}}}
				e.Stats = &journal.Stats{Pid: n(), Values: map[string]uint64{"n": 1}, Texts: map[string]string{"t": "x"}, Gone: []string{pick("n", "t", "z")}}
				e.Hosts = &journal.Hosts{Pid: n(), Cluster: "c", Gone: n() > 1}
				e.Probe = &journal.Probe{Name: "steady", Groups: []journal.ProbeGroup{{Count: -1}}}
				e.Process = &journal.Process{Role: pick("envoy", "control-plane", "session"), State: pick("started", "exited"), Pid: n()}
				e.Note = &journal.Note{Code: "admin-silent"}
			}
			ev.Fold(e)
		}
		r.At(ev, Input{Step: "s", Now: begin}).Grade()
	})
}

// BenchmarkGrade: a step with 10,000 events.
func BenchmarkGrade(b *testing.B) {
	book := newBook()
	book.open("s")
	two, twoRef := assignment("orders", "a1", 1001, 1002)
	one, oneRef := assignment("orders", "a2", 1001)
	c, cRef := cluster("orders", "c1", map[string]any{"type": "EDS"})
	book.loaded("0", c, two, one)
	for i := range 1250 {
		v := fmt.Sprint(i)
		book.wait(100 * ms)
		book.response("CDS", v, v+"c", cRef)
		book.answer(journal.Ack, "CDS", v, v+"c")
		ref := twoRef
		if i%2 == 1 {
			ref = oneRef
		}
		book.response("EDS", v, v+"e", ref)
		book.answer(journal.Ack, "EDS", v, v+"e")
		book.stats(map[string]uint64{"n": uint64(i)}, map[string]string{"v": v})
		book.hosts("orders", "127.0.0.1:1001")
		book.probe(book.now.Add(-90*ms), book.now, 3, 200, "orders-1")
		book.loaded(v + "x")
	}
	r := rules(b, Definition{
		Let: []Named{{"gone", Source{Text: `upstreams[param.endpoint]`}},
			{"removals", Source{Text: `(acked(CDS) + acked(EDS)).filter(r, gone in endpoints_before(r, "orders") && !(gone in endpoints_after(r, "orders")))`}},
			{"last", Source{Text: "removals[size(removals) - 1]"}}, {"since", Source{Text: "traffic_since(last.event)"}}},
		Checks: []CheckRule{{ID: "a", Pass: Source{Text: "size(removals) > 0"}, Show: Source{Text: "removals"}},
			{ID: "b", Pass: Source{Text: "since.failed == 0"}, Show: Source{Text: "[last, since]"}}},
	})
	if rep := r.At(book.ev, Input{Step: "s"}).Grade(); rep.Verdict != Passed {
		b.Fatalf("%+v", rep)
	}
	for b.Loop() {
		r.At(book.ev, Input{Step: "s"}).Grade()
	}
}

// BenchmarkFold tells the time for an event.
func BenchmarkFold(b *testing.B) {
	book := newBook()
	book.open("s")
	c, ref := cluster("orders", "c1", map[string]any{"type": "EDS"})
	book.loaded("0", c)
	start := len(book.events)
	for i := range 200 {
		v := fmt.Sprint(i)
		book.wait(100 * ms)
		book.response("CDS", v, v, ref)
		book.answer(journal.Ack, "CDS", v, v)
		book.stats(map[string]uint64{"n": uint64(i)}, nil)
		book.probe(book.now.Add(-90*ms), book.now, 3, 200, "orders-1")
		book.probe(book.now.Add(-90*ms), book.now, 3, 200, "orders-1")
	}
	events := book.events[start:]
	ev := New()
	for _, e := range book.events[:start] {
		ev.Fold(e)
	}
	i := 0
	for b.Loop() {
		if i%len(events) == 0 { // a step of a thousand events
			ev.Fold(journal.Event{Seq: 4, Kind: journal.KindStep, Step: &journal.Step{ID: "s", State: "opened"}})
		}
		ev.Fold(events[i%len(events)])
		i++
	}
}
