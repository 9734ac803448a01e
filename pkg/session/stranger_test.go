package session

import (
	"net"
	"os"
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
			inode, known := socketInode(local)
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
		if inode, _ := socketInode("127.0.0.1:1"); inode != "" {
			t.Error("a socket that is not there has inode", inode)
		}
	}
}
