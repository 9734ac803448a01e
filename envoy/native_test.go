package envoy

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"lab/pkg/child"
)

// idle is a bootstrap without a control plane: LIVE at once.
const idle = `{"node":{"id":"n","cluster":"c"},"admin":{"address":{"socket_address":{"address":"127.0.0.1","port_value":%d}}}}`

// patience is how long a test waits for what takes milliseconds on a quiet
// machine.
const patience = 30 * time.Second

func newNative(t *testing.T, bootstrap string) *Native {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "bootstrap.json")
	if err := os.WriteFile(file, []byte(bootstrap), 0o600); err != nil {
		t.Fatal(err)
	}
	id, err := PickBaseID(rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())))
	if err != nil {
		t.Fatal(err)
	}
	n := &Native{
		Binary: testEnvoy(t), Bootstrap: file, BaseID: id, Dir: dir, LogDir: dir,
		DrainTime: time.Second, ParentShutdown: 2 * time.Second, Spawn: child.Start,
	}
	t.Cleanup(func() {
		if err := n.Clean(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(shmFile(shmDir, id)); err == nil {
			t.Errorf("shared memory of base id %d is still there", id)
		}
	})
	return n
}

// start starts an epoch that is stopped at the end of the test.
func start(t *testing.T, n *Native, epoch int) Process {
	t.Helper()
	p, err := n.Start(epoch)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { Stop(p, 5*time.Second) })
	return p
}

func ready(t *testing.T, p Process) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := p.WaitReady(ctx); err != nil {
		t.Fatalf("epoch %d: %v", p.Epoch(), err)
	}
}

// ended waits for the end of a process.
func ended(t *testing.T, p Process) {
	t.Helper()
	select {
	case <-p.Done():
	case <-time.After(patience):
		t.Fatalf("Envoy %d of epoch %d did not end in %s", p.Pid(), p.Epoch(), patience)
	}
}

func TestStartReadyStop(t *testing.T) {
	t.Parallel()
	n := newNative(t, fmt.Sprintf(idle, 0))
	p := start(t, n, 0)
	if p.Exit() != (Exit{}) {
		t.Errorf("exit before the end: %+v", p.Exit())
	}
	ready(t, p)
	if host, _, err := net.SplitHostPort(p.AdminAddr()); err != nil || host != "127.0.0.1" {
		t.Errorf("admin address %q", p.AdminAddr())
	}
	if info, err := os.Stat(n.LogFile(0)); err != nil || info.Mode().Perm() != 0o600 || info.Size() == 0 {
		t.Errorf("log: %v, %v", info, err)
	}
	Stop(p, 5*time.Second)
	if p.Exit() != (Exit{}) { // Envoy takes SIGTERM and exits with 0
		t.Errorf("exit %+v", p.Exit())
	}
	if _, err := net.Dial("tcp", p.AdminAddr()); err == nil {
		t.Error("the admin port is still open")
	}
}

func TestStopKillsWhatDoesNotListen(t *testing.T) {
	t.Parallel()
	n := newNative(t, fmt.Sprintf(idle, 0))
	p := start(t, n, 0)
	ready(t, p)
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	Stop(p, 50*time.Millisecond)
	if got := p.Exit(); got.Signal != "SIGKILL" || got.Code != -1 {
		t.Errorf("exit %+v", got)
	}
	pr := wantProblem(t, p.Problem(), "envoy.exited")
	if !strings.Contains(pr.Error(), "SIGKILL") {
		t.Error(pr)
	}
}

func TestHotRestart(t *testing.T) {
	t.Parallel()
	n := newNative(t, fmt.Sprintf(idle, 0))
	old := start(t, n, 0)
	ready(t, old)
	p := start(t, n, 1)
	ready(t, p)
	ended(t, old) // at the parent shutdown time
	if old.Exit() != (Exit{}) {
		t.Errorf("old epoch: %+v", old.Exit())
	}
	select {
	case <-p.Done():
		t.Error(p.Problem())
	default:
	}
}

func TestKnownFailures(t *testing.T) {
	t.Parallel()
	t.Run("base id taken", func(t *testing.T) {
		t.Parallel()
		n := newNative(t, fmt.Sprintf(idle, 0))
		first := start(t, n, 0)
		ready(t, first)
		p := wantProblem(t, start(t, n, 0).WaitReady(t.Context()), "envoy.base-id-taken")
		if want := fmt.Sprintf("pid %d (", first.Pid()); !strings.Contains(p.Error(), want) {
			t.Errorf("holder %s is not named: %v", want, p)
		}
	})
	t.Run("no parent", func(t *testing.T) {
		t.Parallel()
		n := newNative(t, fmt.Sprintf(idle, 0))
		wantProblem(t, start(t, n, 1).WaitReady(t.Context()), "envoy.shm")
	})
	t.Run("parent still initializing", func(t *testing.T) {
		t.Parallel()
		n := newNative(t, fmt.Sprintf(idle, 0))
		ready(t, start(t, n, 0))
		bad := *n
		bad.Bootstrap = filepath.Join(t.TempDir(), "bad.json")
		if err := os.WriteFile(bad.Bootstrap, []byte(`{"nosuch":1}`), 0o600); err != nil {
			t.Fatal(err)
		}
		p := wantProblem(t, start(t, &bad, 1).WaitReady(t.Context()), "envoy.exited")
		if !strings.Contains(p.Error(), "nosuch") {
			t.Errorf("the reason is not in it: %v", p)
		}
		p = wantProblem(t, start(t, n, 1).WaitReady(t.Context()), "envoy.parent-initializing")
		if strings.Contains(fmt.Sprint(p.Args["Log"]), "nosuch") {
			t.Errorf("the log of an earlier start is in it: %v", p.Args["Log"])
		}
	})
	t.Run("port taken", func(t *testing.T) {
		t.Parallel()
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = l.Close() }()
		n := newNative(t, fmt.Sprintf(idle, l.Addr().(*net.TCPAddr).Port))
		p := wantProblem(t, start(t, n, 0).WaitReady(t.Context()), "envoy.port-taken")
		if p.Args["Address"] != l.Addr().String() {
			t.Errorf("address %v", p.Args["Address"])
		}
	})
	t.Run("no control plane", func(t *testing.T) {
		t.Parallel()
		b, err := Bootstrap(BootstrapConfig{NodeID: "n", NodeCluster: "c", ControlPlane: refusing(t)})
		if err != nil {
			t.Fatal(err)
		}
		proc := start(t, newNative(t, string(b)), 0)
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		if err := proc.WaitAdmin(ctx); err != nil {
			t.Fatal(err)
		}
		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		p := wantProblem(t, proc.WaitReady(ctx), "envoy.not-ready")
		if p.Args["State"] != "PRE_INITIALIZING" {
			t.Errorf("state %v", p.Args["State"])
		}
	})
	t.Run("not a program", func(t *testing.T) {
		t.Parallel()
		n := newNative(t, fmt.Sprintf(idle, 0))
		n.Binary = filepath.Join(t.TempDir(), "nosuch")
		_, err := n.Start(0)
		wantProblem(t, err, "envoy.no-file")
	})
}

