package snapshot

import (
	"encoding/base64"
	"fmt"
	"math"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/anypb"
)

// plain gives a message as plain values, field by field. It knows no special
// form (a Duration is its seconds and nanos), so that it can show what the JSON
// of protobuf refuses: a Duration out of range, a FieldMask with odd paths.
func plain(m protoreflect.Message) map[string]any {
	if a, ok := m.Interface().(*anypb.Any); ok {
		return plainAny(a)
	}
	out := map[string]any{}
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case fd.IsMap():
			entries := map[string]any{}
			v.Map().Range(func(k protoreflect.MapKey, e protoreflect.Value) bool {
				entries[k.String()] = plainValue(fd.MapValue(), e)
				return true
			})
			out[string(fd.Name())] = entries
		case fd.IsList():
			items := []any{}
			for i := range v.List().Len() {
				items = append(items, plainValue(fd, v.List().Get(i)))
			}
			out[string(fd.Name())] = items
		default:
			out[string(fd.Name())] = plainValue(fd, v)
		}
		return true
	})
	return out
}

// plainAny shows the message inside with its @type, or the bytes where there is
// no such message.
func plainAny(a *anypb.Any) map[string]any {
	out := map[string]any{}
	mt, err := resolver{}.FindMessageByURL(a.GetTypeUrl())
	if err == nil {
		inner := mt.New()
		if err = proto.Unmarshal(a.GetValue(), inner.Interface()); err == nil {
			out = plain(inner)
		}
	}
	if err != nil {
		out["value"] = base64.StdEncoding.EncodeToString(a.GetValue())
	}
	out["@type"] = a.GetTypeUrl()
	return out
}

// plainValue gives one value as decoded JSON would have it: every number is a
// float64, and what does not fit into one is text.
func plainValue(fd protoreflect.FieldDescriptor, v protoreflect.Value) any {
	switch x := v.Interface().(type) {
	case protoreflect.Message:
		return plain(x)
	case protoreflect.EnumNumber:
		if named := fd.Enum().Values().ByNumber(x); named != nil {
			return string(named.Name())
		}
		return float64(x)
	case []byte:
		return base64.StdEncoding.EncodeToString(x)
	case int32:
		return float64(x)
	case uint32:
		return float64(x)
	case int64, uint64:
		return fmt.Sprint(x)
	case float32:
		return plainFloat(float64(x))
	case float64:
		return plainFloat(x)
	default: // bool, string
		return x
	}
}

func plainFloat(f float64) any {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return fmt.Sprint(f)
	}
	return f
}
