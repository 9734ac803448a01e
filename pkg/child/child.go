// Package child starts processes that do not outlive the one that started
// them, so that a killed session leaves no Envoy and no control plane behind.
//
// It must not know what it starts, restart anything, or reap a process: the
// caller still calls cmd.Wait.
package child

import (
	"os/exec"
	"syscall"
)

// Start is cmd.Start for a process in a group of its own (a Ctrl-C at the
// terminal does not reach it) that the kernel kills when this process dies, by
// whatever means. The second half holds on Linux only; elsewhere a SIGKILL of
// this process leaves the child to be found by the next command.
//
// Any goroutine may call it. The caller must call cmd.Wait, as after cmd.Start.
func Start(cmd *exec.Cmd) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	return start(cmd)
}
