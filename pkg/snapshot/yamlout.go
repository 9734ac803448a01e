package snapshot

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"

	"go.yaml.in/yaml/v4"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

// responseYAML writes a DiscoveryResponse as YAML that reads back to the same
// messages, here and in Envoy: text is quoted wherever it could be taken for
// something else.
func responseYAML(version string, resources []proto.Message) ([]byte, error) {
	root := &yaml.Node{Kind: yaml.MappingNode}
	if version != "" {
		root.Content = append(root.Content, plainKey("version_info"),
			&yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: version, Style: yaml.DoubleQuotedStyle})
	}
	list := &yaml.Node{Kind: yaml.SequenceNode}
	for _, m := range resources {
		n, err := resourceNode(m)
		if err != nil {
			return nil, err
		}
		list.Content = append(list.Content, n)
	}
	root.Content = append(root.Content, plainKey("resources"), list)
	out, err := yaml.Dump(root, yaml.WithV4Defaults(), yaml.WithLineWidth(-1))
	if err != nil {
		return nil, fmt.Errorf("snapshot as YAML: %w", err)
	}
	return out, nil
}

func plainKey(name string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: name}
}

// resourceNode gives a message, with its @type, as a node tree. JSON is YAML,
// and in this way the fields keep the order of the proto file.
func resourceNode(m proto.Message) (*yaml.Node, error) {
	name := m.ProtoReflect().Descriptor().FullName()
	a := &anypb.Any{TypeUrl: urlPrefix + string(name)}
	var err error
	if a.Value, err = (proto.MarshalOptions{Deterministic: true}).Marshal(m); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	raw, err := protojson.MarshalOptions{UseProtoNames: true, Resolver: resolver{}}.Marshal(a)
	if err != nil {
		return nil, fmt.Errorf("%s as JSON: %w", name, err)
	}
	loader, err := yaml.NewLoader(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	var doc yaml.Node
	if err := loader.Load(&doc); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	restyle(doc.Content[0])
	return doc.Content[0], nil
}

// bare is text that needs no quotes, if Envoy reads it as text at all.
var bare = regexp.MustCompile(`^[A-Za-z0-9_./-][A-Za-z0-9_./-]*$`)

// restyle turns JSON's form into the one that people write.
func restyle(n *yaml.Node) {
	n.Style &^= yaml.FlowStyle
	if n.Kind != yaml.ScalarNode {
		for _, c := range n.Content {
			restyle(c)
		}
		return
	}
	plain := *n
	plain.Style = 0
	_, number := strconv.ParseFloat(n.Value, 64)
	if n.Style&quotedStyles != 0 && bare.MatchString(n.Value) && number != nil && n.Value[0] != '-' && readScalar(&plain).kind == text {
		n.Style = 0
	}
}
