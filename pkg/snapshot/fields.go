package snapshot

import (
	"go.yaml.in/yaml/v4"
	"google.golang.org/protobuf/reflect/protoreflect"

	"lab/pkg/problem"
)

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

// field reads one field of any shape.
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

// mapField reads a map field; a Struct is one as well.
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

// entry reads one entry of a map. A null value makes the entry all the same,
// with the default of its type.
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
