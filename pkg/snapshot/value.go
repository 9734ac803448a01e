package snapshot

import (
	"encoding/base64"
	"fmt"
	"math"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
	"google.golang.org/protobuf/reflect/protoreflect"

	"lab/pkg/problem"
)

// value reads a scalar into a field that is no message. It reports what it
// can't read.
func (w *walker) value(at *yaml.Node, fd protoreflect.FieldDescriptor) (protoreflect.Value, bool) {
	var none protoreflect.Value
	n := w.enter(at)
	if n == nil {
		return none, false
	}
	defer w.leave(n)
	if n.Kind != yaml.ScalarNode {
		w.errorAt(at, "want-value", problem.Args{"Field": w.last(), "Got": got(n), "In": w.around()})
		return none, false
	}
	s := readScalar(n)
	switch fd.Kind() {
	case protoreflect.BoolKind:
		return w.boolValue(at, n, s)
	case protoreflect.StringKind:
		t, ok := w.textValue(at, n, s)
		return protoreflect.ValueOfString(t), ok
	case protoreflect.BytesKind:
		return w.bytesValue(at, n, s)
	case protoreflect.EnumKind:
		return w.enumValue(at, n, s, fd.Enum())
	case protoreflect.FloatKind, protoreflect.DoubleKind:
		return w.floatValue(at, n, s, fd.Kind() == protoreflect.FloatKind)
	}
	return w.intValue(at, n, s, fd.Kind())
}

// bad reports a value that its field can't hold.
func (w *walker) bad(at, n *yaml.Node, code string, more problem.Args) {
	args := problem.Args{"Field": w.last(), "Got": got(n), "In": w.around()}
	for k, v := range more {
		args[k] = v
	}
	w.errorAt(at, code, args)
}

// boolValue takes YAML's bool words and, as text in quotes, more words; a
// number is no bool.
func (w *walker) boolValue(at, n *yaml.Node, s scalar) (protoreflect.Value, bool) {
	switch s.kind {
	case boolean:
		return protoreflect.ValueOfBool(s.b), true
	case text: // the words of absl::SimpleAtob
		switch strings.ToLower(s.s) {
		case "true", "t", "yes", "y", "1":
			return protoreflect.ValueOfBool(true), true
		case "false", "f", "no", "n", "0":
			return protoreflect.ValueOfBool(false), true
		}
	}
	w.bad(at, n, "bool", nil)
	return protoreflect.Value{}, false
}

// textValue takes what YAML reads as text. A bool word or an integer is no
// text for Envoy, even where the field is one.
func (w *walker) textValue(at, n *yaml.Node, s scalar) (string, bool) {
	if s.kind == text {
		return s.s, true
	}
	w.bad(at, n, "quote", problem.Args{"Quoted": strconv.Quote(n.Value)})
	return "", false
}

// bytesValue reads base64 of either alphabet, with or without padding.
func (w *walker) bytesValue(at, n *yaml.Node, s scalar) (protoreflect.Value, bool) {
	t, ok := w.textValue(at, n, s)
	if !ok {
		return protoreflect.Value{}, false
	}
	if len(t)%4 == 0 {
		if cut, ok := strings.CutSuffix(t, "=="); ok {
			t = cut
		} else {
			t = strings.TrimSuffix(t, "=")
		}
	}
	t = strings.NewReplacer("-", "+", "_", "/", "\n", "!", "\r", "!").Replace(t)
	raw, err := base64.RawStdEncoding.DecodeString(t)
	if err != nil {
		w.bad(at, n, "bytes", nil)
		return protoreflect.Value{}, false
	}
	return protoreflect.ValueOfBytes(raw), true
}

// enumValue takes a name in any case, or a number, known or not: enums are open
// in proto3, and Envoy's own check decides about an unknown number.
func (w *walker) enumValue(at, n *yaml.Node, s scalar, ed protoreflect.EnumDescriptor) (protoreflect.Value, bool) {
	if s.kind == null { // only NullValue comes here with null
		return protoreflect.ValueOfEnum(0), true
	}
	if s.kind == text {
		for i := range ed.Values().Len() {
			if v := ed.Values().Get(i); strings.EqualFold(string(v.Name()), s.s) {
				return protoreflect.ValueOfEnum(v.Number()), true
			}
		}
	}
	number, ok := s.i, s.kind == integer
	if s.kind == text {
		number, ok = plainInteger(s.s)
		ok = ok && number >= math.MinInt32 && number <= math.MaxInt32
	}
	if !ok {
		w.unknownEnum(at, n, ed)
		return protoreflect.Value{}, false
	}
	if ed.Values().ByNumber(protoreflect.EnumNumber(number)) == nil {
		w.warnAt(at, "enum-number", func() problem.Args {
			return problem.Args{"Field": w.last(), "Got": got(n), "In": w.around(), "Known": enumNames(ed)}
		})
	}
	return protoreflect.ValueOfEnum(protoreflect.EnumNumber(number)), true
}

