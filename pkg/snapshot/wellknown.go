package snapshot

import (
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"

	"go.yaml.in/yaml/v4"
	"google.golang.org/protobuf/reflect/protoreflect"

	"lab/pkg/problem"
)

// The messages that have a form of their own in JSON.
const (
	anyName       = "google.protobuf.Any"
	valueName     = "google.protobuf.Value"
	structName    = "google.protobuf.Struct"
	listName      = "google.protobuf.ListValue"
	durationName  = "google.protobuf.Duration"
	timestampName = "google.protobuf.Timestamp"
	maskName      = "google.protobuf.FieldMask"
)

// isWrapper tells whether a message is one of google.protobuf's wrappers
// (UInt32Value, BoolValue, …).
func isWrapper(md protoreflect.MessageDescriptor) bool {
	return md.ParentFile().Path() == "google/protobuf/wrappers.proto"
}

// hasOwnForm tells whether the message stands under "value" in an Any.
func hasOwnForm(md protoreflect.MessageDescriptor) bool {
	switch md.FullName() {
	case anyName, valueName, structName, listName, durationName, timestampName, maskName:
		return true
	}
	return isWrapper(md)
}

// wellKnown reads a message that has a form of its own. Envoy also takes the
// plain form of most of them ({seconds: 5}); then it gives false.
func (w *walker) wellKnown(at *yaml.Node, m protoreflect.Message) bool {
	md := m.Descriptor()
	n := at
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	switch md.FullName() {
	case anyName:
		w.any(at, m)
		return true
	case valueName:
		w.anyValue(at, m)
		return true
	case structName:
		w.structFields(at, m)
		return true
	}
	if n.Kind == yaml.MappingNode || !hasOwnForm(md) {
		return false
	}
	switch md.FullName() {
	case listName:
		if n.Kind != yaml.SequenceNode {
			w.bad(at, n, "want-list", nil)
			return true
		}
		w.listField(at, md.Fields().ByName("values"), m.Mutable(md.Fields().ByName("values")).List(), true)
	case durationName:
		w.duration(at, n, m)
	case timestampName:
		w.timestamp(at, n, m)
	case maskName:
		w.fieldMask(at, n, m)
	default: // a wrapper: the scalar alone
		fd := md.Fields().ByName("value")
		if v, ok := w.value(at, fd); ok {
			m.Set(fd, v)
		}
	}
	return true
}

// structFields reads a Struct. The values keep no type but those of JSON, and
// for Envoy only an integer within int32 is a number: 0.5 becomes text.
func (w *walker) structFields(at *yaml.Node, m protoreflect.Message) {
	w.mapField(at, m.Descriptor().Fields().ByName("fields"), m)
}

// anyValue reads a google.protobuf.Value: whatever YAML has there.
func (w *walker) anyValue(at *yaml.Node, m protoreflect.Message) {
	n := at
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	fields := m.Descriptor().Fields()
	switch n.Kind {
	case yaml.MappingNode:
		w.structFields(at, m.Mutable(fields.ByName("struct_value")).Message())
		return
	case yaml.SequenceNode:
		list := m.Mutable(fields.ByName("list_value")).Message()
		fd := list.Descriptor().Fields().ByName("values")
		w.listField(at, fd, list.Mutable(fd).List(), true)
		return
	}
	if w.enter(at) == nil {
		return
	}
	switch s := readScalar(n); s.kind {
	case null:
		m.Set(fields.ByName("null_value"), protoreflect.ValueOfEnum(0))
	case boolean:
		m.Set(fields.ByName("bool_value"), protoreflect.ValueOfBool(s.b))
	case integer:
		m.Set(fields.ByName("number_value"), protoreflect.ValueOfFloat64(float64(s.i)))
	case text:
		m.Set(fields.ByName("string_value"), protoreflect.ValueOfString(s.s))
	}
}

// own reads the text of a message whose form is a string.
func (w *walker) own(at, n *yaml.Node) (string, bool) {
	if w.enter(at) == nil {
		return "", false
	}
	defer w.leave(n)
	if n.Kind != yaml.ScalarNode {
		return "", false
	}
	s := readScalar(n)
	return s.s, s.kind == text
}

