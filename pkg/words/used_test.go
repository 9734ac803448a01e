package words

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// use is a place in the source that names a message.
type use struct {
	at      string // file:line
	id      string
	prefix  bool     // the rest of the id is computed
	problem bool     // id is the code of a problem
	given   []string // names of the values, nil where they are computed
	known   bool     // given is the whole list
}

// Every id and code that the source names has words, and gets every value that
// its words name.
func TestSourceHasItsWords(t *testing.T) {
	all := map[string]message{}
	for _, a := range areas(t) {
		for id, m := range area(t, a+".en.yaml") {
			all[id] = m
		}
	}
	uses := scan(t, "../..")
	if len(uses) < 50 {
		t.Fatalf("the scan found only %d uses: it looks in the wrong place", len(uses))
	}
	for _, u := range uses {
		for _, id := range u.ids() {
			m, ok := all[id]
			switch {
			case u.prefix && !slices.ContainsFunc(keys(all), func(k string) bool { return strings.HasPrefix(k, id) }):
				t.Errorf("%s: no id begins with %q", u.at, id)
			case u.prefix:
			case !ok:
				t.Errorf("%s: %s has no words", u.at, id)
			case u.known:
				for _, f := range fields(t, u.at, id, m["other"]) {
					if f != "Lab" && !slices.Contains(u.given, f) {
						t.Errorf("%s: %s names {{.%s}}, which is not given", u.at, id, f)
					}
				}
			}
		}
	}
}

func (u use) ids() []string {
	switch {
	case u.problem && u.prefix:
		return []string{"problem." + u.id}
	case u.problem:
		return []string{"problem." + u.id + ".what", "problem." + u.id + ".fix"}
	}
	return []string{u.id}
}

func keys(m map[string]message) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	return out
}

// scan reads every Go file of the module that is not a test.
func scan(t *testing.T, root string) []use {
	t.Helper()
	set := token.NewFileSet()
	var parsed []*ast.File
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && d.Name() != ".." && path != root) {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(set, path, nil, 0)
		if err != nil {
			return err
		}
		parsed = append(parsed, f)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	takers := codeTakers(parsed)
	var out []use
	for _, f := range parsed {
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
				out = append(out, usesIn(set, f.Name.Name, fn, takers)...)
			}
		}
	}
	return out
}

// taker is a function that makes a problem of a code that it is given.
type taker struct{ pkg, name string }

// codeTakers finds the functions that hand a parameter on to problem.New, with
// the place of that parameter.
func codeTakers(files []*ast.File) map[taker]int {
	out := map[taker]int{}
	for _, f := range files {
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil {
				continue
			}
			params := map[string]int{}
			for _, field := range fn.Type.Params.List {
				for _, n := range field.Names {
					params[n.Name] = len(params)
				}
			}
			ast.Inspect(fn.Body, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok || !isSelector(call.Fun, "problem", "New") {
					return true
				}
				if id, ok := call.Args[0].(*ast.Ident); ok {
					if i, ok := params[id.Name]; ok {
						out[taker{f.Name.Name, fn.Name.Name}] = i
					}
				}
				return true
			})
		}
	}
	return out
}

func usesIn(set *token.FileSet, pkg string, fn *ast.FuncDecl, takers map[taker]int) []use {
	var out []use
	add := func(n ast.Node, e ast.Expr, args []ast.Expr, problem bool) {
		for _, u := range literals(fn, e) {
			u.at, u.problem = set.Position(n.Pos()).String(), problem
			if len(args) == 1 {
				u.given, u.known = given(args[0])
			}
			if problem && !u.prefix || strings.Contains(u.id, ".") {
				out = append(out, u)
			}
		}
	}
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			i, taking := takers[taker{pkg, name(n.Fun)}]
			switch {
			case isSelector(n.Fun, "problem", "New"):
				add(n, n.Args[0], n.Args[1:], true)
			case taking && len(n.Args) > i:
				add(n, n.Args[i], n.Args[i+1:], true)
			case (name(n.Fun) == "T" || name(n.Fun) == "t") && len(n.Args) == 2:
				add(n, n.Args[0], n.Args[1:], false)
			}
		case *ast.KeyValueExpr: // problem.Problem{Code: "..."}
			if lit, ok := n.Value.(*ast.BasicLit); ok && name(n.Key) == "Code" && pkg == "problem" {
				add(n, lit, nil, true)
			}
		}
		return true
	})
	return out
}

// literals are the ids that an expression can have, as far as they are written
// down: "a.b", "a." + x, choose(c, "a.b", "a.c"), or a variable of the function.
func literals(fn *ast.FuncDecl, e ast.Expr) []use {
	switch e := e.(type) {
	case *ast.BasicLit:
		if s, err := strconv.Unquote(e.Value); err == nil && e.Kind == token.STRING {
			return []use{{id: s}}
		}
	case *ast.BinaryExpr:
		left := literals(fn, e.X)
		for i := range left {
			left[i].prefix = true
		}
		return left
	case *ast.CallExpr:
		var out []use
		for _, a := range e.Args {
			if lit, ok := a.(*ast.BasicLit); ok {
				out = append(out, literals(fn, lit)...)
			}
		}
		return out
	case *ast.Ident:
		return assigned(fn, e.Name)
	}
	return nil
}

func assigned(fn *ast.FuncDecl, variable string) []use {
	var out []use
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		a, ok := n.(*ast.AssignStmt)
		if !ok || len(a.Lhs) != len(a.Rhs) {
			return true
		}
		for i, l := range a.Lhs {
			if id, ok := l.(*ast.Ident); ok && id.Name == variable {
				if _, again := a.Rhs[i].(*ast.Ident); !again {
					out = append(out, literals(fn, a.Rhs[i])...)
				}
			}
		}
		return true
	})
	return out
}

// given are the names of the values of a map literal; false where they are not
// all written down.
func given(e ast.Expr) ([]string, bool) {
	if name(e) == "nil" {
		return nil, true
	}
	lit, ok := e.(*ast.CompositeLit)
	if !ok {
		return nil, false
	}
	var out []string
	for _, el := range lit.Elts {
		kv, ok := el.(*ast.KeyValueExpr)
		if !ok {
			return nil, false
		}
		key, ok := kv.Key.(*ast.BasicLit)
		if !ok {
			return nil, false
		}
		s, err := strconv.Unquote(key.Value)
		if err != nil {
			return nil, false
		}
		out = append(out, s)
	}
	return out, true
}

func name(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

func isSelector(e ast.Expr, pkg, sel string) bool {
	s, ok := e.(*ast.SelectorExpr)
	return ok && s.Sel.Name == sel && name(s.X) == pkg
}
