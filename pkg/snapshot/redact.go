package snapshot

import (
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/anypb"
)

// redacted is a copy of a message without the values that Envoy marks as
// sensitive (udpa.annotations.sensitive): what its config_dump would not show
// must not reach the journal either. An Any that cannot be looked into loses
// its content.
func redacted(m proto.Message) proto.Message {
	out := proto.Clone(m)
	redact(out.ProtoReflect())
	return out
}

func redact(m protoreflect.Message) {
	if a, ok := m.Interface().(*anypb.Any); ok {
		a.Value = redactedValue(a)
		return
	}
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case isSensitive(fd):
			m.Clear(fd)
		case fd.IsMap() && fd.MapValue().Message() != nil:
			v.Map().Range(func(_ protoreflect.MapKey, e protoreflect.Value) bool {
				redact(e.Message())
				return true
			})
		case fd.IsMap() || fd.Message() == nil:
		case fd.IsList():
			for i := range v.List().Len() {
				redact(v.List().Get(i).Message())
			}
		default:
			redact(v.Message())
		}
		return true
	})
}

func redactedValue(a *anypb.Any) []byte {
	mt, err := resolver{}.FindMessageByURL(a.GetTypeUrl())
	if err != nil {
		return nil
	}
	inner := mt.New()
	if err := proto.Unmarshal(a.GetValue(), inner.Interface()); err != nil {
		return nil
	}
	redact(inner)
	raw, err := proto.Marshal(inner.Interface())
	if err != nil {
		return nil
	}
	return raw
}