func TestForeignAdminIsNotTaken(t *testing.T) {
	t.Parallel()
	n := newNative(t, fmt.Sprintf(idle, 0))
	other := start(t, n, 0)
	ready(t, other)
	file := filepath.Join(t.TempDir(), "admin.address")
	if err := os.WriteFile(file, []byte(other.AdminAddr()), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, p := range []*process{
		{epoch: 0, baseID: n.BaseID + 1, addressFile: file},
		{epoch: 1, baseID: n.BaseID, addressFile: file},
	} {
		if _, ok := p.findAdmin(t.Context()); ok || p.AdminAddr() != "" {
			t.Errorf("took the admin interface of another Envoy (epoch %d, base id %d)", p.epoch, p.baseID)
		}
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	n := newNative(t, fmt.Sprintf(idle, 0))
	ready(t, start(t, n, 0)) // a running Envoy is not in the way
	if err := Validate(t.Context(), n.Binary, n.Bootstrap); err != nil {
		t.Error(err)
	}
	bad := filepath.Join(t.TempDir(), "bad.json")
	if err := os.WriteFile(bad, []byte(`{"nosuch":1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	p := wantProblem(t, Validate(t.Context(), n.Binary, bad), "envoy.bootstrap")
	if !strings.Contains(p.Error(), "nosuch") {
		t.Error(p)
	}
	wantProblem(t, Validate(t.Context(), "/nonexistent/envoy", n.Bootstrap), "envoy.no-file")
}

func TestBaseIDs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, err := pickBaseID(rand.New(rand.NewPCG(1, 2)), dir)
	if err != nil || first < minBaseID || first >= maxBaseID {
		t.Fatalf("%d, %v", first, err)
	}
	if err := os.WriteFile(shmFile(dir, first), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	second, err := pickBaseID(rand.New(rand.NewPCG(1, 2)), dir)
	if err != nil || second == first {
		t.Fatalf("%d, %v: the first choice %d is taken", second, err, first)
	}
	if err := cleanShm(dir, first); err != nil {
		t.Error(err)
	}
	if err := cleanShm(dir, first); err != nil {
		t.Errorf("nothing to clean: %v", err)
	}
	target := filepath.Join(dir, "precious")
	if err := os.Symlink(target, shmFile(dir, second)); err != nil {
		t.Fatal(err)
	}
	if err := cleanShm(dir, second); err == nil {
		t.Error("removed what is not a plain file")
	}
}

// TestKilledParentLeavesNoEnvoy kills a process that runs an Envoy.
func TestKilledParentLeavesNoEnvoy(t *testing.T) {
	t.Parallel()
	n := newNative(t, fmt.Sprintf(idle, 0))
	raw, err := json.Marshal(map[string]any{"Binary": n.Binary, "Bootstrap": n.Bootstrap, "Dir": n.Dir, "BaseID": n.BaseID})
	if err != nil {
		t.Fatal(err)
	}
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), "ENVOY_TEST_PARENT="+string(raw))
	parent.Stderr = os.Stderr
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	var addr string
	_, serr := fmt.Fscanln(out, &addr)
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait() // killed
	if serr != nil {
		t.Fatalf("parent: %v", serr)
	}
	deadline := time.Now().Add(patience)
	for { // the kernel closes the port when the process is gone
		c, err := net.Dial("tcp", addr)
		if err != nil {
			return
		}
		_ = c.Close()
		if time.Now().After(deadline) {
			t.Fatalf("Envoy still listens on %s, %s after its parent was killed", addr, patience)
		}
	}
}

// TestMain lets the test binary play the parent that is killed.
func TestMain(m *testing.M) {
	raw := os.Getenv("ENVOY_TEST_PARENT")
	if raw == "" {
		os.Exit(m.Run())
	}
	n := Native{Spawn: child.Start}
	var p Process
	err := json.Unmarshal([]byte(raw), &n)
	if err == nil {
		n.LogDir, n.DrainTime, n.ParentShutdown = n.Dir, time.Second, 2*time.Second
		p, err = n.Start(0)
	}
	if err == nil {
		err = p.WaitReady(context.Background())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(p.AdminAddr())
	<-p.Done()
}
