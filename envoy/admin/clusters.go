package admin

import (
	"context"
)

// ClusterStatus is one Cluster of /clusters with its hosts.
type ClusterStatus struct {
	Name  string
	Hosts []Host
}

// Host is an endpoint as Envoy's load balancer sees it.
type Host struct {
	Address string // "127.0.0.1:41001"
	// Flags are the health flags by the names of the text form of /clusters
	// ("failed_outlier_check"), in its order; none means healthy.
	Flags []string
}

// Clusters gives every active Cluster with its hosts, in Envoy's order.
func (c *Client) Clusters(ctx context.Context) ([]ClusterStatus, error) {
	var raw struct {
		Statuses []struct {
			Name  string `json:"name"`
			Hosts []struct {
				Address address      `json:"address"`
				Health  healthStatus `json:"health_status"`
			} `json:"host_statuses"`
		} `json:"cluster_statuses"`
	}
	if err := c.getJSON(ctx, "/clusters?format=json", &raw); err != nil {
		return nil, err
	}
	out := make([]ClusterStatus, 0, len(raw.Statuses))
	for _, s := range raw.Statuses {
		cs := ClusterStatus{Name: s.Name, Hosts: make([]Host, 0, len(s.Hosts))}
		for _, h := range s.Hosts {
			cs.Hosts = append(cs.Hosts, Host{Address: h.Address.String(), Flags: h.Health.flags()})
		}
		out = append(out, cs)
	}
	return out, nil
}

// healthStatus is envoy.admin.v3.HostHealthStatus in JSON. An EDS status comes
// as the name of its enum value.
type healthStatus struct {
	FailedActiveHC        bool   `json:"failed_active_health_check"`
	FailedOutlierCheck    bool   `json:"failed_outlier_check"`
	DegradedActiveHC      bool   `json:"failed_active_degraded_check"`
	PendingDynamicRemoval bool   `json:"pending_dynamic_removal"`
	PendingActiveHC       bool   `json:"pending_active_hc"`
	ExcludedImmediateHC   bool   `json:"excluded_via_immediate_hc_fail"`
	ActiveHCTimeout       bool   `json:"active_hc_timeout"`
	EDS                   string `json:"eds_health_status"`
}

func (h healthStatus) flags() []string {
	var flags []string
	for _, f := range []struct {
		set  bool
		name string
	}{
		{h.FailedActiveHC, "failed_active_hc"},
		{h.FailedOutlierCheck, "failed_outlier_check"},
		{h.EDS == "UNHEALTHY" || h.EDS == "TIMEOUT", "failed_eds_health"},
		{h.DegradedActiveHC, "degraded_active_hc"},
		{h.EDS == "DEGRADED", "degraded_eds_health"},
		{h.PendingDynamicRemoval, "pending_dynamic_removal"},
		{h.PendingActiveHC, "pending_active_hc"},
		{h.ExcludedImmediateHC, "excluded_via_immediate_hc_fail"},
		{h.ActiveHCTimeout, "active_hc_timeout"},
		{h.EDS == "DRAINING", "eds_status_draining"},
	} {
		if f.set {
			flags = append(flags, f.name)
		}
	}
	return flags
}
