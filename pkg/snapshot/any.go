package snapshot

import (
	"strings"

	"go.yaml.in/yaml/v4"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"lab/pkg/problem"
)

// decodeLimit is how deep messages may nest when Envoy decodes the binary form
// (a Struct takes three levels for each of its own). Depth counts anew in an
// Any. checkFrom is a nesting in YAML below which nothing can be so deep.
const (
	decodeLimit = 100
	checkFrom   = decodeLimit/3 - 1
)

// any reads a google.protobuf.Any: a mapping with "@type" and the fields of
// that type. Envoy takes an empty mapping for an empty Any.
func (w *walker) any(at *yaml.Node, m protoreflect.Message) {
	n := w.enter(at)
	if n == nil {
		return
	}
	defer w.leave(n)
	if n.Kind != yaml.MappingNode {
		w.errorAt(at, "want-mapping", problem.Args{"Field": w.last(), "Type": "@type", "Got": got(n), "In": w.around()})
		return
	}
	pairs := w.pairs(n)
	url, mt := w.typeOf(at, pairs)
	if mt == nil {
		return
	}
	body := mt.New()
	if raw, ok := w.anyBody(at, n, pairs, body); ok {
		fields := m.Descriptor().Fields()
		m.Set(fields.ByName("type_url"), protoreflect.ValueOfString(url))
		m.Set(fields.ByName("value"), protoreflect.ValueOfBytes(raw))
	}
}

// anyBody reads the fields beside @type and gives the binary form of the
// message.
func (w *walker) anyBody(at, n *yaml.Node, pairs []pair, body protoreflect.Message) ([]byte, bool) {
	errors, depth, deepest := w.errors, w.depth, w.deepest
	w.deepest = depth
	defer func() { w.deepest = max(deepest, w.deepest) }()
	rest := pairs[:0:0]
	for _, p := range pairs {
		if p.name != "@type" && p.value != nil {
			rest = append(rest, p)
		}
	}
	if hasOwnForm(body.Descriptor()) {
		w.ownForm(rest, body)
	} else {
		w.fields(at, n, rest, body)
	}
	if w.errors > errors || w.stop() {
		return nil, false
	}
	raw, err := proto.MarshalOptions{Deterministic: true, AllowPartial: true}.Marshal(body.Interface())
	if err == nil && w.deepest-depth >= checkFrom {
		err = proto.UnmarshalOptions{RecursionLimit: decodeLimit, AllowPartial: true}.Unmarshal(raw, body.Type().New().Interface())
	}
	if err != nil {
		w.errorAt(at, "too-deep", nil)
		return nil, false
	}
	return raw, true
}

// ownForm reads a Duration, a Struct and their like, which stand under "value".
func (w *walker) ownForm(pairs []pair, body protoreflect.Message) {
	for _, p := range pairs {
		if p.name != "value" {
			w.errorAt(p.key, "unknown-field", problem.Args{
				"Field": p.name, "Suggest": "value", "Belongs": "", "Known": "", "In": w.where(),
			})
			continue
		}
		if isNull(p.value) && body.Descriptor().FullName() != valueName {
			continue
		}
		w.message(p.value, body)
	}
}

// typeOf finds the type that @type names, or reports why it can't.
func (w *walker) typeOf(at *yaml.Node, pairs []pair) (string, protoreflect.MessageType) {
	var p *pair
	for i := range pairs {
		if pairs[i].name == "@type" && pairs[i].value != nil {
			p = &pairs[i]
		}
	}
	if p == nil {
		if len(pairs) > 0 {
			w.errorAt(at, "type-missing", problem.Args{"Field": w.last(), "In": w.where(), "Suggest": w.guessType(pairs)})
		}
		return "", nil
	}
	v := p.value
	for v.Kind == yaml.AliasNode {
		v = v.Alias
	}
	s := scalar{}
	if v.Kind == yaml.ScalarNode {
		s = readScalar(v)
	}
	slash := strings.LastIndexByte(s.s, '/')
	name := s.s[slash+1:]
	switch {
	case s.kind != text || name == "":
		w.errorAt(p.value, "type-missing", problem.Args{"Field": w.last(), "In": w.where(), "Suggest": w.guessType(pairs)})
		return "", nil
	case slash <= 0:
		w.errorAt(p.value, "type-prefix", problem.Args{"Got": cut(s.s, 120), "Suggest": urlPrefix + name})
		return "", nil
	}
	mt, err := resolver{}.FindMessageByName(protoreflect.FullName(name))
	if err != nil || isOld(name) {
		w.unknownType(p.value, name)
		return "", nil
	}
	return s.s, mt
}
