package session

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"lab/pkg/journal"
)

const sigTerm = syscall.SIGTERM

func itoa(n int) string { return strconv.Itoa(n) }

func (s *Session) controlPlane() *controlPlane {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cp
}

// adsAddress is where the control plane listens; it is the same for the whole run.
func (s *Session) adsAddress() string {
	return net.JoinHostPort("127.0.0.1", itoa(s.run.Ports[roleControlPlane]))
}

// opened is the event that opened the journal, nil where it has none.
func (s *Session) opened() *journal.Run {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.evidence.Run()
}

func (s *Session) setControlPlane(c *controlPlane) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cp = c
}

// expectEnd remembers that lab itself is about to end a process.
func (s *Session) expectEnd(pid int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expected[pid] = true
}

func (s *Session) wasExpected(pid int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer delete(s.expected, pid)
	return s.expected[pid]
}

// rememberPids keeps who runs for the next command, in case this process is
// killed.
func (s *Session) rememberPids() {
	pids := map[string]Pid{roleSession: pidOf(os.Getpid())}
	if c := s.controlPlane(); c.alive() {
		pids[roleControlPlane] = pidOf(c.cmd.Process.Pid)
	}
	for _, e := range s.running() {
		pids[roleEnvoy+"-"+itoa(e.proc.Epoch())] = pidOf(e.proc.Pid())
	}
	s.run.Pids = pids
}

// LastEpoch is the highest epoch of Envoy that the run remembers as running,
// 0 where there is none.
func (f Folder) LastEpoch() int {
	last := 0
	if run, err := f.Load(); err == nil {
		for role := range run.Pids {
			if n, err := strconv.Atoi(strings.TrimPrefix(role, roleEnvoy+"-")); err == nil {
				last = max(last, n)
			}
		}
	}
	return last
}

func pidOf(pid int) Pid { return Pid{Pid: pid, Start: startTime(pid)} }

// startTime is when the kernel started a process, in its own ticks ("" where
// it has ended or the system does not show it): field 22 of proc(5) stat. A
// zombie has ended; who adopts it may take seconds to collect it.
func startTime(pid int) string {
	raw, err := os.ReadFile("/proc/" + itoa(pid) + "/stat")
	if err != nil {
		return ""
	}
	_, rest, ok := strings.Cut(string(raw), ") ")
	fields := strings.Fields(rest)
	if !ok || len(fields) < 20 || fields[0] == "Z" {
		return ""
	}
	return fields[19]
}

// Running tells whether the process that was remembered still runs.
func (p Pid) Running() bool {
	return p.Pid > 0 && p.Start != "" && startTime(p.Pid) == p.Start
}

const sigKill = syscall.SIGKILL

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func sha(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// stepParams are the values that the current step's text names. The caller
// holds mu.
func (s *Session) stepParams() map[string]string {
	step, ok := s.lab.Step(s.steps.current)
	if !ok {
		return map[string]string{}
	}
	params, err := step.Params(s.moment("lab"))
	if err != nil {
		return map[string]string{}
	}
	return params
}
