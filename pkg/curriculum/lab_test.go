package curriculum

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"lab/pkg/problem"
	"lab/pkg/words"
)

const ms = time.Millisecond

func hour(n int) time.Duration { return time.Duration(n) * time.Hour }

// changedSkeleton is the lab of Skeleton with one text of a file replaced.
func changedSkeleton(t *testing.T, file, old, text string) (*Lab, problem.List) {
	t.Helper()
	files, err := Skeleton()
	if err != nil {
		t.Fatal(err)
	}
	fsys := fstest.MapFS{}
	for name, raw := range files {
		if name == file {
			if !strings.Contains(string(raw), old) {
				t.Fatalf("%s has no %q", file, old)
			}
			raw = []byte(strings.Replace(string(raw), old, text, 1))
			if text == "-" {
				continue
			}
		}
		fsys["99-new/"+name] = &fstest.MapFile{Data: raw}
	}
	return Load(fsys, "99-new")
}

// TestSlips: each slip of an author is found, with its place.
func TestSlips(t *testing.T) {
	const logic, en, zh = "steps/01-first.yaml", "steps/01-first.en.md", "steps/01-first.zh.md"
	const right, wrong = "accepted/01-first/01-set.yaml", "wrong/01-first/another-value.yaml"
	for _, c := range []struct {
		file, old, text, code string
		line                  int
	}{
		{"lab.yaml", "minutes:", "minuets:", "curriculum.yaml", 4},
		{"lab.yaml", "minutes: 5", "minutes: [", "curriculum.yaml", 0},
		{"lab.yaml", "timeout: {integer: {min: 2, max: 9}}", "timeout: {integer: {min: 9, max: 2}}", "curriculum.param", 15},
		{"lab.yaml", "  first_version:", "  other_version:", "curriculum.missing", 0},
		{"lab.yaml", "steps: [first]", "steps: [first, second]", "curriculum.file", 0},
		{"lab.yaml", `  zh: "新的实验"`, "", "curriculum.missing", 0},
		{"snapshot.yaml", "resources", "-", "curriculum.file", 0},
		{logic, "size(right) > 0", "size(rigth) > 0", "curriculum.expression", 18},
		{logic, "size(edits) > 0", "size(edits)", "curriculum.expression", 27},
		{logic, "id: accepted", "id: Accepted", "curriculum.id", 0},
		{logic, "needs: [envoy,", "needs: [envoi,", "curriculum.need", 0},
		{logic, "    because: under-way", "    becase: under-way", "curriculum.yaml", 21},
		{logic, "    pass: size(right) > 0\n", "", "curriculum.pass", 0},
		{logic, "  until: accepted(CDS) != \"\"", "  until: acepted(CDS) != \"\"", "curriculum.expression", 0},
		{en, "---\n", "", "curriculum.front-matter", 1},
		{en, "    expected:", "    exepcted:", "curriculum.yaml", 5},
		{en, "${want}, new in", "${wnat}, new in", "curriculum.expression", 5},
		{en, "  nothing-sent:", "  nothing-said:", "curriculum.unknown", 12},
		{en, "and save. Then:", "and simply save. Then:", "curriculum.word", 19},
		{en, "    {{.Lab}} check", "    {{.Lab}} check" + strings.Repeat(" and so on", 9), "curriculum.wide", 21},
		{en, "    {{.Lab}} check", strings.Repeat("    {{.Lab}} check\n", 30), "curriculum.long", 18},
		{en, "hints:\n", "hints:\n  - One more.\n", "curriculum.hints", 0},
		{zh, "translates: ", "translates: 0", "curriculum.outdated", 2},
		{zh, "然后：", strings.Repeat("然", 41), "curriculum.wide", 0},
		{right, "save: write", "save: loudly", "curriculum.act", 0},
		{right, "  - save: write\n", "", "curriculum.unsaved", 0},
		{right, "why:", "verdict: not yet\nwhy:", "", 0},
		{wrong, "check: accepted", "check: acepted", "curriculum.unknown", 0},
		{wrong, "diagnosis: another-value", "diagnosis: nothing-sent", "curriculum.unproved", 0},
		{wrong, "fails: {check: accepted, diagnosis: another-value}\n", "", "curriculum.solution", 0},
		{wrong, "  - save: write", "  - lab: [answer, x, \"${acepted}\"]\n  - save: write", "curriculum.expression", 0},
	} {
		lab, found := changedSkeleton(t, c.file, c.old, c.text)
		if lab != nil {
			found = append(found, lab.Lint()...)
		}
		ok := c.code == ""
		for _, p := range found {
			ok = ok || p.Code == c.code && (c.line == 0 || p.Place.Line == c.line)
			if strings.Contains(p.Error(), "<problem") || p.What(words.For("zh")) == p.Error() {
				t.Errorf("%s has no words: %v", p.Code, p)
			}
		}
		if !ok {
			t.Errorf("%s: %q for %q: no %s at line %d in:", c.file, c.text, c.old, c.code, c.line)
			for _, p := range found {
				t.Logf("  %s:%d: %s: %v", p.Place.File, p.Place.Line, p.Code, p)
			}
		}
	}
}

