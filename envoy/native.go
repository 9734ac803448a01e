package envoy

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Native runs Envoy as a process of this machine. It is the Runner for
// Runtime "native".
type Native struct {
	Binary    string // path of the Envoy binary
	Bootstrap string // path of the bootstrap file
	BaseID    int    // from PickBaseID; one for each run
	Dir       string // existing 0700 folder for the admin address files
	LogDir    string // existing 0700 folder for envoy-EPOCH.log

	// DrainTime is how long an old epoch takes to close its connections,
	// ParentShutdown when it is ended; both count from the start of the new
	// one, in whole seconds, and the second must be the longer.
	DrainTime, ParentShutdown time.Duration
	Concurrency               int // worker threads; 0 is 1, so that round robin can be counted

	// Spawn starts the command: child.Start, so that no Envoy outlives the
	// session.
	Spawn func(*exec.Cmd) error
}

var _ Runner = (*Native)(nil)

// LogFile is where the Envoy of an epoch logs. A file that is there is
// continued, never cut.
func (n *Native) LogFile(epoch int) string {
	return filepath.Join(n.LogDir, fmt.Sprintf("envoy-%d.log", epoch))
}

// Start starts the Envoy of an epoch.
func (n *Native) Start(epoch int) (Process, error) {
	addressFile := filepath.Join(n.Dir, fmt.Sprintf("admin-%d.address", epoch))
	// A file of an earlier start would lead to an admin interface that is no
	// longer there, or is another's.
	if err := os.Remove(addressFile); err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	log, err := os.OpenFile(n.LogFile(epoch), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }() // Envoy holds its own descriptor
	from, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(n.Binary, n.args(epoch, addressFile)...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = environment(os.Environ())
	if err := n.Spawn(cmd); err != nil {
		return nil, startProblem(n.Binary, err)
	}
	p := &process{
		cmd: cmd, epoch: epoch, baseID: n.BaseID, addressFile: addressFile,
		logFile: n.LogFile(epoch), logFrom: from, done: make(chan struct{}),
	}
	go p.wait()
	return p, nil
}

// args are the arguments of an epoch (Envoy docs, operations/cli). The access
// log is flushed often, since a learner looks at it right after a request.
func (n *Native) args(epoch int, addressFile string) []string {
	seconds := func(d time.Duration) string { return strconv.Itoa(int(d / time.Second)) }
	return []string{
		"-c", n.Bootstrap,
		"--base-id", strconv.Itoa(n.BaseID),
		"--restart-epoch", strconv.Itoa(epoch),
		"--drain-time-s", seconds(n.DrainTime),
		"--parent-shutdown-time-s", seconds(n.ParentShutdown),
		"--concurrency", strconv.Itoa(cmp.Or(n.Concurrency, 1)),
		"--file-flush-interval-msec", "20",
		"--admin-address-path", addressFile,
		"-l", "info",
	}
}

// Clean removes the shared memory of the base id.
func (n *Native) Clean() error { return CleanShm(n.BaseID) }

// environment drops what would bend the stream to the control plane: the gRPC
// library that google_grpc uses reads the proxy variables and its own, also
// for a loopback target (gRPC docs, environment_variables.md).
func environment(env []string) []string {
	var kept []string
	for _, e := range env {
		name, _, _ := strings.Cut(e, "=")
		if strings.HasSuffix(strings.ToLower(name), "_proxy") || strings.HasPrefix(name, "GRPC_") {
			continue
		}
		kept = append(kept, e)
	}
	return kept
}
