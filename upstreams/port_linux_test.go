//go:build linux && !portable

package upstreams

import (
	"errors"
	"net"
	"syscall"
	"testing"
)

// TestNobodyElseGetsThePort asks for it the way that another program would,
// with SO_REUSEADDR, in each state that the port can have.
func TestNobodyElseGetsThePort(t *testing.T) {
	u, _ := start(t)
	for range 3 {
		for _, fault := range []string{"ok", "refuse", "status=503", "black-hole", "refuse", "black-hole", "flap=10m0s"} {
			set(t, u, fault)
			l, err := net.Listen("tcp", u.Addr())
			if err == nil {
				l.Close()
				t.Fatalf("%s: another listener has the port", fault)
			}
			if !errors.Is(err, syscall.EADDRINUSE) {
				t.Errorf("%s: %v", fault, err)
			}
		}
	}
}
