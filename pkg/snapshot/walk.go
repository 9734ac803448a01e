package snapshot

import (
	"strings"

	"go.yaml.in/yaml/v4"
	"google.golang.org/protobuf/reflect/protoreflect"

	"lab/pkg/problem"
)

// The limits of a walk. Envoy's JSON reader stops at 100 containers in one
// another; the budget is ours, against aliases that multiply (Envoy 1.40 gives
// no answer to such a file).
const (
	maxDepth  = 100
	maxValues = 2_000_000
)

// walker turns a YAML node tree into a message, by the rules of Envoy's reader
// (google.protobuf's C++ JSON parser in its legacy mode, behind yaml-cpp):
// looser than protojson in many ways, stricter in a few.
type walker struct {
	*reporter
	path      []string // from the resource down: "circuit_breakers", "thresholds", "[0]"
	resource  string   // Cluster "orders", for messages
	owners    []protoreflect.MessageDescriptor
	depth     int
	deepest   int // of depth, since the last Any began
	values    int
	open      []*yaml.Node // anchored nodes that the walk is inside of
	sensitive map[protoreflect.FieldDescriptor]bool
	hidden    bool // the resource holds a value that Envoy would not show
	seen      observer
}

// stop tells the loops that reading on would add nothing, or cost too much.
func (w *walker) stop() bool { return w.full() || w.values > maxValues }

// enter follows an alias, counts the value, and guards against depth, cycles
// and multiplied aliases. When it gives a node, leave must follow.
func (w *walker) enter(at *yaml.Node) *yaml.Node {
	n := at
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if !w.spend(at, 1+len(n.Content)) {
		return nil
	}
	if n.Kind == yaml.ScalarNode {
		return n
	}
	for _, o := range w.open {
		if o == n {
			w.errorAt(at, "alias-cycle", problem.Args{"Anchor": n.Anchor})
			return nil
		}
	}
	if w.depth >= maxDepth {
		w.errorAt(at, "too-deep", nil)
		return nil
	}
	w.depth++
	w.deepest = max(w.deepest, w.depth)
	if n.Anchor != "" {
		w.open = append(w.open, n)
	}
	return n
}

// spend counts values, each with what stands directly in it: nulls and repeated
// keys cost time without being entered.
func (w *walker) spend(at *yaml.Node, values int) bool {
	before := w.values
	w.values += values
	if before <= maxValues && w.values > maxValues {
		w.errorAt(at, "alias-budget", nil)
	}
	return !w.stop()
}

func (w *walker) leave(n *yaml.Node) {
	if n.Kind == yaml.ScalarNode {
		return
	}
	w.depth--
	if n.Anchor != "" {
		w.open = w.open[:len(w.open)-1]
	}
}

// where names the message that the walk is in: Cluster "orders", or further
// down Cluster "orders" (circuit_breakers.thresholds[0]).
func (w *walker) where() string { return w.place(w.path) }

// around names the message that has the field which the walk is in.
func (w *walker) around() string {
	i := len(w.path)
	for i > 0 && w.path[i-1][0] == '[' {
		i--
	}
	return w.place(w.path[:max(i-1, 0)])
}

func (w *walker) place(path []string) string {
	joined := strings.ReplaceAll(strings.Join(path, "."), ".[", "[")
	resource := w.resource
	if resource == "" {
		resource = "DiscoveryResponse"
	}
	if joined == "" {
		return resource
	}
	return resource + " (" + joined + ")"
}

// pair is one entry of a mapping.
type pair struct {
	key   *yaml.Node
	name  string
	value *yaml.Node
}

// pairs gives the entries of a mapping as Envoy sees them: of a repeated key
// the last one stands (and the first is not even read), a key tagged !ignore is
// skipped. A repeated key is a warning rather than an error since Envoy takes
// the file, in one way only, and a learner's copy of a working file must work.
func (w *walker) pairs(n *yaml.Node) []pair {
	out := make([]pair, 0, len(n.Content)/2)
	index := make(map[string]int, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if key.Tag == "!ignore" {
			continue
		}
		p := pair{key: key, value: n.Content[i+1]}
		k := key
		for k.Kind == yaml.AliasNode {
			k = k.Alias
		}
		if k.Kind != yaml.ScalarNode {
			w.errorAt(key, "key", problem.Args{"Got": got(k), "In": w.where()})
			continue
		}
		if p.name = k.Value; readScalar(k).kind == null {
			p.name = "null"
		}
		if n.Style&yaml.FlowStyle == 0 {
			w.checkTab(key)
			w.checkTabAfter(p.value, key.Column)
		}
		if first, ok := index[p.name]; ok {
			w.warnAt(key, "duplicate-key", func() problem.Args {
				return problem.Args{
					"Key": cut(p.name, 80), "In": w.where(), "First": w.lineOf(out[first].key),
				}
			})
			out[first].value = nil
		}
		index[p.name] = len(out)
		out = append(out, p)
	}
	return out
}

// message reads a node into a message. The caller has checked for null.
func (w *walker) message(at *yaml.Node, m protoreflect.Message) {
	if special := w.wellKnown(at, m); special {
		return
	}
	n := w.enter(at)
	if n == nil {
		return
	}
	defer w.leave(n)
	if n.Kind != yaml.MappingNode {
		w.errorAt(at, "want-mapping", problem.Args{
			"Field": w.last(), "Type": string(m.Descriptor().Name()), "Got": got(n), "In": w.around(),
		})
		return
	}
	w.fields(at, n, w.pairs(n), m)
}

