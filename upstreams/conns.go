package upstreams

import (
	"net"
	"net/http"
	"sync"
)

// conns are the open connections of an upstream, so that they can be cut.
type conns struct {
	mu   sync.Mutex
	open map[net.Conn]struct{}
	wg   sync.WaitGroup
}

// hook follows the server's connections. A hijacked one stays here until drop.
func (c *conns) hook(conn net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		c.mu.Lock()
		c.open[conn] = struct{}{}
		c.mu.Unlock()
		c.wg.Add(1)
	case http.StateClosed:
		c.drop(conn)
	}
}

// drop closes a connection whose goroutine is about to end.
func (c *conns) drop(conn net.Conn) {
	conn.Close()
	c.mu.Lock()
	delete(c.open, conn)
	c.mu.Unlock()
	c.wg.Done()
}

// cut closes all connections, and pending requests with them.
func (c *conns) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for conn := range c.open {
		conn.Close()
	}
}
