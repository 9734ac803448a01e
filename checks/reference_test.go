package checks

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"strings"
	"testing"

	"cel.dev/cel-go/cel"
)

// reference is the page that lists the language, made from its tables and from
// the comments of model.go.
const reference = "../docs/checks.md"

// TestReference: the page says what the code does. LAB_UPDATE=1 writes it.
func TestReference(t *testing.T) {
	want := page(t)
	if os.Getenv("LAB_UPDATE") == "1" {
		if err := os.WriteFile(reference, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(reference)
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != want {
		t.Error("docs/checks.md is out of date: LAB_UPDATE=1 go test ./checks -run TestReference")
	}
}

const intro = `# The language of checks

Checks, diagnoses, conditions and the ` + "`${...}`" + ` in a lab's texts are expressions in
[CEL](https://cel.dev) over the evidence of a run. They are compiled with types:
` + "`lab dev lint`" + ` finds a misspelt field, variable or function before anybody runs it.

- Only what happened in the step that is open is listed; an event before it is at
  most a baseline (` + "`rise`, `endpoints_before`, `accepted_before`" + `).
- Whatever goes wrong in an evaluation (a list is empty, a stat is not there, Envoy
  does not run) makes the check *cannot tell*, never a pass and never a fail. Ask
  ` + "`has(x.field)`" + ` or ` + "`size(list) > 0`" + ` first where "not there" is an answer.
- Hang a check on the deciding event: ` + "`acked(EDS).filter(...)`" + `, then
  ` + "`traffic_since(r.event)`" + `. Then the right act passes after a wrong one.
- No expression reads the text of a NACK: it differs between versions of Envoy, and
  between processes.
- Every snapshot sends every type again: ` + "`changed(r)`" + ` tells what is new in a response.
- Beside these words there is CEL's own standard library, ` + "`cel.bind`" + `, optional
  values, and the string, list and set extensions.

This page is made by a test from the tables in ` + "`checks/`" + `.

`

func page(t *testing.T) string {
	var b strings.Builder
	b.WriteString(intro)
	b.WriteString("## Variables\n\n| name | type | is |\n| --- | --- | --- |\n")
	row := func(name, kind, doc string) { fmt.Fprintf(&b, "| `%s` | %s | %s |\n", name, kind, doc) }
	for _, v := range variables {
		row(v.name, typeName(v.kind), v.doc)
	}
	row("param.NAME", "string or int", "a value that the seed of the run chose (lab.yaml)")
	row("answer.QUESTION", "string", "the last answer to a question of the step, \"\" for none; a hyphen of its id is an underscore here")
	row("CDS, EDS, LDS, RDS, SDS", "string", "the types; another one is named by its type URL")
	row("the names under let", "", "values of the step, computed when they are needed")
	b.WriteString("\n## Functions\n\n| call | gives | |\n| --- | --- | --- |\n")
	for _, f := range functions {
		var args []string
		for _, a := range f.args {
			args = append(args, typeName(a))
		}
		row(f.name+"("+strings.Join(args, ", ")+")", typeName(f.result), f.doc)
	}
	b.WriteString("\n## Types\n")
	modelTypes(t, &b)
	return b.String()
}

func typeName(t *cel.Type) string {
	s := strings.ReplaceAll(t.String(), "checks.", "")
	return strings.ReplaceAll(s, "google.protobuf.", "")
}

// modelTypes writes the fields of each type that expressions see, with the comments
// of model.go.
func modelTypes(t *testing.T, b *strings.Builder) {
	file, err := parser.ParseFile(token.NewFileSet(), "model.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range file.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.TYPE {
			continue
		}
		spec := g.Specs[0].(*ast.TypeSpec)
		fmt.Fprintf(b, "\n### %s\n\n%s\n| field | type | |\n| --- | --- | --- |\n", spec.Name.Name, oneLine(g.Doc.Text())+"\n")
		for _, f := range spec.Type.(*ast.StructType).Fields.List {
			if f.Tag == nil {
				continue
			}
			name := reflect.StructTag(strings.Trim(f.Tag.Value, "`")).Get("cel")
			fmt.Fprintf(b, "| `%s` | %s | %s |\n", name, goType(f.Type), oneLine(f.Comment.Text()))
		}
	}
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// goType names a field's type as CEL does.
func goType(e ast.Expr) string {
	switch x := e.(type) {
	case *ast.StarExpr:
		return goType(x.X)
	case *ast.ArrayType:
		return "list(" + goType(x.Elt) + ")"
	case *ast.MapType:
		return "map(" + goType(x.Key) + ", " + goType(x.Value) + ")"
	case *ast.SelectorExpr:
		return map[string]string{"Time": "Timestamp", "Duration": "Duration"}[x.Sel.Name]
	case *ast.Ident:
		switch x.Name {
		case "int64":
			return "int"
		case "any":
			return "dyn"
		}
		return x.Name
	}
	return "?"
}