// plainInteger reads decimal digits with a sign, as absl::SimpleAtoi does.
func plainInteger(s string) (int64, bool) {
	if strings.Contains(s, "_") {
		return 0, false
	}
	i, err := strconv.ParseInt(strings.Trim(s, " \t\n\v\f\r"), 10, 64)
	return i, err == nil
}

// floatValue takes integers, numbers as text, and the names of infinity and NaN.
// A finite value must stay finite in the size of the field.
func (w *walker) floatValue(at, n *yaml.Node, s scalar, single bool) (protoreflect.Value, bool) {
	f, ok := 0.0, false
	switch {
	case s.kind == integer:
		f, ok = float64(s.i), true
	case s.kind == text && (s.s == "Infinity" || s.s == "-Infinity" || s.s == "NaN"):
		f, ok = decimal(strings.ToLower(s.s))
	case s.kind == text:
		f, ok = decimal(s.s)
	}
	if ok && single && !math.IsInf(f, 0) && !math.IsNaN(f) && math.IsInf(float64(float32(f)), 0) {
		ok = false
	}
	if !ok {
		w.bad(at, n, "number", problem.Args{"Range": ""})
		return protoreflect.Value{}, false
	}
	if single {
		return protoreflect.ValueOfFloat32(float32(f)), true
	}
	return protoreflect.ValueOfFloat64(f), true
}

// intValue reads an integer field. Text counts when it is a number without a
// fraction: "0x1F90", 8080.0 and 8.08e3 do.
func (w *walker) intValue(at, n *yaml.Node, s scalar, k protoreflect.Kind) (protoreflect.Value, bool) {
	if s.kind == integer {
		s.s = strconv.FormatInt(s.i, 10)
	}
	if s.kind == boolean || s.kind == null || strings.ContainsAny(s.s, " \t\n\v\f\r") {
		s.s = ""
	}
	var v protoreflect.Value
	ok := false
	limits := ""
	switch k {
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		i, good := signed(s.s)
		v, ok = protoreflect.ValueOfInt32(int32(i)), good && i >= math.MinInt32 && i <= math.MaxInt32
		limits = fmt.Sprintf("%d … %d", math.MinInt32, math.MaxInt32)
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		i, good := unsigned(s.s)
		v, ok = protoreflect.ValueOfUint32(uint32(i)), good && i <= math.MaxUint32
		limits = fmt.Sprintf("0 … %d", uint32(math.MaxUint32))
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		i, good := unsigned(s.s)
		v, ok = protoreflect.ValueOfUint64(i), good
		limits = fmt.Sprintf("0 … %d", uint64(math.MaxUint64))
	default:
		i, good := signed(s.s)
		v, ok = protoreflect.ValueOfInt64(i), good
		limits = fmt.Sprintf("%d … %d", math.MinInt64, math.MaxInt64)
	}
	if !ok {
		w.bad(at, n, "number", problem.Args{"Range": limits})
	}
	return v, ok
}

// A double holds integers exactly up to these; Envoy's reader goes no further
// for a number that is not plain digits.
const (
	maxExact         = 1 << 53
	maxExactUnsigned = 1 << 54
)

// signed reads an integer that may be negative; unsigned reads one that may not.
func signed(s string) (int64, bool) {
	if i, ok := plainInteger(s); ok {
		return i, true
	}
	f, ok := decimal(s)
	return int64(f), ok && f >= -maxExact && f <= maxExact && f == math.Trunc(f)
}

func unsigned(s string) (uint64, bool) {
	if i, err := strconv.ParseUint(strings.TrimPrefix(s, "+"), 10, 64); err == nil {
		return i, true
	}
	f, ok := decimal(s)
	if !ok || f < 0 || f > maxExactUnsigned || f != math.Trunc(f) {
		return 0, false
	}
	return uint64(f), true
}

// mapKey reads the key of a map field.
func (w *walker) mapKey(p pair, fd protoreflect.FieldDescriptor) (protoreflect.MapKey, bool) {
	var v protoreflect.Value
	ok := true
	switch fd.Kind() {
	case protoreflect.StringKind:
		v = protoreflect.ValueOfString(p.name)
	case protoreflect.BoolKind:
		v, ok = protoreflect.ValueOfBool(p.name == "true"), p.name == "true" || p.name == "false"
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		i, err := strconv.ParseUint(p.name, 10, 32)
		v, ok = protoreflect.ValueOfUint32(uint32(i)), err == nil
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		i, err := strconv.ParseUint(p.name, 10, 64)
		v, ok = protoreflect.ValueOfUint64(i), err == nil
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		i, err := strconv.ParseInt(p.name, 10, 32)
		v, ok = protoreflect.ValueOfInt32(int32(i)), err == nil
	default:
		i, err := strconv.ParseInt(p.name, 10, 64)
		v, ok = protoreflect.ValueOfInt64(i), err == nil
	}
	if !ok {
		w.errorAt(p.key, "key", problem.Args{"Got": cut(p.name, 60), "In": w.where()})
		return protoreflect.MapKey{}, false
	}
	return v.MapKey(), true
}
