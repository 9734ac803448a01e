package checks

import (
	"fmt"
	"strings"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// Text is words with ${expressions} in them, compiled. A "$${" stands for "${".
type Text struct{ parts []part }

type part struct {
	words string
	expr  *Expr
}

// Text compiles a text.
func (r *Rules) Text(src Source) (*Text, []*CompileError) {
	c := compiler{rules: r}
	t := &Text{}
	rest, at := src.Text, 0
	for {
		i := strings.Index(rest, "${")
		if i < 0 {
			t.parts = append(t.parts, part{words: rest})
			return t, c.errors
		}
		if i > 0 && rest[i-1] == '$' {
			t.parts = append(t.parts, part{words: rest[:i-1] + "${"})
			rest, at = rest[i+2:], at+i+2
			continue
		}
		n := segment(rest[i+2:])
		where := src.at(at + i + 2)
		if n < 0 {
			c.fail(where, 1, 0, "the } of this ${ is missing")
			return t, c.errors
		}
		where.Text = rest[i+2 : i+2+n]
		e, _ := c.compile(where)
		t.parts = append(t.parts, part{words: rest[:i]}, part{expr: e})
		rest, at = rest[i+n+3:], at+i+n+3
	}
}

// at gives the place of a byte of a source.
func (s Source) at(offset int) Source {
	before := s.Text[:offset]
	if n := strings.Count(before, "\n"); n > 0 {
		s.Line += n
		s.Col = 1
		before = before[strings.LastIndexByte(before, '\n')+1:]
	}
	s.Col += len([]rune(before))
	return s
}

// segment gives the length of an expression up to its closing brace, -1
// without one. Braces and quotes within it are counted.
func segment(s string) int {
	depth, quote := 0, byte(0)
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case quote != 0:
			if c == '\\' {
				i++
			} else if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '{':
			depth++
		case c == '}' && depth > 0:
			depth--
		case c == '}':
			return i
		}
	}
	return -1
}

// gap stands where a segment has no value.
const gap = "(?)"

// Text fills a text in. A segment that has no value (what it speaks of did not
// happen) becomes (?).
func (s *Scope) Text(t *Text) string {
	var b strings.Builder
	for _, p := range t.parts {
		b.WriteString(p.words)
		if p.expr == nil {
			continue
		}
		v, err := s.String(p.expr)
		if err != nil {
			v = gap
		}
		b.WriteString(v)
	}
	return b.String()
}

// display writes a value for people.
func display(v any) (string, error) {
	switch x := v.(type) {
	case types.String:
		return string(x), nil
	case traits.Lister:
		var out []string
		for it := x.Iterator(); it.HasNext() == types.True; {
			one, err := display(it.Next())
			if err != nil {
				return "", err
			}
			out = append(out, one)
		}
		return strings.Join(out, ", "), nil
	case ref.Val:
		s := x.ConvertToType(types.StringType)
		if types.IsError(s) {
			return "", fmt.Errorf("%v cannot be written", x.Type())
		}
		return fmt.Sprint(s.Value()), nil
	}
	return fmt.Sprint(v), nil
}
