package curriculum

import (
	"bytes"
	"errors"
	"fmt"
	"path"

	"go.yaml.in/yaml/v4"

	"lab/checks"
	"lab/pkg/problem"
)

// text is a scalar of a file with its place, for expressions and words.
type text struct {
	s         string
	line, col int
}

// UnmarshalYAML takes any scalar. The text of a block begins behind its "|".
func (t *text) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind != yaml.ScalarNode {
		return fmt.Errorf("line %d: a text must stand here", n.Line)
	}
	t.s, t.line, t.col = n.Value, n.Line, n.Column
	switch {
	case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		t.line, t.col = n.Line+1, 1
	case n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0:
		t.col++
	}
	return nil
}

func (t text) source(file string) checks.Source {
	return checks.Source{Text: t.s, File: file, Line: t.line, Col: t.col}
}

// ordered is a mapping whose order counts.
type ordered[V any] []entry[V]

type entry[V any] struct {
	name  string
	line  int
	value V
}

// UnmarshalYAML keeps the order of a mapping.
func (o *ordered[V]) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind != yaml.MappingNode {
		return fmt.Errorf("line %d: names with values must stand here", n.Line)
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		e := entry[V]{name: n.Content[i].Value, line: n.Content[i].Line}
		if seen[e.name] {
			return fmt.Errorf("line %d: %q stands here twice", e.line, e.name)
		}
		seen[e.name] = true
		if err := n.Content[i+1].Load(&e.value, yaml.WithKnownFields()); err != nil {
			return err
		}
		*o = append(*o, e)
	}
	return nil
}

// get finds an entry.
func (o ordered[V]) get(name string) (v V, ok bool) {
	for _, e := range o {
		if e.name == name {
			return e.value, true
		}
	}
	return v, false
}

// decode reads a file of the lab strictly.
func (l *loader) decode(name string, into any) bool {
	raw, ok := l.read(name)
	return ok && l.unmarshal(name, raw, 0, into)
}

// unmarshal reads YAML that begins after some lines of the file.
func (l *loader) unmarshal(name string, raw []byte, after int, into any) bool {
	err := yaml.Load(raw, into, yaml.WithKnownFields(), yaml.WithUniqueKeys(), yaml.WithSingleDocument())
	if err == nil {
		return true
	}
	lines := bytes.Split(raw, []byte("\n"))
	fail := func(line, col int, message string) {
		at := problem.Place{File: name, Line: line + after, Col: col}
		if line > 0 && line <= len(lines) {
			at.Source = string(lines[line-1])
		}
		l.fail("curriculum.yaml", at, problem.Args{"File": path.Base(name), "Error": message})
	}
	var many *yaml.LoadErrors
	var one *yaml.LoadError
	switch {
	case errors.As(err, &many):
		for _, e := range many.Errors {
			fail(e.Mark.Line, e.Mark.Column, e.Message)
		}
	case errors.As(err, &one):
		fail(one.Mark.Line, one.Mark.Column, one.Message)
	default:
		fail(0, 0, err.Error())
	}
	return false
}
