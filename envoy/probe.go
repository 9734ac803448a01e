package envoy

import (
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"time"

	"lab/pkg/problem"
)

// versionLine is what "envoy --version" prints (Envoy docs, operations/cli):
// "PATH  version: COMMIT/1.40.0/Clean/RELEASE/BoringSSL".
var versionLine = regexp.MustCompile(`version: [0-9a-f]+/(\d+\.\d+\.\d+)[^/\s]*/`)

// glibcMissing is the dynamic loader's complaint.
var glibcMissing = regexp.MustCompile("version [`']GLIBC_([0-9.]+)' not found")

// probe runs "binary --version" and gives the version, or the problem that
// keeps the binary from running here.
func probe(ctx context.Context, binary string) (string, error) {
	info, err := os.Stat(binary)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", problem.New("envoy.no-file", problem.Args{"Path": binary})
	case err != nil:
		return "", err
	case info.IsDir() || info.Mode()&0o111 == 0:
		return "", problem.New("envoy.not-executable", problem.Args{"Path": binary})
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	out, err := askVersion(ctx, binary)
	if m := versionLine.FindSubmatch(out); m != nil {
		return string(m[1]), nil
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && ctx.Err() == nil {
		return "", startProblem(binary, err)
	}
	if m := glibcMissing.FindSubmatch(out); m != nil {
		return "", oldGlibc(binary, string(m[1]))
	}
	return "", problem.New("envoy.not-envoy", problem.Args{"Path": binary, "Said": lastLines(out, 1)}).Wrap(err)
}

// askVersion runs "binary --version". A binary that was written a moment ago
// may be busy: a process forked meanwhile holds its descriptor until it runs
// its own program, some milliseconds later.
func askVersion(ctx context.Context, binary string) ([]byte, error) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		cmd := exec.CommandContext(ctx, binary, "--version")
		cmd.WaitDelay = time.Second
		out, err := cmd.CombinedOutput()
		if !errors.Is(err, syscall.ETXTBSY) {
			return out, err
		}
		select {
		case <-ctx.Done():
			return out, err
		case <-tick.C:
		}
	}
}

// startProblem tells why the kernel did not start a binary that is there.
func startProblem(binary string, err error) error {
	args := problem.Args{"Path": binary}
	found, isELF := machine(binary)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return problem.New("envoy.not-executable", args).Wrap(err)
	case errors.Is(err, fs.ErrNotExist):
		if _, serr := os.Stat(binary); serr != nil {
			return problem.New("envoy.no-file", args).Wrap(err)
		}
		// The file is there: what is not is the loader that it names, as on
		// systems with another C library.
		return oldGlibc(binary, "").Wrap(err)
	case errors.Is(err, syscall.ENOEXEC) && isELF && found != runtime.GOARCH:
		args["Found"], args["Needed"] = found, runtime.GOARCH
		return problem.New("envoy.wrong-arch", args).Wrap(err)
	case errors.Is(err, syscall.ENOEXEC):
		args["Said"] = ""
		return problem.New("envoy.not-envoy", args).Wrap(err)
	}
	return fmt.Errorf("start %s: %w", binary, err)
}

// machine is the GOARCH that an ELF file is for.
func machine(binary string) (arch string, isELF bool) {
	f, err := elf.Open(binary)
	if err != nil {
		return "", false
	}
	defer func() { _ = f.Close() }()
	switch f.Machine {
	case elf.EM_X86_64:
		return "amd64", true
	case elf.EM_AARCH64:
		return "arm64", true
	default:
		return f.Machine.String(), true
	}
}

// oldGlibc is the problem of a C library that is too old, or another one.
// needed "" takes the version that the wheels are built for.
func oldGlibc(binary, needed string) *problem.Problem {
	if c, err := readCatalog(); err == nil && needed == "" {
		needed = c.MinGlibc
	}
	return problem.New("envoy.old-glibc", problem.Args{"Path": binary, "Found": glibc(), "Needed": needed})
}

// glibc is the version of this machine's glibc, or "" where it has none.
func glibc() string {
	out, err := exec.Command("getconf", "GNU_LIBC_VERSION").Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(strings.TrimPrefix(string(out), "glibc"))
}
