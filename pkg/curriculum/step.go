package curriculum

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"lab/checks"
	"lab/pkg/problem"
)

// Step is one step of a lab. It is safe for concurrent use, but for the
// evidence that calls take: the caller keeps it still meanwhile.
type Step struct {
	ID        string
	Number    int // from 1
	Questions []Question
	Start     Start
	Accepted  []Solution // acts that must pass
	Wrong     []Solution // acts that must not

	lab      *Lab
	logic    stepFile
	words    map[string]*stepWords // by language
	compiled func() (*compiled, []*checks.CompileError)
}

// Start rebuilds a step's beginning on a fresh snapshot.yaml.
type Start struct {
	Build bool   // also when the step before was passed; without it that file goes on
	Acts  []Act  // done before the step is opened
	Until string // a condition that must hold before it is opened; "" is none
	After []Act  // done once it is open
}

// stepFile is steps/NN-id.yaml.
type stepFile struct {
	Needs     []string       `yaml:"needs"`
	Params    ordered[text]  `yaml:"params"` // that the step's text names: name -> expression
	Let       ordered[text]  `yaml:"let"`
	Questions []questionFile `yaml:"questions"`
	Checks    []checkFile    `yaml:"checks"`
	Diagnoses ordered[text]  `yaml:"diagnoses"`
	Start     startFile      `yaml:"start"`
}

type checkFile struct {
	ID         string        `yaml:"id"`
	Pass       text          `yaml:"pass"`
	Question   string        `yaml:"question"` // instead of pass: its answer is right
	CannotTell []unknownFile `yaml:"cannot_tell"`
	Show       text          `yaml:"show"`
}

type unknownFile struct {
	When    text   `yaml:"when"`
	Because string `yaml:"because"`
	Settles bool   `yaml:"settles"`
}

type startFile struct {
	Build bool  `yaml:"build"`
	Acts  []Act `yaml:"acts"`
	Until text  `yaml:"until"`
	After []Act `yaml:"after"`
}

// compiled is a step that can grade.
type compiled struct {
	rules  *checks.Rules
	params map[string]*checks.Expr
	words  map[string]*compiledWords
}

// file is the base name of the step's files.
func (s *Step) file() string { return fmt.Sprintf("%02d-%s", s.Number, s.ID) }

// logicName is where the rules stand, from the lab's folder.
func (s *Step) logicName() string { return "steps/" + s.file() + ".yaml" }

func (l *loader) step(lab *Lab, number int, id string) *Step {
	s := &Step{ID: id, Number: number, lab: lab, words: map[string]*stepWords{}}
	ok := l.decode(s.logicName(), &s.logic)
	for _, lang := range Languages {
		if w := l.words(s, lang); w != nil {
			s.words[lang] = w
		}
	}
	if !ok {
		return nil
	}
	for _, q := range s.logic.Questions {
		s.Questions = append(s.Questions, q.question())
	}
	st := s.logic.Start
	s.Start = Start{Build: st.Build, Acts: st.Acts, Until: st.Until.s, After: st.After}
	s.Accepted = l.solutions("accepted/"+s.file(), false)
	s.Wrong = l.solutions("wrong/"+s.file(), true)
	s.compiled = sync.OnceValues(s.compile)
	return s
}

// compile compiles rules and words when the step is first used: a command that
// needs one step does not pay for the others.
func (s *Step) compile() (*compiled, []*checks.CompileError) {
	var ids []string
	for _, q := range s.logic.Questions {
		ids = append(ids, q.ID)
	}
	lang, err := checks.NewLanguage(s.lab.paramTypes(), ids)
	if err != nil {
		return nil, []*checks.CompileError{{Message: err.Error()}}
	}
	rules, errs := lang.Compile(s.definition())
	c := &compiled{rules: rules, params: map[string]*checks.Expr{}, words: map[string]*compiledWords{}}
	for _, p := range s.logic.Params {
		e, bad := rules.Expr(p.value.source(s.logicName()))
		c.params[p.name] = e
		errs = append(errs, bad...)
	}
	for lang, w := range s.words {
		cw, bad := w.compile(rules, s.wordsName(lang))
		c.words[lang] = cw
		errs = append(errs, bad...)
	}
	return c, errs
}

func (s *Step) definition() checks.Definition {
	file := s.logicName()
	def := checks.Definition{Needs: s.logic.Needs}
	for _, e := range s.logic.Let {
		def.Let = append(def.Let, checks.Named{Name: e.name, Expr: e.value.source(file)})
	}
	for _, c := range s.logic.Checks {
		rule := checks.CheckRule{ID: c.ID, Pass: c.Pass.source(file), Show: c.Show.source(file)}
		if c.Question != "" {
			rule.Pass = s.rightAnswer(c.Question)
		}
		for _, u := range c.CannotTell {
			rule.CannotTell = append(rule.CannotTell, checks.Unknown{When: u.When.source(file), Because: u.Because, Settles: u.Settles})
		}
		def.Checks = append(def.Checks, rule)
	}
	for _, e := range s.logic.Diagnoses {
		def.Diagnoses = append(def.Diagnoses, checks.Named{Name: e.name, Expr: e.value.source(file)})
	}
	for _, q := range s.logic.Questions {
		if q.Prediction {
			def.Predictions = append(def.Predictions, checks.Named{Name: q.ID, Expr: q.Actual.source(file)})
		}
	}
	return def
}

// Prepare compiles the step, so that its first use does not wait for it.
func (s *Step) Prepare() { s.compiled() }

// Moment is when and of what run a step is asked.
type Moment struct {
	Evidence *checks.Evidence
	Now      time.Time
	Values   Values
}

// use gives the compiled step. A lab that does not compile is a fault of ours:
// the lint stands before it.
func (s *Step) use() (*compiled, error) {
	c, errs := s.compiled()
	if len(errs) > 0 {
		return nil, fmt.Errorf("lab %s, step %s: %w", s.lab.ID, s.ID, errs[0])
	}
	return c, nil
}

func (s *Step) scope(c *compiled, m Moment) *checks.Scope {
	return c.rules.At(m.Evidence, checks.Input{Lab: s.lab.ID, Step: s.ID, Now: m.Now})
}

// Holds tells whether a condition holds, which may use the step's values. An
// error of its evaluation, such as a stat that is not there yet, means that it
// does not; one that does not compile is a problem.
func (s *Step) Holds(m Moment, condition string) (bool, error) {
	c, err := s.use()
	if err != nil {
		return false, err
	}
	e, errs := c.rules.Condition(checks.Source{Text: condition})
	if len(errs) > 0 {
		return false, problem.New("curriculum.expression", problem.Args{"Error": errs[0].Message, "Expression": condition})
	}
	holds, err := s.scope(c, m).Bool(e)
	return err == nil && holds, nil
}

// Params are the values of this run that the step's text names.
func (s *Step) Params(m Moment) (map[string]string, error) {
	c, err := s.use()
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	sc := s.scope(c, m)
	for name, e := range c.params {
		if v, err := sc.String(e); err == nil {
			out[name] = v
		}
	}
	return out, nil
}

// command puts the prefix of commands into a text.
func (v Values) command(s string) string { return strings.ReplaceAll(s, "{{.Lab}}", v.Command) }
