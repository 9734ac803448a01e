package child

import (
	"errors"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// start keeps the thread that forked alive for as long as the child lives:
// the parent-death signal is sent when the *thread* that created the child
// ends, not the process (Linux man page prctl(2), PR_SET_PDEATHSIG), and the
// Go runtime may end an idle thread at any time.
func start(cmd *exec.Cmd) error {
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if err := cmd.Start(); err != nil {
			started <- err
			return
		}
		pid := cmd.Process.Pid
		started <- nil
		awaitEnd(pid)
	}()
	return <-started
}

// awaitEnd blocks the thread until the child has ended and leaves it to the
// caller's cmd.Wait to reap it. Where the caller was faster there is no such
// child any more, which is an end as well.
func awaitEnd(pid int) {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}
