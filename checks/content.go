package checks

import (
	"encoding/json"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// endpointsOf gives the addresses in a ClusterLoadAssignment, or in the inline
// load_assignment of a Cluster, in the order of the file: "127.0.0.1:41002".
func endpointsOf(body map[string]any) []string {
	if inline, ok := body["load_assignment"].(map[string]any); ok {
		body = inline
	}
	var out []string
	for _, locality := range maps(body["endpoints"]) {
		for _, e := range maps(locality["lb_endpoints"]) {
			if a := addressOf(e); a != "" {
				out = append(out, a)
			}
		}
	}
	return out
}

func addressOf(lbEndpoint map[string]any) string {
	at := lbEndpoint
	for _, field := range []string{"endpoint", "address", "socket_address"} {
		next, ok := at[field].(map[string]any)
		if !ok {
			return ""
		}
		at = next
	}
	host, _ := at["address"].(string)
	return net4(host) + ":" + whole(at["port_value"])
}

// net4 writes a host as Envoy's host list does: the upstreams of a run are on
// 127.0.0.1, and a learner may call it by another name.
func net4(host string) string {
	if host == "localhost" {
		return "127.0.0.1"
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		host = ip.Unmap().String()
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return host
}

func maps(v any) []map[string]any {
	list, _ := v.([]any)
	out := make([]map[string]any, 0, len(list))
	for _, e := range list {
		if m, ok := e.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

// whole writes an integer of a body. JSON gives it as a float64.
func whole(v any) string {
	switch n := v.(type) {
	case float64:
		return strconv.FormatInt(int64(n), 10)
	case json.Number:
		return n.String()
	case int:
		return strconv.Itoa(n)
	case int64:
		return strconv.FormatInt(n, 10)
	case uint32:
		return strconv.FormatUint(uint64(n), 10)
	case string:
		return n
	}
	return "0"
}

// valuesOf collects what stands under a field name, at any depth.
func valuesOf(v any, field string) []any {
	var out []any
	switch x := v.(type) {
	case map[string]any:
		keys := make([]string, 0, len(x))
		for k := range x {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		for _, k := range keys {
			if k == field {
				out = append(out, x[k])
			}
			out = append(out, valuesOf(x[k], field)...)
		}
	case []any:
		for _, e := range x {
			out = append(out, valuesOf(e, field)...)
		}
	}
	return out
}

// changed gives the resources of r that its Envoy did not have like this.
func (r *Response) changed() []*Resource {
	had := make(map[string]string, len(r.before[r.Type]))
	for _, b := range r.before[r.Type] {
		had[b.Name] = b.Hash
	}
	var out []*Resource
	for _, now := range r.Resources {
		if had[now.Name] != now.Hash {
			out = append(out, now)
		}
	}
	return out
}
