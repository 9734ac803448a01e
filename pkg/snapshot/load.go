package snapshot

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strconv"
	"strings"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"go.yaml.in/yaml/v4"
	"google.golang.org/protobuf/reflect/protoreflect"

	"lab/pkg/problem"
)

// onPurpose is the line by which a learner says that an empty snapshot is
// meant. It is a comment, so that Envoy reads the same file.
var onPurpose = regexp.MustCompile(`(?m)^[ \t]*#[ \t]*lab:[ \t]*empty on purpose[ \t]*\r?$`)

// Load reads the text of a snapshot file; file is its name in problems. With
// any error in the list the set is nil; warnings come with a set. All problems
// are *problem.Problem with a place, in the order of the file.
func Load(file string, text []byte) (*Set, problem.List) {
	r := &reporter{src: newSource(file, nil)}
	sum := sha256.Sum256(text)
	set := &Set{SHA256: hex.EncodeToString(sum[:])}
	text, ok := clean(r, file, text)
	if !ok {
		return nil, r.done()
	}
	root, ok := parse(r, text)
	if !ok {
		return nil, r.done()
	}
	w := &walker{reporter: r, sensitive: map[protoreflect.FieldDescriptor]bool{}}
	if root != nil && !isNull(root) {
		w.response(root, set)
	}
	if r.errors == 0 && len(set.Resources) == 0 && !onPurpose.Match(text) {
		r.add(r.src.place(1, 1), "empty", nil, false)
	}
	if r.errors == 0 {
		w.seen.compare(w, set)
	}
	if r.errors > 0 {
		return nil, r.done()
	}
	return set, r.done()
}

// response reads the body of a DiscoveryResponse: two of its fields. The
// others belong to the wire, and the control plane writes them.
func (w *walker) response(root *yaml.Node, set *Set) {
	n := w.enter(root)
	if n == nil {
		return
	}
	defer w.leave(n)
	md := (&discoveryv3.DiscoveryResponse{}).ProtoReflect().Descriptor()
	w.owners = append(w.owners, md)
	if n.Kind != yaml.MappingNode {
		w.errorAt(root, "want-mapping", problem.Args{
			"Field": w.src.file, "Type": "version_info, resources", "Got": got(n), "In": w.around(),
		})
		return
	}
	names := map[protoreflect.Name]pair{}
	for _, p := range w.pairs(n) {
		if p.value == nil {
			continue
		}
		fd := fieldByName(md, p.name)
		if fd == nil {
			w.unknownField(p, md)
			continue
		}
		if other, ok := names[fd.Name()]; ok {
			w.errorAt(p.key, "same-field", problem.Args{
				"Key": p.name, "Other": other.name, "First": w.lineOf(other.key), "In": w.where(),
			})
			continue
		}
		names[fd.Name()] = p
		w.path = append(w.path[:0], string(fd.Name()))
		switch fd.Name() {
		case "version_info":
			w.version(p.value, fd, set)
		case "resources":
			w.resources(p.value, set)
		default:
			w.warnAt(p.key, "response-field", func() problem.Args { return problem.Args{"Field": p.name} })
		}
	}
}

// version reads version_info. An empty text is no version.
func (w *walker) version(at *yaml.Node, fd protoreflect.FieldDescriptor, set *Set) {
	if isNull(at) {
		return
	}
	if v, ok := w.value(at, fd); ok {
		set.Version = v.String()
		set.Explicit = set.Version != ""
	}
}

// resources reads the list, or what Envoy takes for one.
func (w *walker) resources(at *yaml.Node, set *Set) {
	if isNull(at) {
		return
	}
	n := w.enter(at)
	if n == nil {
		return
	}
	defer w.leave(n)
	items := n.Content
	if n.Kind != yaml.SequenceNode {
		w.warnAt(at, "single", func() problem.Args { return problem.Args{"Field": "resources", "In": w.around()} })
		w.depth-- // the node is its own item
		w.resourceItem(at, set, map[string]int{})
		w.depth++
		return
	}
	lines := map[string]int{}
	for i, item := range items {
		if w.stop() {
			return
		}
		w.path = append(w.path[:0], "resources", index(i))
		w.resourceItem(item, set, lines)
	}
}

// resourceItem reads one resource. lines remembers where each name was first given.
func (w *walker) resourceItem(at *yaml.Node, set *Set, lines map[string]int) {
	n := w.enter(at)
	if n == nil {
		return
	}
	defer w.leave(n)
	defer func() { w.resource, w.hidden = "", false }()
	if n.Kind == yaml.MappingNode && len(n.Content) == 0 || isNull(at) {
		w.errorAt(at, "null-resource", problem.Args{"Got": got(n)})
		return
	}
	if n.Kind != yaml.MappingNode {
		w.errorAt(at, "want-mapping", problem.Args{"Field": w.last(), "Type": "@type", "Got": got(n), "In": w.around()})
		return
	}
	if label := labelOf(n); label != "" {
		w.resource, w.path = label, w.path[:0]
	}
	pairs := w.pairs(n)
	_, mt := w.typeOf(at, pairs)
	if mt == nil {
		return
	}
	md := mt.Descriptor()
	short, ok := served[md.FullName()]
	if !ok {
		w.errorAt(at, "not-served", problem.Args{"Type": string(md.FullName())})
		return
	}
	body := mt.New()
	w.seen.begin()
	raw, ok := w.anyBody(at, n, pairs, body)
	if !ok {
		return
	}
	res := Resource{
		Type: short, TypeURL: urlPrefix + string(md.FullName()), Name: nameOf(body), Message: body.Interface(),
		Line: w.src.place(at.Line, at.Column).Line, hidden: w.hidden || short == "SDS",
	}
	sum := sha256.Sum256(raw)
	res.Hash = hex.EncodeToString(sum[:8])
	key := res.TypeURL + " " + res.Name
	if res.Name == "" {
		w.errorAt(at, "unnamed", problem.Args{"Type": string(md.Name()), "Key": nameKey(md)})
		return
	}
	if line, ok := lines[key]; ok {
		w.errorAt(at, "duplicate-resource", problem.Args{"Resource": w.resource, "First": strconv.Itoa(line)})
		return
	}
	lines[key] = res.Line
	w.seen.end(w, at, n, res)
	set.Resources = append(set.Resources, res)
}

// labelOf names a resource before it is read: Cluster "orders". Without @type
// it is "".
func labelOf(n *yaml.Node) string {
	typ := child(n, nil, "@type")
	if typ == nil || typ.Kind != yaml.ScalarNode {
		return ""
	}
	label := cut(typ.Value[strings.LastIndexAny(typ.Value, "./")+1:], 60)
	if name := child(n, nil, "name", "cluster_name", "clusterName"); name != nil && name.Kind == yaml.ScalarNode {
		label += " " + strconv.Quote(cut(name.Value, 60))
	}
	return label
}
