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

// leave ends what enter began; n is what it gave.
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

// place is language-neutral: it goes into messages of every language.
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

// pair is one entry of a mapping. value is nil where the key is repeated
// further down: Envoy does not read it.
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
