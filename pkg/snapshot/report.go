package snapshot

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"lab/pkg/problem"
)

// maxProblems is how many errors, and how many warnings, one reading lists.
// Errors and warnings count apart, and the refusal hangs on the counter: a full
// list must never let a bad file pass.
const maxProblems = 50

// keyWords stand on lines that may hold a key, where a misspelt name around
// them keeps the walk from knowing. Such a line is not shown.
var keyWords = regexp.MustCompile(`(?i)private.?key|password|ticket.?key|generic.?secret`)

// reporter collects what is wrong with one file.
type reporter struct {
	src      *source
	list     problem.List
	errors   int
	warnings int
	secret   int // above 0 inside a value that must not be shown
}

// full tells that reading on would add nothing.
func (r *reporter) full() bool { return r.errors > maxProblems }

// errorAt reports an error at a node.
func (r *reporter) errorAt(n *yaml.Node, code string, args problem.Args) {
	r.add(r.src.place(n.Line, n.Column), code, args, false)
}

// warnAt asks for the words' values only where the warning will be listed: a
// file of aliases can bring the same warning a million times.
func (r *reporter) warnAt(n *yaml.Node, code string, args func() problem.Args) {
	if r.warnings >= maxProblems {
		r.warnings++
		return
	}
	r.add(r.src.place(n.Line, n.Column), code, args(), true)
}

// add reports a problem at any place. Beyond the limit it only counts.
func (r *reporter) add(at problem.Place, code string, args problem.Args, warning bool) {
	count := &r.errors
	if warning {
		count = &r.warnings
	}
	*count++
	if *count > maxProblems {
		return
	}
	if keyWords.MatchString(at.Source) {
		at.Source = ""
	}
	if r.secret > 0 {
		at.Source = ""
		for _, shown := range []string{"Got", "Quoted"} {
			if _, ok := args[shown]; ok {
				args[shown] = "***"
			}
		}
	}
	p := problem.New("snapshot."+code, args).At(at)
	p.Warning = warning
	r.list = append(r.list, p)
}

// done gives the list in file order, and says when it was cut.
func (r *reporter) done() problem.List {
	slices.SortStableFunc(r.list, func(a, b *problem.Problem) int {
		if d := a.Place.Line - b.Place.Line; d != 0 {
			return d
		}
		return a.Place.Col - b.Place.Col
	})
	if r.errors > maxProblems {
		last := r.list.Errors()[maxProblems-1].Place
		r.list = append(r.list, problem.New("snapshot.more", problem.Args{"Shown": fmt.Sprint(maxProblems)}).At(*last))
	}
	return r.list
}

// got shows a value in a problem, in a way that needs no translation.
func got(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "{…}"
	case yaml.SequenceNode:
		return "[…]"
	case yaml.AliasNode:
		return "*" + n.Value
	}
	if n.Style&quotedStyles == 0 && n.Value == "" {
		return "null"
	}
	first, _, more := strings.Cut(n.Value, "\n")
	if more {
		first += "…"
	}
	return cut(first, 60)
}
