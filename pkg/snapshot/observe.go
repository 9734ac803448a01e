package snapshot

import (
	"cmp"
	"net/netip"
	"strings"

	accesslogv3 "github.com/envoyproxy/go-control-plane/envoy/config/accesslog/v3"
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"go.yaml.in/yaml/v4"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"lab/pkg/problem"
)

// observer watches the walk for what Envoy will accept and a person regrets:
// names that nothing asks for, names that are asked for and missing, a filter
// without its type, a host name where an IP must stand. All of it is warnings.
type observer struct {
	asked  []ask
	hosts  []host // of the resource being read
	places map[string]*yaml.Node
}

// ask is a name that one resource asks of the control plane.
type ask struct {
	typ, name string
	at        *yaml.Node
	by        string
}

// host is an address that is no IP. Whether it must be one depends on its
// resource, which is complete only later.
type host struct {
	name string
	at   *yaml.Node
	path []string
}

// begin is told that a new resource starts.
func (o *observer) begin() { o.hosts = o.hosts[:0] }

// message is told each message when it is complete; n is its mapping.
func (o *observer) message(w *walker, at, n *yaml.Node, m protoreflect.Message) {
	if typ, name, source := asks(m.Interface()); name != "" && overADS(source) {
		at := child(n, n, "route_config_name", "routeConfigName", "eds_cluster_config", "edsClusterConfig", "name")
		o.asked = append(o.asked, ask{typ, name, at, w.resource})
	}
	switch m := m.Interface().(type) {
	case *listenerv3.Filter:
		o.bare(w, at, m.GetConfigType() == nil, m.GetName())
	case *listenerv3.ListenerFilter:
		o.bare(w, at, m.GetConfigType() == nil, m.GetName())
	case *hcmv3.HttpFilter:
		o.bare(w, at, m.GetConfigType() == nil, m.GetName())
	case *clusterv3.Filter:
		o.bare(w, at, m.GetTypedConfig() == nil && m.GetConfigDiscovery() == nil, m.GetName())
	case *corev3.TransportSocket:
		o.bare(w, at, m.GetConfigType() == nil, m.GetName())
	case *accesslogv3.AccessLog:
		o.bare(w, at, m.GetConfigType() == nil, m.GetName())
	case *routev3.ScopedRouteConfiguration: // from where, its listener says
		o.asked = append(o.asked, ask{"RDS", m.GetRouteConfigurationName(), at, w.resource})
	case *corev3.SocketAddress:
		_, err := netip.ParseAddr(m.GetAddress())
		if err != nil && m.GetAddress() != "" && m.GetResolverName() == "" {
			path := append([]string(nil), w.path...)
			o.hosts = append(o.hosts, host{m.GetAddress(), child(n, at, "address"), path})
		}
	}
}

// asks tells which resource a message asks for, and from where; the type is ""
// for a message that asks for none.
func asks(m proto.Message) (typ, name string, source *corev3.ConfigSource) {
	switch m := m.(type) {
	case *clusterv3.Cluster:
		eds := m.GetEdsClusterConfig()
		if m.GetType() == clusterv3.Cluster_EDS {
			return "EDS", cmp.Or(eds.GetServiceName(), m.GetName()), eds.GetEdsConfig()
		}
	case *hcmv3.Rds:
		return "RDS", m.GetRouteConfigName(), m.GetConfigSource()
	case *tlsv3.SdsSecretConfig:
		return "SDS", m.GetName(), m.GetSdsConfig()
	}
	return "", "", nil
}

// overADS tells whether a config source is this control plane; "self" means the
// source of the message around it, which is the stream too.
func overADS(c *corev3.ConfigSource) bool { return c.GetAds() != nil || c.GetSelf() != nil }

// child gives the value under the first of the keys that a mapping has, or
// another node.
func child(n, otherwise *yaml.Node, keys ...string) *yaml.Node {
	for _, k := range keys {
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == k {
				return n.Content[i+1]
			}
		}
	}
	return otherwise
}

// bare warns of an extension that is named without a type: the name alone
// selects nothing, the type URL does (Envoy docs, configuration/overview/extension).
func (o *observer) bare(w *walker, at *yaml.Node, missing bool, name string) {
	if missing {
		w.warnAt(at, "typed-config", func() problem.Args {
			return problem.Args{"Name": cut(name, 80), "In": w.where(), "Suggest": url(typeByFilter(name))}
		})
	}
}

// typeByFilter guesses the configuration type of an extension from its usual
// name: envoy.filters.http.router has envoy.extensions.filters.http.router.v3.Router.
func typeByFilter(name string) string {
	pkg, ok := strings.CutPrefix(name, "envoy.")
	if !ok {
		return ""
	}
	pkg = "envoy.extensions." + pkg + ".v3"
	want := strings.ReplaceAll(name[strings.LastIndexByte(name, '.')+1:], "_", "")
	found := ""
	protoregistry.GlobalTypes.RangeMessages(func(mt protoreflect.MessageType) bool {
		full := mt.Descriptor().FullName()
		if string(full.Parent()) == pkg && strings.EqualFold(string(full.Name()), want) {
			found = string(full)
		}
		return found == ""
	})
	return found
}

// end is told each resource when it is complete.
func (o *observer) end(w *walker, at, n *yaml.Node, res Resource) {
	if o.places == nil {
		o.places = map[string]*yaml.Node{}
	}
	o.places[res.Type+" "+res.Name] = child(n, at, "name", "cluster_name", "clusterName")
	for _, h := range o.hosts {
		if needsIP(res, h.path) {
			w.warnAt(h.at, "host-name", func() problem.Args { return problem.Args{"Name": cut(h.name, 80), "In": w.resource, "Type": res.Type} })
		}
	}
}

// needsIP tells whether an address at a path must be an IP: the endpoints of a
// load assignment or of a STATIC cluster, and where a listener listens.
func needsIP(res Resource, path []string) bool {
	joined := strings.Join(path, ".")
	switch m := res.Message.(type) {
	case *clusterv3.Cluster:
		kind := m.GetType()
		return m.GetClusterType() == nil && (kind == clusterv3.Cluster_STATIC || kind == clusterv3.Cluster_EDS) &&
			strings.Contains(joined, "lb_endpoints")
	case *listenerv3.Listener:
		return strings.HasPrefix(joined, "address.")
	}
	return res.Type == "EDS" && strings.Contains(joined, "lb_endpoints")
}

// compare warns of names that are asked for and missing, and of resources that
// nothing asks for. Envoy asks for EDS, RDS and SDS by name; a stream that gets
// no answer to a name waits, and a name that nobody asked for is never sent.
func (o *observer) compare(w *walker, set *Set) {
	asked := map[string]bool{}
	for _, a := range o.asked {
		asked[a.typ+" "+a.name] = true
		if o.places[a.typ+" "+a.name] == nil {
			w.warnAt(a.at, "missing", func() problem.Args {
				return problem.Args{"Type": a.typ, "Name": cut(a.name, 80), "By": a.by, "What": what(a.typ)}
			})
		}
	}
	for _, res := range set.Resources {
		key := res.Type + " " + res.Name
		if (res.Type == "EDS" || res.Type == "RDS" || res.Type == "SDS") && !asked[key] {
			w.warnAt(o.places[key], "unused", func() problem.Args {
				return problem.Args{"Type": res.Type, "Name": cut(res.Name, 80), "What": what(res.Type)}
			})
		}
	}
}

// what is the message that a short type name stands for.
func what(typ string) string {
	return map[string]string{"EDS": "ClusterLoadAssignment", "RDS": "RouteConfiguration", "SDS": "Secret"}[typ]
}
