package upstreams

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"syscall"

	"lab/pkg/problem"
)

// backlog is the length of the accept queue of an Upstream that listens.
const backlog = 512

// port is a TCP port of 127.0.0.1 that stays ours whether or not it is open. It
// starts bound and closed: a bound socket that does not listen refuses
// connections. Its methods must not run at the same time.
type port struct {
	num      int
	fd       int
	file     *os.File // owns fd
	listens  bool
	listener net.Listener
	fillers  []net.Conn // of a black hole, where the system needs them
}

// reserve takes the port of addr; port 0 takes a free one.
func reserve(addr string) (*port, error) {
	ap, err := netip.ParseAddrPort(addr)
	if err != nil || ap.Addr() != netip.AddrFrom4([4]byte{127, 0, 0, 1}) {
		return nil, fmt.Errorf("upstreams: %q is not 127.0.0.1 with a port", addr)
	}
	p := &port{num: int(ap.Port())}
	if err := p.bind(); err != nil {
		return nil, problem.New("upstreams.port", problem.Args{
			"Address": addr, "Reason": err.Error(),
		}).Wrap(err)
	}
	return p, nil
}

func (p *port) addr() string { return fmt.Sprintf("127.0.0.1:%d", p.num) }

// bindSocket gives a socket that is bound to the port number, and the number.
func bindSocket(num int) (*os.File, int, int, error) {
	syscall.ForkLock.RLock() // no child process may inherit it
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(fd)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, 0, 0, os.NewSyscallError("socket", err)
	}
	file := os.NewFile(uintptr(fd), "upstream")
	got, err := bindTo(fd, num)
	if err != nil {
		file.Close()
		return nil, 0, 0, err
	}
	return file, fd, got, nil
}

func bindTo(fd, num int) (int, error) {
	// Connections of the run before may still be in TIME_WAIT on this port.
	if err := setReuse(fd, 1); err != nil {
		return 0, err
	}
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Port: num, Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return 0, os.NewSyscallError("bind", err)
	}
	name, err := syscall.Getsockname(fd)
	if err != nil {
		return 0, os.NewSyscallError("getsockname", err)
	}
	return name.(*syscall.SockaddrInet4).Port, nil
}

func setReuse(fd, on int) error {
	return os.NewSyscallError("setsockopt", syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, on))
}

// open makes a closed port accept connections.
func (p *port) open() (net.Listener, error) {
	if err := p.listen(backlog); err != nil {
		return nil, err
	}
	l, err := net.FileListener(p.file)
	p.listener = l
	return l, err
}

// listen needs SO_REUSEADDR while connections of before are in TIME_WAIT.
func (p *port) listen(backlog int) error {
	if err := setReuse(p.fd, 1); err != nil {
		return err
	}
	err := syscall.Listen(p.fd, backlog)
	p.listens = err == nil
	return os.NewSyscallError("listen", err)
}

// release gives the port back.
func (p *port) release() {
	p.dropListener()
	p.file.Close()
}

func (p *port) dropListener() {
	if p.listener != nil {
		p.listener.Close()
		p.listener = nil
	}
	for _, c := range p.fillers {
		c.Close()
	}
	p.fillers = nil
}
