package session

import (
	"net"
	"os"
	"syscall"
	"testing"
)

// The end of a connection that this process opened is found in it, and in no
// other; one that is gone is nobody's.
func TestSocketsAreFound(t *testing.T) {
	for _, network := range []string{"tcp4", "tcp"} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		c, err := net.Dial(network, l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		local := c.LocalAddr().String()
		found := false
		for range tries {
			inode, known := socketInode(local, l.Addr().String())
			if !known {
				t.Fatal("this system shows no sockets")
			}
			found = found || holds(os.Getpid(), inode)
			if holds(1, inode) {
				t.Error("process 1 holds our socket")
			}
		}
		if !found {
			t.Error("our own socket is not found")
		}
		_ = l.Close()
		_ = c.Close()
		if inode, _ := socketInode("127.0.0.1:1", l.Addr().String()); inode != "" {
			t.Error("a socket that is not there has inode", inode)
		}
	}
}

// Two connections to two addresses may have the same local port; they are two
// sockets.
func TestSocketsWithOneLocalPort(t *testing.T) {
	var from net.Addr
	inodes := map[string]bool{}
	for range 2 {
		l, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		d := net.Dialer{LocalAddr: from, Control: func(_, _ string, c syscall.RawConn) error {
			return c.Control(func(fd uintptr) { _ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1) })
		}}
		if from == nil {
			d.LocalAddr = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} // bound, so that its port may be shared
		}
		c, err := d.Dial("tcp4", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		from = c.LocalAddr()
		inode, _ := socketInode(from.String(), l.Addr().String())
		inodes[inode] = true
	}
	if len(inodes) != 2 || inodes[""] {
		t.Errorf("inodes %v, want two", inodes)
	}
}
