package xdstest

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"
	"time"

	cluster "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpoint "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listener "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	route "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	router "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	hcm "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"

	"lab/pkg/snapshot"
)

const prefix = "type.googleapis.com/"

var shortOf = map[string]string{
	prefix + "envoy.config.cluster.v3.Cluster":                "CDS",
	prefix + "envoy.config.endpoint.v3.ClusterLoadAssignment": "EDS",
	prefix + "envoy.config.listener.v3.Listener":              "LDS",
	prefix + "envoy.config.route.v3.RouteConfiguration":       "RDS",
}

// Set makes a snapshot of messages.
func Set(t testing.TB, version string, messages ...proto.Message) *snapshot.Set {
	t.Helper()
	set := &snapshot.Set{Version: version}
	for _, m := range messages {
		raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(raw)
		url := prefix + string(m.ProtoReflect().Descriptor().FullName())
		typ, ok := shortOf[url]
		if !ok {
			typ = url
		}
		set.Resources = append(set.Resources, snapshot.Resource{
			Type: typ, TypeURL: url, Name: name(m), Message: m, Hash: hex.EncodeToString(sum[:8]),
		})
	}
	return set
}

func name(m proto.Message) string {
	switch m := m.(type) {
	case interface{ GetName() string }:
		return m.GetName()
	case interface{ GetClusterName() string }:
		return m.GetClusterName()
	}
	return ""
}

// Cluster is an EDS cluster. A timeout of 0s is what Envoy rejects.
func Cluster(name string, timeout time.Duration) *cluster.Cluster {
	return &cluster.Cluster{
		Name: name, ConnectTimeout: durationpb.New(timeout),
		ClusterDiscoveryType: &cluster.Cluster_Type{Type: cluster.Cluster_EDS},
		EdsClusterConfig:     &cluster.Cluster_EdsClusterConfig{EdsConfig: ads()},
	}
}

// Static is a cluster without EDS and without hosts.
func Static(name string) *cluster.Cluster {
	return &cluster.Cluster{
		Name: name, ConnectTimeout: durationpb.New(time.Second),
		ClusterDiscoveryType: &cluster.Cluster_Type{Type: cluster.Cluster_STATIC},
	}
}

// Assignment is a load assignment with hosts at 127.0.0.1.
func Assignment(name string, ports ...int) *endpoint.ClusterLoadAssignment {
	var hosts []*endpoint.LbEndpoint
	for _, p := range ports {
		hosts = append(hosts, &endpoint.LbEndpoint{HostIdentifier: &endpoint.LbEndpoint_Endpoint{
			Endpoint: &endpoint.Endpoint{Address: address(p)}}})
	}
	return &endpoint.ClusterLoadAssignment{ClusterName: name,
		Endpoints: []*endpoint.LocalityLbEndpoints{{LbEndpoints: hosts}}}
}

// Route sends everything to a cluster.
func Route(name, to string) *route.RouteConfiguration {
	return &route.RouteConfiguration{Name: name, VirtualHosts: []*route.VirtualHost{{
		Name: "all", Domains: []string{"*"}, Routes: []*route.Route{{
			Match: &route.RouteMatch{PathSpecifier: &route.RouteMatch_Prefix{Prefix: "/"}},
			Action: &route.Route_Route{Route: &route.RouteAction{
				ClusterSpecifier: &route.RouteAction_Cluster{Cluster: to}}},
		}},
	}}}
}

// Listener is an HTTP listener whose routes come by RDS. Its stat prefix is a
// value that a test can change.
func Listener(t testing.TB, name string, port int, routes, statPrefix string) *listener.Listener {
	t.Helper()
	manager := &hcm.HttpConnectionManager{
		StatPrefix: statPrefix,
		RouteSpecifier: &hcm.HttpConnectionManager_Rds{Rds: &hcm.Rds{
			RouteConfigName: routes, ConfigSource: ads()}},
		HttpFilters: []*hcm.HttpFilter{{Name: "envoy.filters.http.router",
			ConfigType: &hcm.HttpFilter_TypedConfig{TypedConfig: pack(t, &router.Router{})}}},
	}
	return &listener.Listener{Name: name, Address: address(port),
		FilterChains: []*listener.FilterChain{{Filters: []*listener.Filter{{
			Name:       "envoy.filters.network.http_connection_manager",
			ConfigType: &listener.Filter_TypedConfig{TypedConfig: pack(t, manager)},
		}}}}}
}

func pack(t testing.TB, m proto.Message) *anypb.Any {
	t.Helper()
	a, err := anypb.New(m)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func ads() *core.ConfigSource {
	return &core.ConfigSource{ResourceApiVersion: core.ApiVersion_V3,
		ConfigSourceSpecifier: &core.ConfigSource_Ads{Ads: &core.AggregatedConfigSource{}}}
}

func address(port int) *core.Address {
	return &core.Address{Address: &core.Address_SocketAddress{SocketAddress: &core.SocketAddress{
		Address: "127.0.0.1", PortSpecifier: &core.SocketAddress_PortValue{PortValue: uint32(port)}}}}
}
