package watch

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// beingWritten asks the kernel whether a process has the file open for
// writing: a read lease is refused with EAGAIN then (fcntl(2), F_SETLEASE).
// Where the filesystem has no leases, or the file belongs to another user, the
// answer is no, and the quiet time has to do.
//
// The lease is given back at once; a process that opens the file for writing
// in between waits for these few microseconds.
func beingWritten(f *os.File) bool {
	_, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_RDLCK)
	if err == nil {
		_, _ = unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_UNLCK)
	}
	return errors.Is(err, unix.EAGAIN)
}