// fields reads the entries of a mapping into the fields of a message.
func (w *walker) fields(at, n *yaml.Node, pairs []pair, m protoreflect.Message) {
	md := m.Descriptor()
	w.owners = append(w.owners, md)
	defer func() { w.owners = w.owners[:len(w.owners)-1] }()
	names := map[protoreflect.FieldNumber]pair{}
	oneofs := map[protoreflect.FullName]pair{}
	for _, p := range pairs {
		if p.value == nil {
			continue // an earlier one of a repeated key
		}
		if w.stop() {
			return
		}
		fd := fieldByName(md, p.name)
		if fd == nil {
			w.unknownField(p, md)
			continue
		}
		if other, ok := names[fd.Number()]; ok {
			w.errorAt(p.key, "same-field", problem.Args{
				"Key": cut(p.name, 80), "Other": cut(other.name, 80), "First": w.lineOf(other.key), "In": w.where(),
			})
			continue
		}
		names[fd.Number()] = p
		if o := fd.ContainingOneof(); o != nil && !o.IsSynthetic() && !isNull(p.value) {
			if other, ok := oneofs[o.FullName()]; ok {
				w.errorAt(p.key, "oneof", problem.Args{
					"Key": cut(p.name, 80), "Other": cut(other.name, 80), "First": w.lineOf(other.key), "In": w.where(),
				})
				continue
			}
			oneofs[o.FullName()] = p
		}
		w.field(p, fd, m)
	}
	w.seen.message(w, at, n, m)
}

func (w *walker) field(p pair, fd protoreflect.FieldDescriptor, m protoreflect.Message) {
	w.path = append(w.path, string(fd.Name()))
	defer func() { w.path = w.path[:len(w.path)-1] }()
	if w.isSensitive(fd) {
		w.hidden = true
		w.secret++
		defer func() { w.secret-- }()
	}
	switch {
	case isNull(p.value) && !nullable(fd):
		// Envoy leaves the field as it is.
	case fd.IsMap():
		w.mapField(p.value, fd, m)
	case fd.IsList():
		w.listField(p.value, fd, m.Mutable(fd).List(), true)
	default:
		w.singular(p.value, fd, m)
	}
}

// singular sets one field that is neither list nor map.
func (w *walker) singular(at *yaml.Node, fd protoreflect.FieldDescriptor, m protoreflect.Message) {
	if fd.Message() != nil {
		w.message(at, m.Mutable(fd).Message())
		return
	}
	if v, ok := w.value(at, fd); ok {
		m.Set(fd, v)
	}
}

// listField reads a list, and what Envoy takes in its place: one value alone,
// and lists inside the list, which it flattens.
func (w *walker) listField(at *yaml.Node, fd protoreflect.FieldDescriptor, list protoreflect.List, outer bool) {
	target := at
	for target.Kind == yaml.AliasNode {
		target = target.Alias
	}
	if target.Kind != yaml.SequenceNode {
		w.warnAt(at, "single", func() problem.Args { return problem.Args{"Field": w.list(), "In": w.around()} })
		w.item(at, fd, list)
		return
	}
	n := w.enter(at)
	if n == nil {
		return
	}
	defer w.leave(n)
	if !outer {
		w.warnAt(at, "nested-list", func() problem.Args { return problem.Args{"Field": w.list(), "In": w.around()} })
	}
	for i, item := range n.Content {
		if w.stop() {
			return
		}
		if n.Style&yaml.FlowStyle == 0 {
			w.checkTabAfter(item, n.Column)
		}
		w.path = append(w.path, index(i))
		w.item(item, fd, list)
		w.path = w.path[:len(w.path)-1]
	}
}

// item appends one value to a list.
func (w *walker) item(at *yaml.Node, fd protoreflect.FieldDescriptor, list protoreflect.List) {
	target := at
	for target.Kind == yaml.AliasNode {
		target = target.Alias
	}
	switch {
	case isNull(at) && !holdsNull(fd):
		w.warnAt(at, "null-item", func() problem.Args { return problem.Args{"Field": w.list(), "In": w.around()} })
		list.Append(list.NewElement())
	case target.Kind == yaml.SequenceNode && !holdsList(fd):
		w.listField(at, fd, list, false)
	case fd.Message() != nil:
		w.message(at, list.AppendMutable().Message())
	default:
		if v, ok := w.value(at, fd); ok {
			list.Append(v)
		}
	}
}

func (w *walker) mapField(at *yaml.Node, fd protoreflect.FieldDescriptor, m protoreflect.Message) {
	n := w.enter(at)
	if n == nil {
		return
	}
	defer w.leave(n)
	if n.Kind != yaml.MappingNode {
		w.errorAt(at, "want-mapping", problem.Args{"Field": w.last(), "Type": "map", "Got": got(n), "In": w.around()})
		return
	}
	entries := m.Mutable(fd).Map()
	for _, p := range w.pairs(n) {
		if p.value == nil {
			continue
		}
		if w.stop() {
			return
		}
		w.path = append(w.path, "["+cut(p.name, 40)+"]")
		w.entry(p, fd, entries)
		w.path = w.path[:len(w.path)-1]
	}
}

func (w *walker) entry(p pair, fd protoreflect.FieldDescriptor, entries protoreflect.Map) {
	key, ok := w.mapKey(p, fd.MapKey())
	if !ok {
		return
	}
	vd := fd.MapValue()
	if isNull(p.value) && !nullable(vd) {
		entries.Set(key, entries.NewValue())
		return
	}
	if vd.Message() != nil {
		w.message(p.value, entries.Mutable(key).Message())
		return
	}
	if v, ok := w.value(p.value, vd); ok {
		entries.Set(key, v)
	}
}