// durationForm is the only form of a duration that Envoy reads.
var durationForm = regexp.MustCompile(`^(-?[0-9]+)(?:\.([0-9]{1,9}))?s$`)

// maxSeconds bounds a Duration, in both directions: about 10,000 years.
const maxSeconds = 3652500 * 86400

// duration reads "0.25s". A negative one has negative nanoseconds too.
func (w *walker) duration(at, n *yaml.Node, m protoreflect.Message) {
	s, ok := w.own(at, n)
	if w.stop() {
		return
	}
	parts := durationForm.FindStringSubmatch(s)
	if !ok || parts == nil {
		w.bad(at, n, "duration", problem.Args{"Suggest": seconds(n)})
		return
	}
	secs, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil || secs > maxSeconds || secs < -maxSeconds {
		w.bad(at, n, "duration", problem.Args{"Suggest": ""})
		return
	}
	nanos, _ := strconv.ParseInt((parts[2] + "000000000")[:9], 10, 32) // digits by the pattern
	if parts[1][0] == '-' {
		nanos = -nanos
	}
	fields := m.Descriptor().Fields()
	m.Set(fields.ByName("seconds"), protoreflect.ValueOfInt64(secs))
	m.Set(fields.ByName("nanos"), protoreflect.ValueOfInt32(int32(nanos)))
}

// seconds rewrites a duration that a person meant (250ms, 1m, 5, .5s, 1 s) in
// the form that Envoy takes, or gives "".
func seconds(n *yaml.Node) string {
	if n.Kind != yaml.ScalarNode {
		return ""
	}
	s := strings.ToLower(strings.Join(strings.Fields(n.Value), ""))
	if _, err := strconv.ParseFloat(s, 64); err == nil {
		s += "s" // a bare number: seconds are the likely unit
	}
	for _, long := range []struct{ unit, short string }{
		{"milliseconds", "ms"}, {"millis", "ms"}, {"msec", "ms"}, {"seconds", "s"}, {"second", "s"}, {"secs", "s"}, {"sec", "s"},
		{"minutes", "m"}, {"minute", "m"}, {"min", "m"}, {"hours", "h"}, {"hour", "h"},
	} {
		if head, ok := strings.CutSuffix(s, long.unit); ok {
			s = head + long.short
			break
		}
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		return ""
	}
	return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + "s"
}

// timestampForm is RFC 3339 as Envoy reads it; Go's parser alone is milder.
var timestampForm = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$`)

// timestamp reads a time. Envoy counts a month 13 or a day 45 on; here they are
// refused.
func (w *walker) timestamp(at, n *yaml.Node, m protoreflect.Message) {
	s, ok := w.own(at, n)
	if w.stop() {
		return
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if !ok || err != nil || !timestampForm.MatchString(s) || t.Year() < 1 {
		w.bad(at, n, "timestamp", nil)
		return
	}
	fields := m.Descriptor().Fields()
	m.Set(fields.ByName("seconds"), protoreflect.ValueOfInt64(t.Unix()))
	m.Set(fields.ByName("nanos"), protoreflect.ValueOfInt32(int32(t.Nanosecond())))
}

// fieldMask reads comma separated paths in camel case.
func (w *walker) fieldMask(at, n *yaml.Node, m protoreflect.Message) {
	s, ok := w.own(at, n)
	if w.stop() {
		return
	}
	if !ok {
		w.bad(at, n, "quote", problem.Args{"Quoted": strconv.Quote(n.Value)})
		return
	}
	list := m.Mutable(m.Descriptor().Fields().ByName("paths")).List()
	if s == "" {
		return
	}
	for path := range strings.SplitSeq(s, ",") {
		var b strings.Builder
		for _, c := range path {
			if c <= unicode.MaxASCII && unicode.IsUpper(c) {
				b.WriteByte('_')
				c = unicode.ToLower(c)
			}
			b.WriteRune(c)
		}
		list.Append(protoreflect.ValueOfString(b.String()))
	}
}
