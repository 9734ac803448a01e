//go:build !linux

package child

import "os/exec"

// start has no parent-death signal here.
func start(cmd *exec.Cmd) error { return cmd.Start() }
