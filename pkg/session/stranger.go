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
		e.Stream.Client = i.client(e.Stream.Peer)
	}
	i.s.emit(e)
}

// client is the Envoy that holds the other end of a connection.
func (i identified) client(peer string) int {
	ev := i.s.envoy()
	for range tries {
		inode, known := socketInode(peer)
		if !known {
			return 0
		}
		if ev != nil && holds(ev.proc.Pid(), inode) {
			return ev.proc.Pid()
		}
	}
	return journal.Stranger
}

// tries is how often the tables are read before a stream counts as a
// stranger's: a table that changes while it is read can miss a line.
const tries = 10

// socketInode finds the socket with a local IPv4 address in the tables of
// proc(5), /proc/net/tcp and tcp6: gRPC's C library opens IPv6 sockets for IPv4
// addresses. It is not known where there are no such tables; a connection that
// is gone already has no inode.
func socketInode(local string) (inode string, known bool) {
	addr, err := netip.ParseAddrPort(local)
	if err != nil || !addr.Addr().Unmap().Is4() {
		return "", false
	}
	b := addr.Addr().Unmap().As4()
	slices.Reverse(b[:]) // the tables have the bytes of little-endian words
	v4 := fmt.Sprintf("%s:%04X", strings.ToUpper(hex.EncodeToString(b[:])), addr.Port())
	for _, want := range []string{"0000000000000000FFFF0000" + v4, v4} {
		table := "/proc/net/tcp"
		if len(want) > len(v4) {
			table += "6"
		}
		raw, err := os.ReadFile(table)
		known = known || err == nil
		for line := range strings.Lines(string(raw)) {
			if f := strings.Fields(line); len(f) > 9 && f[1] == want && f[9] != "0" { // 0: an older connection, in TIME_WAIT
				return f[9], true
			}
		}
	}
	return "", known
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
