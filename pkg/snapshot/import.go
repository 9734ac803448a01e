package snapshot

import (
	adminv3 "github.com/envoyproxy/go-control-plane/envoy/admin/v3"
	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	"go.yaml.in/yaml/v4"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/anypb"

	"lab/pkg/problem"
)

// Import turns a config_dump of Envoy's admin interface, or the static
// resources of a bootstrap (YAML or JSON), into the text of a snapshot file.
// Load assignments are in a dump that was asked for with ?include_eds. Secrets
// are left out: a dump has them redacted. The text is nil when there is an
// error in the list.
func Import(file string, text []byte) ([]byte, problem.List) {
	r := &reporter{src: newSource(file, nil)}
	text, ok := clean(r, file, text)
	if !ok {
		return nil, r.done()
	}
	root, ok := parse(r, text)
	if !ok {
		return nil, r.done()
	}
	w := &walker{reporter: r, sensitive: map[protoreflect.FieldDescriptor]bool{}}
	var found []proto.Message
	if root != nil && !isNull(root) {
		found = w.importFrom(root)
	}
	if r.errors == 0 && len(found) == 0 {
		r.add(r.src.place(1, 1), "import-empty", problem.Args{}, false)
	}
	if r.errors > 0 {
		return nil, r.done()
	}
	out, err := responseYAML("", found)
	if err != nil {
		r.add(r.src.place(1, 1), "syntax", problem.Args{"Detail": err.Error()}, false)
		return nil, r.done()
	}
	return out, nil
}

// importFrom reads the file as the one or the other of the two, told from its
// keys, with the same rules and problems as a snapshot.
func (w *walker) importFrom(root *yaml.Node) []proto.Message {
	dump, boot := &adminv3.ConfigDump{}, &bootstrapv3.Bootstrap{}
	found := collector{seen: map[string]bool{}}
	if root.Kind == yaml.MappingNode && child(root, nil, "configs") != nil {
		w.resource = "ConfigDump"
		w.message(root, dump.ProtoReflect())
	} else {
		w.resource = "Bootstrap"
		w.message(root, boot.ProtoReflect())
	}
	for _, part := range dump.GetConfigs() {
		found.part(part)
	}
	static := boot.GetStaticResources()
	for _, c := range static.GetClusters() {
		found.add(c)
	}
	for _, l := range static.GetListeners() {
		found.add(l)
	}
	return found.list
}

// collector keeps the first resource of each type and name.
type collector struct {
	list []proto.Message
	seen map[string]bool
}

// add takes a resource of a type that ADS serves.
func (c *collector) add(m proto.Message) {
	name := m.ProtoReflect().Descriptor().FullName()
	short, ok := served[name]
	key := string(name) + " " + nameOf(m.ProtoReflect())
	if !ok || short == "SDS" || c.seen[key] {
		return
	}
	c.seen[key] = true
	c.list = append(c.list, m)
}

// any takes the resource out of an Any.
func (c *collector) any(a *anypb.Any) {
	mt, err := resolver{}.FindMessageByURL(a.GetTypeUrl())
	if err != nil {
		return // a listener in a state without configuration
	}
	m := mt.New().Interface()
	if proto.Unmarshal(a.GetValue(), m) == nil {
		c.add(m)
	}
}

// part takes the resources out of one section of a dump, those that came from
// a control plane first.
func (c *collector) part(a *anypb.Any) {
	mt, err := resolver{}.FindMessageByURL(a.GetTypeUrl())
	if err != nil {
		return
	}
	m := mt.New().Interface()
	if proto.Unmarshal(a.GetValue(), m) != nil {
		return
	}
	switch d := m.(type) {
	case *adminv3.ClustersConfigDump:
		for _, x := range append(d.GetDynamicActiveClusters(), d.GetDynamicWarmingClusters()...) {
			c.any(x.GetCluster())
		}
		for _, x := range d.GetStaticClusters() {
			c.any(x.GetCluster())
		}
	case *adminv3.ListenersConfigDump:
		for _, x := range d.GetDynamicListeners() {
			c.any(x.GetActiveState().GetListener())
			c.any(x.GetWarmingState().GetListener())
		}
		for _, x := range d.GetStaticListeners() {
			c.any(x.GetListener())
		}
	case *adminv3.RoutesConfigDump:
		for _, x := range d.GetDynamicRouteConfigs() {
			c.any(x.GetRouteConfig())
		}
	case *adminv3.EndpointsConfigDump:
		for _, x := range d.GetDynamicEndpointConfigs() {
			c.any(x.GetEndpointConfig())
		}
	}
}
