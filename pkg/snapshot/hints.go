package snapshot

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"lab/pkg/problem"
)

// maxKnown is how many names a problem lists when none of them is near.
const maxKnown = 12

// unknownField reports a key that its message does not have, with the nearest
// field, or the message around it that does have it (a slip of indentation).
func (w *walker) unknownField(p pair, md protoreflect.MessageDescriptor) {
	names := make([]string, 0, md.Fields().Len())
	for i := range md.Fields().Len() {
		fd := md.Fields().Get(i)
		names = append(names, string(fd.Name()))
		if w.isSensitive(fd) { // it may be the one that was meant
			w.secret++
			defer func() { w.secret-- }()
		}
	}
	args := problem.Args{"Field": cut(p.name, 80), "In": w.where(), "Suggest": "", "Belongs": "", "Known": ""}
	near := nearest(snake(p.name), names)
	belongs := w.ownerOf(p.name, md)
	switch {
	case p.name == "<<":
		w.errorAt(p.key, "merge-key", args)
		return
	case near != "" && distance(snake(p.name), near) <= 1, near != "" && belongs == "":
		args["Suggest"] = near
	case belongs != "":
		args["Belongs"] = belongs
	default:
		slices.Sort(names)
		args["Known"] = listed(names)
		if md.FullName() == "envoy.service.discovery.v3.DiscoveryResponse" {
			args["Known"] = "version_info, resources" // the other fields are not for a file
		}
	}
	w.errorAt(p.key, "unknown-field", args)
}

// ownerOf finds a message around this one, or one of its own fields, that has
// the field: "Cluster", "circuit_breakers".
func (w *walker) ownerOf(name string, md protoreflect.MessageDescriptor) string {
	for i := len(w.owners) - 2; i >= 0; i-- {
		if fieldByName(w.owners[i], name) != nil {
			return string(w.owners[i].Name())
		}
	}
	for i := range md.Fields().Len() {
		fd := md.Fields().Get(i)
		if fd.Message() != nil && !fd.IsMap() && !hasOwnForm(fd.Message()) && fieldByName(fd.Message(), name) != nil {
			return string(fd.Name())
		}
	}
	return ""
}

// unknownEnum reports a name that the enum does not have.
func (w *walker) unknownEnum(at, n *yaml.Node, ed protoreflect.EnumDescriptor) {
	names := make([]string, 0, ed.Values().Len())
	for i := range ed.Values().Len() {
		names = append(names, string(ed.Values().Get(i).Name()))
	}
	want := strings.ToUpper(strings.NewReplacer("-", "_", " ", "_").Replace(n.Value))
	if n.Kind != yaml.ScalarNode {
		want = ""
	}
	w.bad(at, n, "unknown-enum", problem.Args{"Suggest": nearest(want, names), "Known": enumNames(ed)})
}

// enumNames lists the values of an enum for a person.
func enumNames(ed protoreflect.EnumDescriptor) string {
	names := make([]string, 0, ed.Values().Len())
	for i := range ed.Values().Len() {
		names = append(names, string(ed.Values().Get(i).Name()))
	}
	return listed(names)
}

// unknownType reports an @type that Envoy does not know: an old v2 one with
// its successor, any other with the nearest name.
func (w *walker) unknownType(at *yaml.Node, name string) {
	if isOld(name) {
		next := successor(name)
		if next == "" {
			next = nearType(name)
		}
		w.errorAt(at, "v2-type", problem.Args{"Got": cut(name, 120), "Suggest": url(next)})
		return
	}
	w.errorAt(at, "unknown-type", problem.Args{"Got": cut(name, 120), "Suggest": url(nearType(name))})
}

// url is the type URL of a name, "" of none.
func url(name string) string {
	if name == "" {
		return ""
	}
	return urlPrefix + name
}

// isOld tells a v2 type name.
func isOld(name string) bool {
	return strings.HasPrefix(name, "envoy.") &&
		(strings.Contains(name, ".v2.") || strings.Contains(name, ".v2alpha") || strings.HasPrefix(name, "envoy.api.v2"))
}

// nearType finds the type name that was meant: the same last part, or a full
// name few letters away.
func nearType(name string) string {
	last := name[strings.LastIndexByte(name, '.')+1:]
	var same, all []string
	protoregistry.GlobalTypes.RangeMessages(func(mt protoreflect.MessageType) bool {
		full := string(mt.Descriptor().FullName())
		if !strings.HasPrefix(full, "envoy.") || isOld(full) {
			return true
		}
		all = append(all, full)
		if strings.EqualFold(string(mt.Descriptor().Name()), last) {
			same = append(same, full)
		}
		return true
	})
	slices.Sort(same)
	slices.Sort(all)
	switch {
	case len(same) == 1:
		return same[0]
	case len(same) > 1:
		return closest(name, same, len(name))
	}
	return closest(name, all, max(2, len(last)/4))
}

// guessType names the type that a mapping without @type most likely is, from
// its keys: the one served type that has all of them.
func (w *walker) guessType(pairs []pair) string {
	if w.resource != "" {
		return "" // inside of a resource any type may be meant
	}
	found := ""
	for full := range served {
		mt, err := protoregistry.GlobalTypes.FindMessageByName(full)
		if err != nil || !hasAll(mt.Descriptor(), pairs) {
			continue
		}
		if found != "" {
			return ""
		}
		found = string(full)
	}
	return url(found)
}

// hasAll tells whether a message has a field for each key.
func hasAll(md protoreflect.MessageDescriptor, pairs []pair) bool {
	for _, p := range pairs {
		if p.name != "@type" && fieldByName(md, p.name) == nil {
			return false
		}
	}
	return true
}

// listed joins names for a person, at most maxKnown of them.
func listed(names []string) string {
	if len(names) > maxKnown {
		return strings.Join(names[:maxKnown], ", ") + ", …"
	}
	return strings.Join(names, ", ")
}

// nearest gives the name that a word was meant to be, or "".
func nearest(word string, names []string) string {
	if word == "" || len(word) > 80 {
		return ""
	}
	return closest(word, names, max(1, min(len(word)/3, 4)))
}

// closest gives the name with the smallest distance up to a limit.
func closest(word string, names []string, limit int) string {
	best, at := "", limit+1
	for _, name := range names {
		if diff := len(name) - len(word); diff >= at || -diff >= at {
			continue
		}
		if d := distance(word, name); d < at {
			best, at = name, d
		}
	}
	return best
}

// distance counts the edits (insert, drop, change, swap neighbours) between
// two words.
func distance(a, b string) int {
	before, prev, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(prev[j]+1, row[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, prev, row = prev, row, before
	}
	return prev[len(b)]
}

// snake turns lbPolicy, lb-policy and LB_POLICY into lb_policy.
func snake(s string) string {
	if s == strings.ToUpper(s) {
		s = strings.ToLower(s)
	}
	var b strings.Builder
	for i, c := range s {
		switch {
		case c >= 'A' && c <= 'Z':
			if i > 0 {
				b.WriteByte('_')
			}
			c += 'a' - 'A'
		case c == '-':
			c = '_'
		}
		b.WriteRune(c)
	}
	return b.String()
}
