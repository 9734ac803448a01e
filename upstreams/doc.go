// Package upstreams runs the HTTP/1.1 servers behind Envoy in a lab, and lets
// each of them fail in one of the ways that Envoy tells apart: at the
// connection, in the middle of an answer, by being late, or by answering with
// a bad status.
//
// An Upstream stands on one loopback port for its whole life: a fault never
// gives the port away. It tells the journal which requests have reached it. It
// knows nothing about Envoy, clusters or labs, and must not: what a fault looks
// like from the other side of Envoy is for Envoy to say. The package must not
// listen on any other address than 127.0.0.1, and must not start processes.
package upstreams
