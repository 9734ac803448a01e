package snapshot

import (
	"fmt"
	"path"
	"regexp"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/anypb"
)

// Export writes the set as files that an Envoy loads without any control
// plane, through path_config_source: cds.yaml and lds.yaml with all resources
// of their type, and one file for each load assignment, route configuration
// and secret, since Envoy wants exactly one of these in a file (eds-NAME.yaml).
// dir is the folder in which Envoy will find the files: every config source
// over ADS is turned into the path of its file there. Types other than these
// five are not exported; their names come back in left.
//
// The text holds secrets as they are: write it for the owner alone.
func (s *Set) Export(dir string, write func(name string, text []byte) error) (left []string, err error) {
	whole := map[string][]proto.Message{}
	used := map[string]bool{}
	for _, r := range s.Resources {
		m := proto.Clone(r.Message)
		if err := toFiles(m.ProtoReflect(), dir); err != nil {
			return nil, fmt.Errorf("export %s %q: %w", r.Type, r.Name, err)
		}
		switch r.Type {
		case "CDS", "LDS":
			whole[r.Type] = append(whole[r.Type], m)
		case "EDS", "RDS", "SDS":
			name := fileOf(r.Type, r.Name)
			if used[name] {
				return nil, fmt.Errorf("export %s %q: another resource has the file %s", r.Type, r.Name, name)
			}
			used[name] = true
			if err := writeResponse(write, name, s.Version, []proto.Message{m}); err != nil {
				return nil, err
			}
		default:
			left = append(left, r.Name)
		}
	}
	for _, f := range [][2]string{{"CDS", "cds.yaml"}, {"LDS", "lds.yaml"}} {
		if err := writeResponse(write, f[1], s.Version, whole[f[0]]); err != nil {
			return nil, err
		}
	}
	return left, nil
}

// writeResponse hands one file over.
func writeResponse(write func(string, []byte) error, name, version string, ms []proto.Message) error {
	text, err := responseYAML(version, ms)
	if err != nil {
		return err
	}
	return write(name, text)
}

// unsafe are the characters that a file name does not take over from a name.
var unsafe = regexp.MustCompile(`[^A-Za-z0-9_-]`)

// fileOf names the file of one resource: "eds-orders.yaml".
func fileOf(typ, name string) string {
	kind := map[string]string{"EDS": "eds", "RDS": "rds", "SDS": "sds"}[typ]
	return kind + "-" + unsafe.ReplaceAllString(name, "_") + ".yaml"
}

// toFiles replaces each config source over ADS, also inside of Any messages.
func toFiles(m protoreflect.Message, dir string) error {
	if a, ok := m.Interface().(*anypb.Any); ok {
		return anyToFiles(a, dir)
	}
	if typ, name, source := asks(m.Interface()); overADS(source) {
		source.ConfigSourceSpecifier = &corev3.ConfigSource_PathConfigSource{
			PathConfigSource: &corev3.PathConfigSource{Path: path.Join(dir, fileOf(typ, name))},
		}
	}
	var err error
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case fd.IsMap():
			if fd.MapValue().Message() != nil {
				v.Map().Range(func(_ protoreflect.MapKey, e protoreflect.Value) bool {
					err = toFiles(e.Message(), dir)
					return err == nil
				})
			}
		case fd.Message() == nil:
		case fd.IsList():
			for i := 0; i < v.List().Len() && err == nil; i++ {
				err = toFiles(v.List().Get(i).Message(), dir)
			}
		default:
			err = toFiles(v.Message(), dir)
		}
		return err == nil
	})
	return err
}

// anyToFiles decodes an Any, changes it, and encodes it again.
func anyToFiles(a *anypb.Any, dir string) error {
	mt, err := resolver{}.FindMessageByURL(a.GetTypeUrl())
	if err != nil {
		return nil // an empty Any names no type
	}
	inner := mt.New()
	if err := proto.Unmarshal(a.GetValue(), inner.Interface()); err != nil {
		return err
	}
	if err := toFiles(inner, dir); err != nil {
		return err
	}
	a.Value, err = proto.MarshalOptions{Deterministic: true}.Marshal(inner.Interface())
	return err
}
