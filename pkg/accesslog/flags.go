package accesslog

import (
	"strings"

	data "github.com/envoyproxy/go-control-plane/envoy/data/accesslog/v3"
)

// Flags writes response flags by their short names, with commas ("URX,UF"), ""
// for none (Envoy docs, configuration/observability/access_log/usage,
// %RESPONSE_FLAGS%). The entry does not tell in which order Envoy set them:
// what ended the request for good stands first.
func Flags(f *data.ResponseFlags) string {
	var out []string
	for _, x := range []struct {
		set  bool
		name string
	}{
		{f.GetUpstreamRetryLimitExceeded(), "URX"},
		{f.GetNoHealthyUpstream(), "UH"},
		{f.GetUpstreamConnectionFailure(), "UF"},
		{f.GetUpstreamOverflow(), "UO"},
		{f.GetUpstreamRequestTimeout(), "UT"},
		{f.GetUpstreamConnectionTermination(), "UC"},
		{f.GetUpstreamRemoteReset(), "UR"},
		{f.GetUpstreamProtocolError(), "UPE"},
		{f.GetUpstreamMaxStreamDurationReached(), "UMSDR"},
		{f.GetNoRouteFound(), "NR"},
		{f.GetNoClusterFound(), "NC"},
		{f.GetNoFilterConfigFound(), "NFCF"},
		{f.GetStreamIdleTimeout(), "SI"},
		{f.GetDurationTimeout(), "DT"},
		{f.GetDownstreamConnectionTermination(), "DC"},
		{f.GetDownstreamRemoteReset(), "DR"},
		{f.GetDownstreamProtocolError(), "DPE"},
		{f.GetLocalReset(), "LR"},
		{f.GetFailedLocalHealthcheck(), "LH"},
		{f.GetDelayInjected(), "DI"},
		{f.GetFaultInjected(), "FI"},
		{f.GetRateLimited(), "RL"},
		{f.GetRateLimitServiceError(), "RLSE"},
		{f.GetUnauthorizedDetails() != nil, "UAEX"},
		{f.GetInvalidEnvoyRequestHeaders(), "IH"},
		{f.GetResponseFromCacheFilter(), "RFCF"},
		{f.GetOverloadManager(), "OM"},
		{f.GetDnsResolutionFailure(), "DF"},
	} {
		if x.set {
			out = append(out, x.name)
		}
	}
	return strings.Join(out, ",")
}
