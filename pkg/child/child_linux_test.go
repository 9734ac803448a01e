package child

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestMain lets the test binary play the parent that is killed.
func TestMain(m *testing.M) {
	if os.Getenv("CHILD_TEST_PARENT") == "" {
		os.Exit(m.Run())
	}
	cmd := exec.Command("sleep", "600")
	if err := Start(cmd); err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	fmt.Println(cmd.Process.Pid)
	// Busy goroutines on threads that come and go: a child that was bound to
	// one of them would die too early.
	for range 20 {
		done := make(chan struct{})
		go func() { runtime.LockOSThread(); close(done) }()
		<-done
	}
	fmt.Println("busy")
	_ = cmd.Wait()
}

func TestKilledParentTakesChildAlong(t *testing.T) {
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), "CHILD_TEST_PARENT=1")
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = parent.Wait() }()
	sc := bufio.NewScanner(out)
	sc.Scan()
	pid, err := strconv.Atoi(strings.TrimSpace(sc.Text()))
	if err != nil {
		t.Fatalf("parent said %q", sc.Text())
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(fd) }()
	sc.Scan()
	if sc.Text() != "busy" || ended(t, fd, 0) {
		t.Fatalf("child %d ended while its parent lived (parent said %q)", pid, sc.Text())
	}
	if g, err := syscall.Getpgid(pid); err != nil || g != pid {
		t.Errorf("process group %d, %v; want its own", g, err)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if !ended(t, fd, 10*time.Second) {
		_ = syscall.Kill(pid, syscall.SIGKILL)
		t.Errorf("child %d still lives 10 s after its parent was killed", pid)
	}
}

// ended waits until the process behind fd has ended, at most for d.
func ended(t *testing.T, fd int, d time.Duration) bool {
	t.Helper()
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(d.Milliseconds()))
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		return n == 1
	}
}

func TestStartReportsErrorAndExit(t *testing.T) {
	if err := Start(exec.Command("/nonexistent/program")); err == nil {
		t.Error("no error for a program that is not there")
	}
	cmd := exec.Command("sh", "-c", "exit 7")
	if err := Start(cmd); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 7 {
		t.Errorf("Wait: %v; want exit status 7", err)
	}
}
