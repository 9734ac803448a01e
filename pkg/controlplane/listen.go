package controlplane

import (
	"context"
	"errors"
	"net"
	"os"
	"strings"
	"syscall"

	"lab/pkg/problem"
)

// listen opens the address. The stream carries the whole configuration and
// there is no TLS, so nothing but the loopback interface or a Unix socket of
// this user is served.
func listen(ctx context.Context, addr string) (net.Listener, error) {
	if path, ok := socketPath(addr); ok {
		return listenUnix(ctx, addr, path)
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, refusedAddress(addr, err).WithExit(problem.Usage)
	}
	if ip := net.ParseIP(host); host != "localhost" && !ip.IsLoopback() {
		return nil, problem.New("xds.not-loopback", problem.Args{"Address": addr}).WithExit(problem.Usage)
	}
	lis, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, refusedAddress(addr, err)
	}
	return lis, nil
}

// socketPath tells a Unix socket ("unix:PATH", or a path with a slash) from
// host and port.
func socketPath(addr string) (string, bool) {
	if path, ok := strings.CutPrefix(addr, "unix:"); ok {
		return path, true
	}
	return addr, strings.Contains(addr, "/")
}

// listenUnix replaces the socket of a process that died; one that answers is
// in use.
func listenUnix(ctx context.Context, addr, path string) (net.Listener, error) {
	if fi, err := os.Lstat(path); err == nil && fi.Mode().Type() == os.ModeSocket {
		conn, err := (&net.Dialer{}).DialContext(ctx, "unix", path)
		if err == nil {
			_ = conn.Close()
			return nil, refusedAddress(addr, syscall.EADDRINUSE)
		}
		if errors.Is(err, syscall.ECONNREFUSED) {
			_ = os.Remove(path)
		}
	}
	lis, err := (&net.ListenConfig{}).Listen(ctx, "unix", path)
	if err != nil {
		return nil, refusedAddress(addr, err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		_ = lis.Close()
		return nil, refusedAddress(addr, err)
	}
	return lis, nil
}

func refusedAddress(addr string, err error) *problem.Problem {
	why := err
	if e := errors.Unwrap(err); e != nil { // without "listen tcp ADDRESS:"
		why = e
	}
	return problem.New("xds.listen", problem.Args{"Address": addr, "Error": why.Error()}).Wrap(err)
}
