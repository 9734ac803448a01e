package xds

import (
	"slices"
	"strings"

	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
)

// sendOrder is the order in which the types of one snapshot go out (Envoy
// docs, api-docs/xds_protocol, "Eventual consistency considerations"); types
// that are not listed follow in the order of their URLs.
var sendOrder = []string{
	resource.ClusterType, resource.EndpointType, resource.ListenerType, resource.RouteType, resource.SecretType,
}

// short is the name that people use for a resource type: "CDS", "EDS", "LDS",
// "RDS", "SDS", or the type URL of another.
func short(url string) string {
	switch url {
	case resource.ClusterType:
		return "CDS"
	case resource.EndpointType:
		return "EDS"
	case resource.ListenerType:
		return "LDS"
	case resource.RouteType:
		return "RDS"
	case resource.SecretType:
		return "SDS"
	}
	return url
}

// bySendOrder compares two type URLs by the order in which they go out.
func bySendOrder(a, b string) int {
	rank := func(url string) int {
		if i := slices.Index(sendOrder, url); i >= 0 {
			return i
		}
		return len(sendOrder)
	}
	if d := rank(a) - rank(b); d != 0 {
		return d
	}
	return strings.Compare(a, b)
}
