//go:build linux && !portable

package upstreams

import (
	"os"
	"syscall"
)

// bind takes the port with one socket, which keeps it to the end: shutdown on a
// listening socket takes it out of LISTEN and leaves it bound, but only where
// the port was bound by number. So a free port is found by a first socket and
// bound by number by a second one while the first still holds it.
func (p *port) bind() error {
	if p.num == 0 {
		first, _, num, err := bindSocket(0)
		if err != nil {
			return err
		}
		defer first.Close()
		p.num = num
	}
	file, fd, _, err := bindSocket(p.num)
	p.file, p.fd = file, fd
	return err
}

// shut closes the port: new connections are refused, and those that nobody has
// accepted are reset. A shutdown of a socket that does not listen would mark it
// for good, and each connection accepted later would read an end of file. Nobody else can take the port meanwhile: without
// SO_REUSEADDR on this socket, another's bind fails.
func (p *port) shut() error {
	p.dropListener()
	if p.listens {
		if err := syscall.Shutdown(p.fd, syscall.SHUT_RDWR); err != nil {
			return os.NewSyscallError("shutdown", err)
		}
		p.listens = false
	}
	if err := p.minTTL(0); err != nil {
		return err
	}
	return setReuse(p.fd, 0)
}

// blackHole makes a closed port swallow connection requests: it listens, and
// the kernel drops each packet whose TTL is under 255 (ip(7), IP_MINTTL); the
// usual TTL is 64. A full accept queue would do the same, but a client could get
// into it before it is full, and would find a connection without an answer.
func (p *port) blackHole() error {
	if err := p.minTTL(255); err != nil {
		return err
	}
	return p.listen(0)
}

func (p *port) minTTL(ttl int) error {
	return os.NewSyscallError("setsockopt", syscall.SetsockoptInt(p.fd, syscall.IPPROTO_IP, syscall.IP_MINTTL, ttl))
}
