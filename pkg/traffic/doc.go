// Package traffic sends HTTP requests through Envoy's Listener and tells the
// journal how they went, summed up in windows of a quarter of a second: the
// witness of every change that a learner makes.
//
// Each request has a connection of its own. A client that reuses connections
// would go on over the Listener, or the Envoy, that it once reached while a new
// one serves everybody else; and a reused connection that ends makes Go's
// http.Transport send a GET a second time without a word, so that a request that
// was cut in flight would count as answered. Here nothing is sent twice.
//
// The package must not know what stands behind the Listener, must not start
// processes, and must not connect to anything but a loopback address.
package traffic
