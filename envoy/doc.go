// Package envoy finds or fetches the Envoy binary, writes its bootstrap, and
// starts, watches and ends its processes, one for each epoch of a hot restart.
//
// It must not know a lab, write the journal, serve xDS, or restart an Envoy by
// itself: the session decides, and journals what it did. What Envoy's admin
// interface says is read by the package admin below this one.
package envoy
