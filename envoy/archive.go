package envoy

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"lab/pkg/problem"

	func_e "github.com/tetratelabs/func-e"
	"github.com/tetratelabs/func-e/api"
)

// Caps on what the archive sends: a release is about 40 MB.
const (
	maxList    = 16 << 20
	maxTarball = 256 << 20
)

// fromArchive fetches the archived official release with func-e and puts it at
// tmp/out/envoy. It gives the binary's SHA-256.
//
// func-e has no call that only installs: Run installs the version, checked
// against the SHA-256 of the published list, and then runs it. So it runs
// "envoy --version", which ends at once. It unpacks while it is still hashing,
// hence the transport that hashes first.
func (f *finder) fromArchive(ctx context.Context, version, tmp string) (string, error) {
	if err := f.room(archiveNeed); err != nil {
		return "", err
	}
	home := filepath.Join(tmp, "func-e")
	t := &archiveTransport{
		base: f.transport, tmp: tmp,
		progress: func(n, total int64) {
			f.Progress(Progress{Stage: StageArchive, Version: version, Dir: f.dir(version), Bytes: n, Total: total})
		},
	}
	t.progress(0, 0)
	options := []api.RunOption{
		api.ConfigHome(filepath.Join(home, "config")), api.DataHome(filepath.Join(home, "data")),
		api.StateHome(filepath.Join(home, "state")), api.RuntimeDir(filepath.Join(home, "run")),
		api.EnvoyVersion(version), api.HTTPTransport(t),
		api.Out(io.Discard), api.EnvoyOut(io.Discard), api.EnvoyErr(io.Discard),
	}
	if f.archiveURL != "" {
		options = append(options, api.EnvoyVersionsURL(f.archiveURL))
	}
	runErr := func_e.Run(ctx, []string{"--version"}, options...)
	if !t.verified || !installed(runErr) {
		return "", f.archiveProblem(runErr, version)
	}
	binary := filepath.Join(home, "data", "envoy-versions", version, "bin", "envoy")
	out := filepath.Join(tmp, "out")
	if err := errors.Join(os.RemoveAll(out), os.Mkdir(out, 0o700)); err != nil {
		return "", f.diskProblem(err, 0)
	}
	if err := os.Rename(binary, filepath.Join(out, "envoy")); err != nil {
		return "", f.diskProblem(err, 0)
	}
	return hashFile(filepath.Join(out, "envoy"))
}

// installed tells whether func-e came as far as running what it had unpacked.
// Whether that runs here is for the caller to find out, with a better reason.
func installed(err error) bool {
	var exit *exec.ExitError
	var start *os.PathError
	return err == nil || errors.As(err, &exit) || errors.As(err, &start) && start.Op == "fork/exec"
}

func (f *finder) archiveProblem(err error, version string) error {
	var p *problem.Problem
	if errors.As(err, &p) {
		return p
	}
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return f.diskProblem(err, archiveNeed)
	}
	said := strings.TrimSuffix(fmt.Sprint(err), ": %!w(<nil>)") // a slip of func-e's
	var urlErr *url.Error
	if errors.As(err, &urlErr) { // the address of the archive tells nobody anything
		said = urlErr.Err.Error()
	}
	return problem.New("envoy.archive", problem.Args{"Version": version, "Said": said}).Wrap(err)
}

// archiveTransport hands func-e a tarball only after its hash was found to be
// the published one, and no more bytes than a release can have.
type archiveTransport struct {
	base     http.RoundTripper
	tmp      string
	progress func(n, total int64)
	sums     map[string]string // tarball -> SHA-256, from the list
	verified bool
}

// headerTimeout is how long the archive may take to begin an answer.
const headerTimeout = 30 * time.Second

func (t *archiveTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(req.Context())
	late := time.AfterFunc(headerTimeout, cancel)
	resp, err := t.base.RoundTrip(req.WithContext(ctx))
	late.Stop()
	if err != nil || resp.StatusCode != http.StatusOK {
		cancel()
		return resp, err
	}
	body := resp.Body
	defer func() { _ = body.Close(); cancel() }()
	if strings.HasSuffix(req.URL.Path, ".json") {
		resp.Body, err = t.list(body)
	} else {
		resp.Body, err = t.tarball(path.Base(req.URL.Path), body, resp.ContentLength)
	}
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// list keeps the published hashes of the list that passes through.
func (t *archiveTransport) list(body io.Reader) (io.ReadCloser, error) {
	raw, err := io.ReadAll(io.LimitReader(body, maxList))
	if err != nil {
		return nil, err
	}
	var l struct {
		SHA256Sums map[string]string `json:"sha256sums"`
	}
	if err := json.Unmarshal(raw, &l); err != nil {
		return nil, fmt.Errorf("list of archived releases: %w", err)
	}
	t.sums = l.SHA256Sums
	return io.NopCloser(bytes.NewReader(raw)), nil
}

// tarball stores the file, compares its hash, and gives it back to be read.
func (t *archiveTransport) tarball(name string, body io.Reader, total int64) (io.ReadCloser, error) {
	file, err := os.CreateTemp(t.tmp, "tarball-")
	if err != nil {
		return nil, err
	}
	h := sha256.New()
	n, err := io.Copy(io.MultiWriter(file, h, &counter{total: total, report: t.progress}), io.LimitReader(body, maxTarball+1))
	sum := hex.EncodeToString(h.Sum(nil))
	switch want := t.sums[name]; {
	case err != nil:
	case n > maxTarball:
		err = fmt.Errorf("%s is larger than %s", name, megabytes(maxTarball))
	case sum != want:
		err = wrongHash(name, want, sum)
	default:
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	t.verified = true
	return file, nil
}

// counter reports bytes as they pass, at each full megabyte.
type counter struct {
	n, total int64
	report   func(n, total int64)
}

func (c *counter) Write(p []byte) (int, error) {
	before := c.n >> 20
	c.n += int64(len(p))
	if c.n>>20 != before {
		c.report(c.n, max(c.total, 0))
	}
	return len(p), nil
}