func TestParams(t *testing.T) {
	lab, err := Find("8")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]map[string]bool{}
	for seed := range int64(200) {
		p := lab.Params(seed)
		if !maps.Equal(p, lab.Params(seed)) {
			t.Fatal("the same seed gives other values")
		}
		for k, v := range p {
			if seen[k] == nil {
				seen[k] = map[string]bool{}
			}
			seen[k][v] = true
		}
	}
	for k, want := range map[string]int{"endpoint": 3, "nonce_of": 3, "first_version": 100, "edge": 100} {
		if len(seen[k]) < want {
			t.Errorf("%s has %d values in 200 runs", k, len(seen[k]))
		}
	}
}

func TestFind(t *testing.T) {
	for _, name := range []string{"08-xds", "08", "8"} {
		if lab, err := Find(name); err != nil || lab.ID != "08-xds" || lab.Content == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	var p *problem.Problem
	if _, err := Find("07"); !errors.As(err, &p) || p.Exit != problem.Usage {
		t.Error(err)
	}
	lab, _ := Find("08")
	for _, name := range []string{"nack", "3", "03-nack"} {
		if st, ok := lab.Step(name); !ok || st.Number != 3 {
			t.Error(name)
		}
	}
	last := lab.Steps[len(lab.Steps)-1]
	if _, ok := lab.Step("99"); ok || lab.Next(last.ID) != nil || lab.Next("nack").ID != "per-type" || !slices.Contains(lab.StepIDs(), "connect") {
		t.Error("steps")
	}
}

func TestAnswer(t *testing.T) {
	lab, _ := Find("08")
	connect, _ := lab.Step("connect")
	removal, _ := lab.Step("endpoint-removal")
	for _, c := range []struct {
		step                 *Step
		id, typed, want, bad string
	}{
		{connect, "first-type", "cds", "CDS", ""},
		{connect, "first-type", " ２ ", "EDS", ""},
		{connect, "first-type", "5", "", "curriculum.answer-choice"},
		{connect, "lds-waits", "放请求进来之前，Cluster 必须先就绪", "warming", ""},
		{connect, "lds-waits", "Its clusters must be ready before requests may come in.", "warming", ""},
		{connect, "version", "“４１２”", "412", ""},
		{connect, "version", " \"\" ", "", "curriculum.answer-empty"},
		{removal, "failures", "０", "0", ""},
		{removal, "failures", "none", "", "curriculum.answer-number"},
	} {
		q, ok := c.step.Question(c.id)
		if !ok {
			t.Fatal(c.id)
		}
		got, err := c.step.Answer(q, c.typed)
		code := ""
		if p := (*problem.Problem)(nil); errors.As(err, &p) {
			code = p.Code
		}
		if got != c.want || code != c.bad {
			t.Errorf("%s %q: %q %v", c.id, c.typed, got, err)
		}
	}
}

func TestEdit(t *testing.T) {
	const file = "a\nb # x\nc\n"
	for _, c := range []struct {
		act  Act
		want string
	}{
		{Act{DeleteLine: "# x"}, "a\nc\n"},
		{Act{Replace: &Replace{"b", "d"}}, "a\nd # x\nc\n"},
		{Act{Append: "e"}, "a\nb # x\nc\ne\n"},
		{Act{Write: "f\n"}, "f\n"},
		{Act{DeleteLine: "z"}, ""},
		{Act{Replace: &Replace{"\n", " "}}, ""},
	} {
		got, err := c.act.Edit(file)
		if got != c.want || (c.want == "") != errors.Is(err, ErrNotThere) {
			t.Errorf("%+v: %q, %v", c.act, got, err)
		}
	}
	if _, err := (Act{Save: SaveWrite}).Edit(file); err == nil {
		t.Error("a save edits")
	}
}

// TestSolutionText: what is told to people is complete, in both languages.
func TestSolutionText(t *testing.T) {
	lab, _ := Find("08")
	for _, step := range lab.Steps {
		at := step.ID
		if !simulated(step) {
			at = lab.Steps[0].ID
		}
		s := newSim(t, lab, at, 3)
		for _, lang := range Languages {
			text, err := step.Solution(lang, s.moment())
			if err != nil || text == "" || strings.ContainsAny(text, "{}<>$") || strings.Contains(text, "(?)") {
				t.Errorf("%s %s: %v\n%s", step.ID, lang, err, text)
			}
		}
	}
}

// BenchmarkCompile compiles all steps of a lab with both languages.
func BenchmarkCompile(b *testing.B) {
	lab, err := Find("08")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		for _, s := range lab.Steps {
			if _, errs := s.compile(); len(errs) > 0 {
				b.Fatal(errs[0])
			}
		}
	}
}
