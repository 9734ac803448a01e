package session

import (
	"encoding/hex"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"

	"lab/pkg/journal"
)

// identified passes on the control plane's events, and says of each stream
// whether the run's own Envoy opened it. Anybody on the machine can connect to
// the ADS port and say what they like; a node id can be copied, a socket cannot.
type identified struct{ s *Session }

func (i identified) Emit(e journal.Event) {
	if e.Kind == journal.KindStreamOpen && e.Stream != nil && e.Stream.State == "opened" {
		e.Stream.Client = i.s.owner(e.Stream.Peer, i.s.adsAddress())
	}
	i.s.emit(e)
}

// owner is the Envoy that holds the other end of a connection from peer to an
// address of ours; 0 where the system does not show it, or journal.Stranger.
func (s *Session) owner(peer, ours string) int {
	s.starting.Lock()
	epochs := s.running()
	s.starting.Unlock()
	for range tries {
		inode, known := socketInode(peer, ours)
		if !known {
			return 0
		}
		for _, e := range epochs {
			if holds(e.proc.Pid(), inode) {
				return e.proc.Pid()
			}
		}
	}
	return journal.Stranger
}

// tries is how often the tables are read before a stream counts as a
// stranger's: a table that changes while it is read can miss a line.
const tries = 10

// socketInode finds the socket that connects two IPv4 addresses, from the end
// of local, in the tables of proc(5), /proc/net/tcp and tcp6: gRPC's C library
// opens IPv6 sockets for IPv4 addresses. Both ends count, since connections to
// other addresses may have the same local port. It is not known where there are no such tables; a connection that
// is gone already has no inode.
func socketInode(local, remote string) (inode string, known bool) {
	from, ok1 := inTable(local)
	to, ok2 := inTable(remote)
	if !ok1 || !ok2 {
		return "", false
	}
	for table, mapped := range map[string]string{"/proc/net/tcp": "", "/proc/net/tcp6": "0000000000000000FFFF0000"} {
		raw, err := os.ReadFile(table)
		known = known || err == nil
		for line := range strings.Lines(string(raw)) {
			if f := strings.Fields(line); len(f) > 9 && f[1] == mapped+from && f[2] == mapped+to && f[9] != "0" { // 0: an older connection, in TIME_WAIT
				return f[9], true
			}
		}
	}
	return "", known
}

// inTable is an IPv4 address as /proc/net/tcp writes it.
func inTable(addr string) (string, bool) {
	ap, err := netip.ParseAddrPort(addr)
	if err != nil || !ap.Addr().Unmap().Is4() {
		return "", false
	}
	b := ap.Addr().Unmap().As4()
	slices.Reverse(b[:]) // the tables have the bytes of little-endian words
	return fmt.Sprintf("%s:%04X", strings.ToUpper(hex.EncodeToString(b[:])), ap.Port()), true
}

// holds tells whether a process has the socket open.
func holds(pid int, inode string) bool {
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	files, err := os.ReadDir(dir)
	if err != nil || inode == "" {
		return false
	}
	for _, f := range files {
		if to, err := os.Readlink(dir + "/" + f.Name()); err == nil && to == "socket:["+inode+"]" {
			return true
		}
	}
	return false
}
