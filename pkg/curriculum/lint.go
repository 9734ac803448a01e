package curriculum

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/text/width"

	"lab/checks"
	"lab/pkg/problem"
)

// The limits of a step's text: a screen of 25 lines of 80 columns.
const (
	maxLines = 25
	maxWidth = 80
	rungs    = 3 // of hints: where to look, what is wrong now, almost the command
)

// belittling are words that tell a learner who is stuck that it is easy.
var belittling = regexp.MustCompile(`(?i)\b(just|simply|obviously)\b`)

// Lint gives everything that is wrong with a lab that loaded: expressions that
// do not compile, words that are missing or out of date, checks and diagnoses
// that no wrong solution names.
func (l *Lab) Lint() problem.List {
	t := &linter{lab: l}
	for _, lang := range Languages {
		if l.Title[lang] == "" {
			t.fail("curriculum.missing", "lab.yaml", 0, problem.Args{"What": "title." + lang})
		}
	}
	for _, s := range l.Steps {
		t.step(s)
	}
	return t.problems
}

type linter struct {
	lab      *Lab
	problems problem.List
}

func (t *linter) fail(code, file string, line int, args problem.Args) {
	t.problems = append(t.problems, problem.New(code, args).At(problem.Place{File: path.Join(t.lab.ID, file), Line: line}))
}

func (t *linter) step(s *Step) {
	_, errs := s.compiled()
	for _, e := range errs {
		p := problem.New("curriculum.expression", problem.Args{"Error": e.Message, "Expression": e.Source.Text})
		t.problems = append(t.problems, p.At(problem.Place{File: path.Join(t.lab.ID, e.Source.File), Line: e.Line, Col: e.Col}))
	}
	t.logic(s)
	for _, lang := range Languages {
		if w := s.words[lang]; w != nil {
			t.words(s, lang, w)
		}
	}
	t.solutions(s)
	t.acts(s, s.logicName(), s.Start.Acts)
	t.acts(s, s.logicName(), s.Start.After)
	t.startActs(s)
	t.conditions(s, s.logicName(), []string{s.Start.Until})
}

func (t *linter) logic(s *Step) {
	file := s.logicName()
	for _, n := range s.logic.Needs {
		if !slices.Contains(checks.Needs(), n) {
			t.fail("curriculum.need", file, 0, problem.Args{"Name": n})
		}
	}
	if len(s.logic.Checks) == 0 {
		t.fail("curriculum.missing", file, 0, problem.Args{"What": "checks"})
	}
	seen := map[string]bool{}
	id := func(name string) {
		if !idPattern.MatchString(name) || seen[name] {
			t.fail("curriculum.id", file, 0, problem.Args{"ID": name})
		}
		seen[name] = true
	}
	for _, c := range s.logic.Checks {
		id(c.ID)
		if (c.Question == "") == (c.Pass.s == "") {
			t.fail("curriculum.pass", file, c.Pass.line, problem.Args{"ID": c.ID})
		}
	}
	for _, d := range s.logic.Diagnoses {
		id(d.name)
	}
	seen = map[string]bool{}
	for _, q := range s.logic.Questions {
		id(q.ID)
		wellFormed := q.Kind == KindChoice && len(q.Choices) > 1 || (q.Kind == KindText || q.Kind == KindNumber) && len(q.Choices) == 0
		if !wellFormed || q.Prediction != (q.Actual.s != "") || q.Prediction == (q.Expect.s != "") {
			t.fail("curriculum.question", file, q.Expect.line, problem.Args{"ID": q.ID})
		}
	}
}

