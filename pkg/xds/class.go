package xds

import (
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"

	"lab/pkg/journal"
)

// exchange is what was said about one type on one stream, as far as the class
// of the next request depends on it.
type exchange struct {
	nonce    string // of the last response
	version  string // of the last response
	answered bool   // that response was acknowledged, rejected or passed over
}

// dialog tells the class of each request of one stream. Only error_detail
// makes a NACK, and an ACK names the nonce and the version of the response
// (Envoy docs, api-docs/xds_protocol, "ACK, NACK and resource type instance
// version"). A client may add a name at an unchanged version; and Envoy, given
// resources of a type that it no longer watches, repeats its request with the
// new nonce and the old version: neither is an answer to the response.
type dialog map[string]*exchange

// request gives the class of a request and remembers it.
func (d dialog) request(req *discovery.DiscoveryRequest) string {
	x, known := d[req.GetTypeUrl()]
	if !known {
		x = &exchange{}
		d[req.GetTypeUrl()] = x
	}
	current := x.nonce == "" || req.GetResponseNonce() == x.nonce
	switch {
	case req.GetErrorDetail() != nil:
		x.answered = x.answered || current
		return journal.Nack
	case !known:
		return journal.Subscribe
	case !current:
		return journal.Stale
	case x.nonce == "" || x.answered || req.GetVersionInfo() != x.version:
		x.answered = true
		return journal.Resubscribe
	}
	x.answered = true
	return journal.Ack
}

// response remembers a response that was sent.
func (d dialog) response(resp *discovery.DiscoveryResponse) {
	d[resp.GetTypeUrl()] = &exchange{nonce: resp.GetNonce(), version: resp.GetVersionInfo()}
}
