package snapshot

import (
	"bytes"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
	"google.golang.org/protobuf/reflect/protoreflect"

	"lab/pkg/problem"
)

// fieldByName finds a field by its JSON name (lbPolicy) or its proto name
// (lb_policy), as Envoy does.
func fieldByName(md protoreflect.MessageDescriptor, name string) protoreflect.FieldDescriptor {
	if fd := md.Fields().ByJSONName(name); fd != nil {
		return fd
	}
	return md.Fields().ByName(protoreflect.Name(name))
}

// isNull tells whether a node is YAML's null.
func isNull(n *yaml.Node) bool {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n.Kind == yaml.ScalarNode && readScalar(n).kind == null
}

// nullable fields take null as a value: google.protobuf.Value and NullValue.
func nullable(fd protoreflect.FieldDescriptor) bool {
	if fd.Enum() != nil {
		return fd.Enum().FullName() == "google.protobuf.NullValue"
	}
	return fd.Message() != nil && !fd.IsList() && fd.Message().FullName() == valueName
}

// holdsNull tells whether null may stand as one item of the field.
func holdsNull(fd protoreflect.FieldDescriptor) bool {
	return fd.Message() != nil && fd.Message().FullName() == valueName || fd.Enum() != nil && nullable(fd)
}

// holdsList tells whether a list may stand as one item of the field.
func holdsList(fd protoreflect.FieldDescriptor) bool {
	return fd.Message() != nil && (fd.Message().FullName() == valueName || fd.Message().FullName() == listName)
}

// last is the field that a message is about. The value field inside a wrapper
// never comes here: the walk reads a wrapper under the name of its outer field.
func (w *walker) last() string {
	name := ""
	for i := len(w.path) - 1; i >= 0; i-- {
		name = w.path[i] + name
		if w.path[i][0] != '[' {
			return name
		}
	}
	return name
}

// list is the field without the number of an item in it.
func (w *walker) list() string {
	for i := len(w.path) - 1; i >= 0; i-- {
		if w.path[i][0] != '[' {
			return w.path[i]
		}
	}
	return ""
}

// lineOf is the line of a node, for a message about another place.
func (w *walker) lineOf(n *yaml.Node) string {
	return strconv.Itoa(w.src.place(n.Line, n.Column).Line)
}

func index(i int) string { return "[" + strconv.Itoa(i) + "]" }

// isSensitive remembers what the descriptor's options say, since they are
// asked for each value.
func (w *walker) isSensitive(fd protoreflect.FieldDescriptor) bool {
	known, ok := w.sensitive[fd]
	if !ok {
		known = isSensitive(fd)
		w.sensitive[fd] = known
	}
	return known
}

// checkTab refuses a tab before a key: Envoy's YAML reader allows spaces only,
// the one used here is milder.
func (w *walker) checkTab(key *yaml.Node) {
	w.tabIn(key.Line, key.Column)
}

// checkTabAfter refuses a tab in the empty lines and comments that follow a
// plain scalar of a block, up to the column that the block is indented to:
// Envoy's YAML reader looks for more of the text there.
func (w *walker) checkTabAfter(value *yaml.Node, column int) {
	if value.Kind != yaml.ScalarNode || value.Style&quotedStyles != 0 || value.Value == "" {
		return
	}
	for line := value.Line + 1; line <= len(w.src.starts); line++ {
		text := strings.TrimLeft(w.src.line(line), " \t")
		if text != "" && text[0] != '#' || w.tabIn(line, column) {
			return
		}
	}
}

// tabIn reports a tab in the white space of a line, left of a column.
func (w *walker) tabIn(line, column int) bool {
	i := bytes.IndexByte(w.src.indent(line), '\t')
	if i < 0 || i >= column {
		return false
	}
	w.add(w.src.place(line, i+1), "syntax-tab", problem.Args{}, false)
	return true
}
