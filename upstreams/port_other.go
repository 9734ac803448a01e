//go:build !linux || portable

package upstreams

import (
	"errors"
	"net"
	"time"
)

// The build tag portable chooses this file on Linux too, so that the tests can
// run it there.

const (
	maxFillers = 64
	// fillerWait is long for a connection over loopback.
	fillerWait = 250 * time.Millisecond
)

func (p *port) bind() error {
	file, fd, num, err := bindSocket(p.num)
	if err != nil {
		return err
	}
	p.file, p.fd, p.num = file, fd, num
	return nil
}

// shut closes the port: new connections are refused. It needs a new socket, so
// for some microseconds the port is nobody's.
func (p *port) shut() error {
	p.release()
	p.listens = false
	return p.bind()
}

// blackHole makes a closed port swallow connection requests: it listens with
// the shortest accept queue and fills it until a connection hangs. A client that
// comes while it fills finds a connection without an answer.
func (p *port) blackHole() error {
	if err := p.listen(0); err != nil {
		return err
	}
	for range maxFillers {
		c, err := net.DialTimeout("tcp4", p.addr(), fillerWait)
		if late, ok := errors.AsType[net.Error](err); ok && late.Timeout() {
			return nil
		}
		if err != nil {
			return err
		}
		p.fillers = append(p.fillers, c)
	}
	return errors.New("upstreams: this system lets no connection hang")
}
