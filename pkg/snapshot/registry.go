package snapshot

import (
	"strings"

	"github.com/cncf/xds/go/udpa/annotations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
)

const urlPrefix = "type.googleapis.com/"

// served are the types that an ADS stream carries in the state-of-the-world
// protocol, with the name that the journal uses. VirtualHost and LbEndpoint are
// missing: Envoy asks for them over Delta only.
var served = map[protoreflect.FullName]string{
	"envoy.config.cluster.v3.Cluster":                  "CDS",
	"envoy.config.endpoint.v3.ClusterLoadAssignment":   "EDS",
	"envoy.config.listener.v3.Listener":                "LDS",
	"envoy.config.route.v3.RouteConfiguration":         "RDS",
	"envoy.extensions.transport_sockets.tls.v3.Secret": "SDS",
	"envoy.config.route.v3.ScopedRouteConfiguration":   urlPrefix + "envoy.config.route.v3.ScopedRouteConfiguration",
	"envoy.config.core.v3.TypedExtensionConfig":        urlPrefix + "envoy.config.core.v3.TypedExtensionConfig",
	"envoy.service.runtime.v3.Runtime":                 urlPrefix + "envoy.service.runtime.v3.Runtime",
}

// nameOf gives the name by which xDS knows a resource of a served type.
func nameOf(m protoreflect.Message) string {
	fd := m.Descriptor().Fields().ByName(protoreflect.Name(nameKey(m.Descriptor())))
	return m.Get(fd).String()
}

// nameKey is the field that holds the name of a resource type.
func nameKey(md protoreflect.MessageDescriptor) string {
	if md.FullName() == "envoy.config.endpoint.v3.ClusterLoadAssignment" {
		return "cluster_name"
	}
	return "name"
}

// resolver finds message types by URL as Envoy does: whatever stands after the
// last slash, with any host before it.
type resolver struct{}

func (resolver) FindMessageByName(n protoreflect.FullName) (protoreflect.MessageType, error) {
	return protoregistry.GlobalTypes.FindMessageByName(n)
}

func (r resolver) FindMessageByURL(url string) (protoreflect.MessageType, error) {
	return r.FindMessageByName(protoreflect.FullName(url[strings.LastIndexByte(url, '/')+1:]))
}

func (resolver) FindExtensionByName(n protoreflect.FullName) (protoreflect.ExtensionType, error) {
	return protoregistry.GlobalTypes.FindExtensionByName(n)
}

func (resolver) FindExtensionByNumber(m protoreflect.FullName, n protoreflect.FieldNumber) (protoreflect.ExtensionType, error) {
	return protoregistry.GlobalTypes.FindExtensionByNumber(m, n)
}

// successor gives the v3 message that took the place of an older one, from the
// annotation that Envoy's v3 messages carry; "" where there is none.
func successor(old string) string {
	next := ""
	protoregistry.GlobalTypes.RangeMessages(func(mt protoreflect.MessageType) bool {
		o, ok := mt.Descriptor().Options().(*descriptorpb.MessageOptions)
		if !ok || !proto.HasExtension(o, annotations.E_Versioning) {
			return true
		}
		v, ok := proto.GetExtension(o, annotations.E_Versioning).(*annotations.VersioningAnnotation)
		name := string(mt.Descriptor().FullName())
		if ok && v.GetPreviousMessageType() == old && (next == "" || name < next) {
			next = name
		}
		return true
	})
	return next
}

// isSensitive tells whether Envoy hides the field in its config_dump.
func isSensitive(fd protoreflect.FieldDescriptor) bool {
	o, ok := fd.Options().(*descriptorpb.FieldOptions)
	if !ok || o == nil {
		return false
	}
	b, _ := proto.GetExtension(o, annotations.E_Sensitive).(bool)
	return b
}
