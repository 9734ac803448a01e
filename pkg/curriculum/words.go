package curriculum

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"

	"lab/checks"
	"lab/pkg/problem"
	"lab/pkg/words"
)

// Languages are those of a lab's texts; the first is the original.
var Languages = words.Languages

// stepWords is steps/NN-id.LANG.md: front matter, then the text.
type stepWords struct {
	Translates string                 `yaml:"translates"` // of a translation: see englishHash
	Title      string                 `yaml:"title"`
	Checks     ordered[checkWords]    `yaml:"checks"`
	Questions  ordered[questionWords] `yaml:"questions"`
	Diagnoses  ordered[text]          `yaml:"diagnoses"`
	Hints      []text                 `yaml:"hints"`

	body text
	raw  []byte
}

type checkWords struct {
	Expected text          `yaml:"expected"`
	Passed   text          `yaml:"passed"`
	NotYet   text          `yaml:"not_yet"`
	Because  ordered[text] `yaml:"because"`
}

type questionWords struct {
	Ask     text            `yaml:"ask"`
	Choices ordered[string] `yaml:"choices"`
	After   text            `yaml:"after"` // of a prediction, once the step is passed
}

// compiledWords are the texts of one language.
type compiledWords struct {
	body      *checks.Text
	checks    map[string]*checks.Text // "ID expected", "ID passed", "ID because KEY"
	questions map[string]*checks.Text // "ID ask", "ID after"
	diagnoses map[string]*checks.Text
	hints     []*checks.Text
}

func (s *Step) wordsName(lang string) string { return fmt.Sprintf("steps/%s.%s.md", s.file(), lang) }

// words reads a text file of a step. Its front matter stands between lines of
// three dashes.
func (l *loader) words(s *Step, lang string) *stepWords {
	name := s.wordsName(lang)
	raw, ok := l.read(name)
	if !ok {
		return nil
	}
	front, body, ok := bytes.Cut(bytes.TrimPrefix(raw, []byte("---\n")), []byte("\n---\n"))
	if !ok || !bytes.HasPrefix(raw, []byte("---\n")) {
		l.fail("curriculum.front-matter", problem.Place{File: name, Line: 1}, nil)
		return nil
	}
	w := &stepWords{raw: raw}
	if !l.unmarshal(name, front, 1, w) {
		return nil
	}
	w.shift(1) // the line of dashes
	body = bytes.TrimLeft(body, "\n")
	w.body = text{s: string(body), line: bytes.Count(raw[:len(raw)-len(body)], []byte("\n")) + 1, col: 1}
	return w
}

// englishHash is what a translation carries: 12 hex digits of the SHA-256 of
// the English file. It is out of date when they differ.
func englishHash(raw []byte) string {
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:6])
}

// shift moves the places of the front matter.
func (w *stepWords) shift(lines int) {
	w.each(func(t *text) { t.line += lines })
}

// each visits every text of the front matter.
func (w *stepWords) each(fn func(*text)) {
	for i := range w.Checks {
		c := &w.Checks[i].value
		for _, t := range []*text{&c.Expected, &c.Passed, &c.NotYet} {
			fn(t)
		}
		for j := range c.Because {
			fn(&c.Because[j].value)
		}
	}
	for i := range w.Questions {
		fn(&w.Questions[i].value.Ask)
		fn(&w.Questions[i].value.After)
	}
	for i := range w.Diagnoses {
		fn(&w.Diagnoses[i].value)
	}
	for i := range w.Hints {
		fn(&w.Hints[i])
	}
}

func (w *stepWords) compile(rules *checks.Rules, file string) (*compiledWords, []*checks.CompileError) {
	var errs []*checks.CompileError
	compile := func(t text) *checks.Text {
		out, bad := rules.Text(t.source(file))
		errs = append(errs, bad...)
		return out
	}
	c := &compiledWords{
		body: compile(w.body), checks: map[string]*checks.Text{},
		questions: map[string]*checks.Text{}, diagnoses: map[string]*checks.Text{},
	}
	for _, e := range w.Checks {
		maps.Copy(c.checks, map[string]*checks.Text{
			e.name + " expected": compile(e.value.Expected),
			e.name + " passed":   compile(e.value.Passed),
			e.name + " not yet":  compile(e.value.NotYet),
		})
		for _, b := range e.value.Because {
			c.checks[e.name+" because "+b.name] = compile(b.value)
		}
	}
	for _, e := range w.Questions {
		c.questions[e.name+" ask"], c.questions[e.name+" after"] = compile(e.value.Ask), compile(e.value.After)
	}
	for _, e := range w.Diagnoses {
		c.diagnoses[e.name] = compile(e.value)
	}
	for _, h := range w.Hints {
		c.hints = append(c.hints, compile(h))
	}
	return c, errs
}

// in gives the words of a language, English for one that is not there.
func (c *compiled) in(lang string) *compiledWords {
	if w, ok := c.words[lang]; ok {
		return w
	}
	return c.words[Languages[0]]
}

// Title is the step's name in a language.
func (s *Step) Title(lang string) string {
	if w, ok := s.words[lang]; ok {
		return w.Title
	}
	return s.words[Languages[0]].Title
}

// Text is what a learner reads, in Markdown.
func (s *Step) Text(lang string, m Moment) (string, error) {
	c, err := s.use()
	if err != nil {
		return "", err
	}
	return m.Values.command(s.scope(c, m).Text(c.in(lang).body)), nil
}

// Hints is how many rungs there are.
func (s *Step) Hints() int { return len(s.words[Languages[0]].Hints) }

// Hint is the hint of a rung from 1; a higher one than there is gives the
// last. Where a part is down, every hint tells of that.
func (s *Step) Hint(lang string, rung int, m Moment) (string, error) {
	c, err := s.use()
	if err != nil {
		return "", err
	}
	sc := s.scope(c, m)
	if missing, _ := sc.Missing(); len(missing) > 0 {
		return m.missing(lang, missing[0].ID), nil
	}
	hints := c.in(lang).hints
	rung = min(max(rung, 1), len(hints))
	return m.Values.command(sc.Text(hints[rung-1])), nil
}

// missing says what is not there, and what brings it back.
func (m Moment) missing(lang, id string) string {
	return words.For(lang).T("checks.missing."+id, map[string]any{"Lab": m.Values.Command})
}
