package checks

import (
	"errors"
	"fmt"
	"strings"

	"cel.dev/cel-go/cel"
)

// Source is an expression or a text as it stands in a file of the lab.
type Source struct {
	Text string
	File string
	Line int // of the first character, from 1; 0 unknown
	Col  int
}

// CompileError is what is wrong with a Source, and where.
type CompileError struct {
	Source  Source
	Line    int
	Col     int
	Message string
}

func (e *CompileError) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.Source.File, e.Line, e.Col, e.Message)
}

// Named is an expression with a name.
type Named struct {
	Name string
	Expr Source
}

// Definition is a step's rules as a lab writes them.
type Definition struct {
	Needs       []string // Need...; without one of them nothing can be told
	Let         []Named  // values by name, for all expressions that follow
	Checks      []CheckRule
	Diagnoses   []Named // in order; the first that holds is given
	Predictions []Named // question -> what happened, a string
}

// CheckRule is one check. It passes when Pass holds and none of CannotTell
// does.
type CheckRule struct {
	ID         string
	Pass       Source
	CannotTell []Unknown
	Show       Source // the evidence: a list of events; may be empty
}

// Unknown is a reason why a check cannot tell.
type Unknown struct {
	When    Source
	Because string // key of its words
	Settles bool   // evidence that comes by itself may end it
}

// Rules are a Definition, compiled. They are safe for concurrent use.
type Rules struct {
	lang        *Language
	env         *cel.Env
	needs       []string
	lets        map[string]*Expr
	checks      []check
	diagnoses   []namedExpr
	predictions []namedExpr
}

type namedExpr struct {
	name string
	*Expr
}

type check struct {
	id         string
	pass, show *Expr // show is nil where there is none
	unknown    []unknown
}

type unknown struct {
	*Expr
	because string
	settles bool
}

// Expr is a compiled expression.
type Expr struct {
	program cel.Program
	source  Source
}

// Compile compiles a step's rules and gives everything that is wrong with them.
func (l *Language) Compile(def Definition) (*Rules, []*CompileError) {
	r := &Rules{lang: l, env: l.env, needs: def.Needs, lets: map[string]*Expr{}}
	c := compiler{rules: r}
	for _, let := range def.Let {
		c.let(let)
	}
	for _, d := range def.Checks {
		k := check{id: d.ID, pass: c.expr(d.Pass, cel.BoolType)}
		for _, u := range d.CannotTell {
			k.unknown = append(k.unknown, unknown{c.expr(u.When, cel.BoolType), u.Because, u.Settles})
		}
		if d.Show.Text != "" {
			k.show = c.expr(d.Show, cel.ListType(cel.DynType))
		}
		r.checks = append(r.checks, k)
	}
	for _, d := range def.Diagnoses {
		r.diagnoses = append(r.diagnoses, namedExpr{d.Name, c.expr(d.Expr, cel.BoolType)})
	}
	for _, p := range def.Predictions {
		r.predictions = append(r.predictions, namedExpr{p.Name, c.expr(p.Expr, cel.StringType)})
	}
	return r, c.errors
}

// Expr compiles an expression of any type that may use the rules' values.
func (r *Rules) Expr(src Source) (*Expr, []*CompileError) {
	c := compiler{rules: r}
	e := c.expr(src, cel.DynType)
	return e, c.errors
}

// Condition compiles one that gives a bool.
func (r *Rules) Condition(src Source) (*Expr, []*CompileError) {
	c := compiler{rules: r}
	e := c.expr(src, cel.BoolType)
	return e, c.errors
}

// compiler collects the errors of one compilation.
type compiler struct {
	rules  *Rules
	errors []*CompileError
}

// let compiles a value and declares it for what follows. One that does not
// compile is declared all the same, so that it is the only error.
func (c *compiler) let(n Named) {
	kind := cel.DynType
	e, out := c.compile(n.Expr)
	if e != nil {
		kind = out
	}
	c.rules.lets[n.Name] = e
	env, err := c.rules.env.Extend(cel.Variable(n.Name, kind))
	if err != nil {
		c.fail(n.Expr, 0, 0, err.Error())
		return
	}
	c.rules.env = env
}

func (c *compiler) expr(src Source, want *cel.Type) *Expr {
	e, got := c.compile(src)
	if e != nil && !got.IsAssignableType(want) && !want.IsAssignableType(got) {
		c.fail(src, 1, 0, fmt.Sprintf("gives %s, not %s", got, want))
	}
	return e
}

func (c *compiler) compile(src Source) (*Expr, *cel.Type) {
	parsed, iss := c.rules.env.Compile(src.Text)
	if err := iss.Err(); err != nil {
		for _, e := range iss.Errors() {
			c.fail(src, e.Location.Line(), e.Location.Column(), e.Message)
		}
		return nil, nil
	}
	p, err := c.rules.env.Program(parsed, cel.CostLimit(maxCost))
	if err != nil {
		c.fail(src, 1, 0, err.Error())
		return nil, nil
	}
	return &Expr{p, src}, parsed.OutputType()
}

// fail notes an error at a line (from 1) and a column (from 0) of the source.
func (c *compiler) fail(src Source, line, col int, message string) {
	e := &CompileError{Source: src, Line: src.Line + max(line, 1) - 1, Col: col + 1, Message: message}
	if line <= 1 {
		e.Col = src.Col + col
	}
	e.Message = strings.ReplaceAll(e.Message, "\n", " ")
	c.errors = append(c.errors, e)
}

var errNoRun = errors.New("the journal has no run")
