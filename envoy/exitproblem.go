package envoy

import (
	"bytes"
	"io"
	"os"
	"regexp"
	"strings"

	"lab/pkg/problem"
)

// What Envoy prints before it gives up: the same words on every supported
// version. native_test.go provokes each of them.
var (
	baseIDTaken  = regexp.MustCompile(`unable to bind domain socket with base_id=`)
	parentStarts = regexp.MustCompile(`previous envoy process is still initializing`)
	noShm        = regexp.MustCompile(`cannot open shared memory region`)
	portTaken    = regexp.MustCompile(`cannot bind '([^']+)': Address already in use`)
)

// Problem tells how the process ended.
func (p *process) Problem() error {
	exit := p.Exit()
	log := p.tail()
	args := problem.Args{
		"Pid": p.Pid(), "Epoch": p.epoch, "BaseID": p.baseID,
		"Code": exit.Code, "Signal": exit.Signal, "Log": log, "LogFile": p.logFile,
	}
	switch {
	case baseIDTaken.MatchString(log):
		args["Holder"] = holder(p.baseID, p.Pid())
		return problem.New("envoy.base-id-taken", args)
	case parentStarts.MatchString(log):
		return problem.New("envoy.parent-initializing", args)
	case noShm.MatchString(log):
		args["Dir"] = shmDir
		return problem.New("envoy.shm", args)
	}
	if m := portTaken.FindStringSubmatch(log); m != nil {
		args["Address"] = m[1]
		return problem.New("envoy.port-taken", args)
	}
	return problem.New("envoy.exited", args)
}

// tailBytes is enough for a dozen of Envoy's longest lines.
const tailBytes = 64 << 10

// tail gives the last n telling lines of what stands in the file after from,
// or "" when it cannot be read: a log never is the reason for an error.
func tail(file string, from int64, n int) string {
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	if size, err := f.Seek(0, io.SeekEnd); err == nil {
		from = max(from, size-tailBytes)
	}
	if _, err := f.Seek(from, io.SeekStart); err != nil {
		return ""
	}
	raw, err := io.ReadAll(io.LimitReader(f, 2*tailBytes))
	if err != nil {
		return ""
	}
	return lastLines(raw, n)
}

// extensionList matches the lines, about 100 kB at each start, in which Envoy
// lists what is compiled in.
var extensionList = regexp.MustCompile(`^\[[^\]]*\]\[\d+\]\[info\]\[main\] \[source/server/server\.cc:\d+\]   `)

func lastLines(raw []byte, n int) string {
	var lines []string
	for line := range bytes.Lines(raw) {
		l := strings.TrimRight(string(line), "\r\n ")
		if l != "" && !extensionList.MatchString(l) {
			lines = append(lines, l)
		}
	}
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
