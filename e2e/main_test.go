// Package e2e breaks runs on purpose: it kills parts, fills disks, damages
// files and types nonsense, all on the real command line, the real processes
// and the real Envoy. It tells what a person is told then, and that nothing is
// left behind.
//
// What a lab teaches and how it grades is proved elsewhere (lab dev prove).
package e2e

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"lab/pkg/cli"
	"lab/pkg/labtest"
	"lab/pkg/report"
	"lab/pkg/session"
)

func TestMain(m *testing.M) { labtest.Main(m, cli.Main) }

// chance gives random moments. The seed is LAB_TEST_SEED or the time's, and is
// logged, so that a failure can be had again.
func chance(t *testing.T) *rand.Rand {
	t.Helper()
	seed, err := strconv.ParseUint(os.Getenv("LAB_TEST_SEED"), 10, 64)
	if err != nil {
		seed = uint64(time.Now().UnixNano()) //nolint:gosec // a seed
	}
	t.Logf("LAB_TEST_SEED=%d", seed)
	h := fnv.New64a()
	_, _ = h.Write([]byte(t.Name()))
	return rand.New(rand.NewPCG(seed, h.Sum64())) //nolint:gosec // no secret
}

// moment lets a random time pass, up to most.
func moment(rnd *rand.Rand, most time.Duration) {
	<-time.After(time.Duration(rnd.Int64N(int64(most))))
}

// load is run.json of a folder.
func load(t *testing.T, dir string) *session.Run {
	t.Helper()
	run, err := session.Folder{Dir: dir}.Load()
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// document is what a command printed with -o json: one document, nothing else.
func document(t *testing.T, r labtest.Result) map[string]any {
	t.Helper()
	var doc map[string]any
	dec := json.NewDecoder(strings.NewReader(r.Out))
	if err := dec.Decode(&doc); err != nil {
		t.Fatalf("no JSON document (exit status %d): %v\n%s%s", r.Code, err, r.Out, r.Err)
	}
	if dec.More() {
		t.Fatalf("more than one JSON document:\n%s", r.Out)
	}
	if doc["version"] != float64(1) {
		t.Errorf("version %v in\n%s", doc["version"], r.Out)
	}
	return doc
}

// refusal is the code of the problem that a command ended with.
func refusal(t *testing.T, r labtest.Result) string {
	t.Helper()
	var e report.Error
	document(t, r)
	if err := json.Unmarshal([]byte(r.Out), &e); err != nil {
		t.Fatal(err)
	}
	if int(e.Problem.Exit) != r.Code {
		t.Errorf("the document says exit status %d, it was %d", e.Problem.Exit, r.Code)
	}
	if blank.MatchString(e.Problem.Text+e.Problem.Fix) || e.Problem.Text == "" {
		t.Errorf("words are missing in %q, %q", e.Problem.Text, e.Problem.Fix)
	}
	return e.Problem.Code
}

// blank finds a message id without words, and a value that was not given.
var blank = regexp.MustCompile(`<[a-z-]+\.[a-z.-]+>|<no value>`)

// refused runs lab -o json and wants a refusal with the exit status and one of
// the codes.
func refused(t *testing.T, l *labtest.Lab, exit int, codes string, args ...string) {
	t.Helper()
	r := l.Want(exit, append([]string{"-o", "json"}, args...)...)
	if got := refusal(t, r); !strings.Contains(" "+codes+" ", " "+got+" ") {
		t.Errorf("lab %s: code %s, want %s\n%s", strings.Join(args, " "), got, codes, r.Out)
	}
}

// nothingLeft wants that a stopped run left no process, port, socket or shared
// memory.
func nothingLeft(t *testing.T, l *labtest.Lab, run *session.Run) {
	t.Helper()
	for _, p := range l.Processes() {
		t.Errorf("left: process %s", p)
	}
	if _, err := os.Lstat(run.Socket); err == nil {
		t.Errorf("left: socket %s", run.Socket)
	}
	if run.BaseID != 0 {
		left, _ := filepath.Glob(fmt.Sprintf("/dev/shm/*_%d*", run.BaseID))
		for _, f := range left {
			t.Errorf("left: shared memory %s", f)
		}
	}
	for name, addr := range addresses(run) {
		c, err := net.DialTimeout("tcp", addr, time.Second)
		if err == nil {
			_ = c.Close()
			t.Errorf("left: somebody listens on %s (%s)", addr, name)
		}
	}
}

func addresses(run *session.Run) map[string]string {
	all := map[string]string{}
	for name, p := range run.Ports {
		all[name] = fmt.Sprintf("127.0.0.1:%d", p)
	}
	for name, a := range run.Upstreams {
		all[name] = a
	}
	return all
}

// stopped ends the run and wants nothing left.
func stopped(t *testing.T, l *labtest.Lab, dir string) {
	t.Helper()
	run := load(t, dir)
	l.OK("stop", "--dir", dir)
	nothingLeft(t, l, run)
}

// serving waits until everything is up and Envoy has what the file says.
func serving(t *testing.T, l *labtest.Lab) report.Status {
	t.Helper()
	var st report.Status
	up := false
	defer func() {
		if !up {
			t.Logf("down %+v, types %+v, refused %+v, withheld %+v, ready %v", st.Down, st.Types, st.Refused, st.Withheld, st.Envoy.Ready)
		}
	}()
	l.Await("everything up, and each type acknowledged and in effect", func() bool {
		st = l.Status()
		up = len(st.Down) == 0 && settled(st)
		return up
	})
	return st
}

func settled(st report.Status) bool {
	for _, x := range []string{"CDS", "EDS", "LDS", "RDS"} {
		ts := st.Types[x]
		if ts.Acked == "" || ts.Acked != ts.Sent || ts.InEffect != ts.Acked {
			return false
		}
	}
	return st.Envoy.Ready
}

// pidOf is the process of a part, 0 while there is none.
func pidOf(l *labtest.Lab, part string) int {
	word := map[string]string{"session": " session serve ", "control-plane": " control-plane serve ", "envoy": "--base-id "}[part]
	for _, p := range l.Processes() {
		if pid, line, _ := strings.Cut(p, " "); strings.Contains(" "+line+" ", word) {
			n, _ := strconv.Atoi(pid)
			return n
		}
	}
	return 0
}

// kill kills a part and waits until the system says that it is gone.
func kill(t *testing.T, l *labtest.Lab, part string) {
	t.Helper()
	pid := pidOf(l, part)
	if pid == 0 {
		t.Fatalf("no process of %s among\n%s", part, strings.Join(l.Processes(), "\n"))
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	l.Await(part+" gone", func() bool { return pidOf(l, part) != pid })
}
