package session

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"slices"

	"lab/envoy"
	"lab/pkg/problem"
	"lab/upstreams"
)

func (s *Session) startUpstreams() error {
	if s.run.Upstreams == nil {
		s.run.Upstreams = map[string]string{}
	}
	for _, u := range s.lab.Upstreams {
		addr := s.run.Upstreams[u.Name]
		if addr == "" {
			p, err := s.freePort()
			if err != nil {
				return err
			}
			addr = net.JoinHostPort("127.0.0.1", itoa(p))
		}
		up, err := upstreams.Start(upstreams.Config{Name: u.Name, Addr: addr, Sink: s.journal, Now: s.now})
		if err != nil {
			return err
		}
		s.mu.Lock()
		s.upstreams[u.Name] = up
		s.mu.Unlock()
		s.run.Upstreams[u.Name] = up.Addr()
	}
	return nil
}

// choosePorts keeps the ports of an earlier start: the learner's file and
// Envoy's bootstrap name them.
func (s *Session) choosePorts() error {
	if s.run.Ports == nil {
		s.run.Ports = map[string]int{}
	}
	for _, name := range append([]string{roleControlPlane, accessLog}, s.lab.Listeners...) {
		if p := s.run.Ports[name]; p != 0 {
			if err := portFree(name, p); err != nil {
				return err
			}
			continue
		}
		p, err := s.freePort()
		if err != nil {
			return err
		}
		s.run.Ports[name] = p
	}
	if s.run.BaseID == 0 {
		id, err := envoy.PickBaseID(rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))) //nolint:gosec // no secret
		if err != nil {
			return err
		}
		s.run.BaseID = uint32(id) //nolint:gosec // below 400,000,000
	}
	s.rememberPids()
	return s.save() // before anything with a pid or a base id starts
}

// The ports of a run are below those that systems give to whoever asks for any
// (Linux, ip(7), ip_local_port_range: from 32768): a stopped run finds its ports
// free again.
const (
	firstPort = 20000
	lastPort  = 32767
)

// freePort gives a loopback port that is free now and that the run does not use.
func (s *Session) freePort() (int, error) {
	for range 100 {
		p := firstPort + rand.IntN(lastPort-firstPort+1) //nolint:gosec // no secret
		if !slices.Contains(slices.Collect(maps.Values(s.run.Ports)), p) && portFree("", p) == nil {
			return p, nil
		}
	}
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// portFree refuses a port that somebody else took since the run was made.
func portFree(name string, port int) error {
	l, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return problem.New("session.port-taken", problem.Args{"Name": name, "Port": port, "Error": Reason(err)}).Wrap(err)
	}
	return l.Close()
}

// upstreamPorts are the ports by name.
func upstreamPorts(addrs map[string]string) map[string]string {
	out := map[string]string{}
	for name, a := range addrs {
		_, out[name], _ = net.SplitHostPort(a) // an address that we made
	}
	return out
}
