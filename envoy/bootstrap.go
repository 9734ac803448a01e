package envoy

import (
	"encoding/json"
	"fmt"
	"net"
	"strconv"
)

// The ways in which a bootstrap reaches the control plane.
const (
	// GoogleGRPC needs no static resource: every Listener, Cluster, route and
	// endpoint has come over the stream. Its reconnect back-off is fixed.
	GoogleGRPC = "google-grpc"
	// EnvoyGRPC is what most deployments run: one static Cluster that reaches
	// the control plane, here with a short reconnect back-off.
	EnvoyGRPC = "envoy-grpc"
)

// ControlPlaneCluster is the name of the one static Cluster of the EnvoyGRPC
// variant.
const ControlPlaneCluster = "xds_cluster"

// BootstrapConfig is what differs between one bootstrap and another.
type BootstrapConfig struct {
	NodeID       string // node.id; required by ADS
	NodeCluster  string // node.cluster; required by ADS
	ControlPlane string // "127.0.0.1:18000"
	ADS          string // GoogleGRPC or EnvoyGRPC; "" is GoogleGRPC
}

// object is a JSON object. The bootstrap is written as plain values, since
// protobuf stops in the packages that speak xDS.
type object = map[string]any

// Bootstrap gives the bootstrap as indented JSON. Its admin interface listens
// on a free loopback port, since it can stop Envoy and shows every secret
// (Envoy docs, operations/admin); it sends the node on the first request of a
// stream only, and waits the default time for the first Clusters and Listeners.
func Bootstrap(c BootstrapConfig) ([]byte, error) {
	host, port, err := splitAddress(c.ControlPlane)
	if err != nil {
		return nil, fmt.Errorf("control plane address: %w", err)
	}
	if c.NodeID == "" || c.NodeCluster == "" {
		return nil, fmt.Errorf("node id %q and cluster %q: both are required by ADS", c.NodeID, c.NodeCluster)
	}
	b := object{
		"node":  object{"id": c.NodeID, "cluster": c.NodeCluster},
		"admin": object{"address": socketAddress("127.0.0.1", 0)},
	}
	var service object
	switch c.ADS {
	case GoogleGRPC, "":
		service = object{"google_grpc": object{"target_uri": c.ControlPlane, "stat_prefix": "ads"}}
	case EnvoyGRPC:
		service = object{"envoy_grpc": object{
			"cluster_name": ControlPlaneCluster,
			"retry_policy": object{"retry_back_off": object{"base_interval": "0.1s", "max_interval": "0.5s"}},
		}}
		b["static_resources"] = object{"clusters": []any{controlPlaneCluster(host, port)}}
	default:
		return nil, fmt.Errorf("unknown way to reach the control plane: %q", c.ADS)
	}
	b["dynamic_resources"] = object{
		"ads_config": object{
			"api_type":                       "GRPC",
			"transport_api_version":          "V3",
			"set_node_on_first_message_only": true,
			"grpc_services":                  []any{service},
		},
		"cds_config": object{"ads": object{}, "resource_api_version": "V3"},
		"lds_config": object{"ads": object{}, "resource_api_version": "V3"},
	}
	return json.MarshalIndent(b, "", "  ")
}

// controlPlaneCluster speaks HTTP/2: without that option Envoy stays in
// PRE_INITIALIZING and logs no reason.
func controlPlaneCluster(host string, port int) object {
	return object{
		"name": ControlPlaneCluster, "type": "STATIC", "connect_timeout": "1s",
		"typed_extension_protocol_options": object{
			"envoy.extensions.upstreams.http.v3.HttpProtocolOptions": object{
				"@type":                "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
				"explicit_http_config": object{"http2_protocol_options": object{}},
			},
		},
		"load_assignment": object{
			"cluster_name": ControlPlaneCluster,
			"endpoints": []any{object{"lb_endpoints": []any{
				object{"endpoint": object{"address": socketAddress(host, port)}},
			}}},
		},
	}
}

func socketAddress(host string, port int) object {
	return object{"socket_address": object{"address": host, "port_value": port}}
}

func splitAddress(a string) (string, int, error) {
	host, p, err := net.SplitHostPort(a)
	if err != nil {
		return "", 0, err
	}
	port, err := strconv.ParseUint(p, 10, 16)
	if err != nil || port == 0 {
		return "", 0, fmt.Errorf("%q has no port from 1 to 65535", a)
	}
	return host, int(port), nil
}