// words compares what the logic has with what a language has words for.
func (t *linter) words(s *Step, lang string, w *stepWords) {
	file := s.wordsName(lang)
	need := func(what string, have text) {
		if strings.TrimSpace(have.s) == "" {
			t.fail("curriculum.missing", file, 0, problem.Args{"What": what})
		}
	}
	need("title", text{s: w.Title})
	need("text", w.body)
	var ids []string
	for _, c := range s.logic.Checks {
		ids = append(ids, c.ID)
		have, _ := w.Checks.get(c.ID)
		need("checks."+c.ID+".expected", have.Expected)
		need("checks."+c.ID+".passed", have.Passed)
		need("checks."+c.ID+".not_yet", have.NotYet)
		var keys []string
		for _, u := range c.CannotTell {
			keys = append(keys, u.Because)
			b, _ := have.Because.get(u.Because)
			need("checks."+c.ID+".because."+u.Because, b)
		}
		unknown(t, file, "checks."+c.ID+".because.", have.Because, keys)
	}
	unknown(t, file, "checks.", w.Checks, ids)
	t.questions(s, file, w)
	ids = nil
	for _, d := range s.logic.Diagnoses {
		ids = append(ids, d.name)
		have, _ := w.Diagnoses.get(d.name)
		need("diagnoses."+d.name, have)
	}
	unknown(t, file, "diagnoses.", w.Diagnoses, ids)
	if len(w.Hints) != rungs {
		t.fail("curriculum.hints", file, 0, problem.Args{"Have": len(w.Hints), "Want": rungs})
	}
	t.translation(s, lang, w)
	t.style(file, w)
}

func (t *linter) questions(s *Step, file string, w *stepWords) {
	var ids []string
	for _, q := range s.logic.Questions {
		ids = append(ids, q.ID)
		have, _ := w.Questions.get(q.ID)
		if have.Ask.s == "" {
			t.fail("curriculum.missing", file, 0, problem.Args{"What": "questions." + q.ID + ".ask"})
		}
		if q.Prediction && have.After.s == "" {
			t.fail("curriculum.missing", file, 0, problem.Args{"What": "questions." + q.ID + ".after"})
		}
		unknown(t, file, "questions."+q.ID+".choices.", have.Choices, q.Choices)
		if n := len(have.Choices); n > 0 && n != len(q.Choices) {
			t.fail("curriculum.missing", file, 0, problem.Args{"What": "questions." + q.ID + ".choices"})
		}
	}
	unknown(t, file, "questions.", w.Questions, ids)
}

// unknown finds words for what the logic does not have.
func unknown[V any](t *linter, file, prefix string, have ordered[V], want []string) {
	for _, e := range have {
		if !slices.Contains(want, e.name) {
			t.fail("curriculum.unknown", file, e.line+1, problem.Args{"What": prefix + e.name})
		}
	}
}

// translation compares the hash of the English that a translation carries.
func (t *linter) translation(s *Step, lang string, w *stepWords) {
	english := s.words[Languages[0]]
	if lang == Languages[0] || english == nil {
		return
	}
	if want := englishHash(english.raw); w.Translates != want {
		t.fail("curriculum.outdated", s.wordsName(lang), 2, problem.Args{"Have": w.Translates, "Want": want})
	}
}

// style keeps texts calm and short.
func (t *linter) style(file string, w *stepWords) {
	check := func(x *text) {
		if at := belittling.FindStringIndex(x.s); at != nil {
			t.fail("curriculum.word", file, x.line+strings.Count(x.s[:at[0]], "\n"), problem.Args{"Word": x.s[at[0]:at[1]]})
		}
	}
	check(&w.body)
	w.each(check)
	lines := strings.Split(strings.TrimSpace(w.body.s), "\n")
	if len(lines) > maxLines {
		t.fail("curriculum.long", file, w.body.line, problem.Args{"Have": len(lines), "Want": maxLines})
	}
	for i, line := range lines {
		if columns(line) > maxWidth {
			t.fail("curriculum.wide", file, w.body.line+i, problem.Args{"Want": maxWidth})
		}
	}
}

// columns is the width of a line on a terminal: a Chinese character takes two.
func columns(line string) int {
	n := 0
	for _, r := range line {
		switch width.LookupRune(r).Kind() {
		case width.EastAsianWide, width.EastAsianFullwidth:
			n += 2
		default:
			n++
		}
	}
	return n
}
