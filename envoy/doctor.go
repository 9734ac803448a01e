package envoy

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"lab/pkg/problem"
	"lab/pkg/words"
)

// Level says how a Finding matters.
type Level string

// The levels of findings.
const (
	OK   Level = "ok"   // there, or can be had
	Note Level = "note" // worth knowing, keeps nothing from working
	Bad  Level = "bad"  // keeps Envoy from running here
)

// Finding is one thing that Doctor looked at.
type Finding struct {
	Code    string
	Level   Level
	Args    problem.Args
	Problem *problem.Problem // where a problem says it better
}

// What says what was found, in the language of w.
func (f Finding) What(w *words.Words) string {
	if f.Problem != nil {
		return f.Problem.What(w)
	}
	return w.T("doctor."+f.Code+"."+string(f.Level), f.Args)
}

// Fix gives the one command that mends it, or "" where nothing needs mending.
func (f Finding) Fix(w *words.Words) string {
	switch {
	case f.Problem != nil:
		return f.Problem.Fix(w)
	case f.Level == Bad:
		return w.T("doctor."+f.Code+".fix", f.Args)
	}
	return ""
}

// Doctor looks at what Envoy needs on this machine. It changes nothing and
// fetches nothing.
func Doctor(ctx context.Context, o Options) ([]Finding, error) {
	f, err := newFinder(o)
	if err != nil {
		return nil, err
	}
	return f.doctor(ctx), nil
}

func (f *finder) doctor(ctx context.Context) []Finding {
	findings := f.binaryFindings(ctx)
	if findings[0].Level != OK { // else nothing will be fetched
		findings = append(findings, f.cacheFinding())
	}
	if runtime.GOOS == "linux" {
		findings = append(findings, shmFinding(shmDir))
	}
	return findings
}

// binaryFindings tell which Envoy would run, and where there is none yet,
// whether it could be fetched.
func (f *finder) binaryFindings(ctx context.Context) []Finding {
	if f.Want != "" && !versionLike.MatchString(f.Want) {
		b, err := f.fromPath(ctx, f.Want, FromFlag)
		return []Finding{binaryFinding(b, err)}
	}
	version, err := f.version()
	if err != nil {
		return []Finding{binaryFinding(nil, err)}
	}
	if b := f.cached(version); b != nil {
		return []Finding{binaryFinding(b, nil)}
	}
	var out []Finding
	if path, err := f.lookPath("envoy"); err == nil {
		b, err := f.fromPath(ctx, path, FromPath)
		if err == nil && (b.Version == version || f.Want == "" && f.catalog.supports(b.Version)) {
			return []Finding{binaryFinding(b, nil)}
		}
		args := problem.Args{"Path": path, "Version": "", "Supported": strings.Join(f.catalog.supported(), ", ")}
		if err == nil {
			args["Version"] = b.Version
		}
		out = append(out, Finding{Code: "envoy-path", Level: Note, Args: args})
	}
	return append(out, f.sourceFindings(ctx, version)...)
}

func binaryFinding(b *Binary, err error) Finding {
	if err != nil {
		f := Finding{Code: "envoy", Level: Bad, Args: problem.Args{"Reason": err.Error()}}
		errors.As(err, &f.Problem)
		return f
	}
	return Finding{Code: "envoy", Level: OK, Args: problem.Args{"Path": b.Path, "Version": b.Version, "From": b.From}}
}

// sourceFindings tell whether a version could be fetched.
func (f *finder) sourceFindings(ctx context.Context, version string) []Finding {
	w, ok := f.catalog.Versions[version][f.platform]
	if !ok {
		return []Finding{{Code: "envoy-fetch", Level: Bad, Args: problem.Args{
			"Version": version, "Platform": f.platform,
		}}}
	}
	out := []Finding{{Code: "envoy-fetch", Level: Note, Args: problem.Args{
		"Version": version, "Size": megabytes(w.Size), "Dir": f.dir(version),
	}}}
	name, found := f.findPip(ctx)
	args := problem.Args{"Pip": name, "Python": found, "Command": installPip(f.lookPath)}
	if name == "" {
		return append(out, Finding{Code: "pip", Level: Bad, Args: args})
	}
	return append(out, Finding{Code: "pip", Level: OK, Args: args})
}

// cacheFinding tells whether the cache can be written and has room for the
// version that is wanted.
func (f *finder) cacheFinding() Finding {
	dir := f.CacheDir
	for { // the folders below are made when they are needed
		if _, err := os.Stat(dir); err == nil || filepath.Dir(dir) == dir {
			break
		}
		dir = filepath.Dir(dir)
	}
	need := int64(archiveNeed + spare)
	if v, err := f.version(); err == nil && f.catalog.Versions[v][f.platform].Size > 0 {
		need = f.catalog.Versions[v][f.platform].need() + spare
	}
	args := problem.Args{"Dir": f.CacheDir, "Reason": "", "Free": "", "Need": megabytes(need)}
	if err := tryWrite(dir); err != nil {
		args["Reason"] = err.Error()
		return Finding{Code: "cache", Level: Bad, Args: args}
	}
	free, err := f.free(dir)
	args["Free"] = megabytes(free)
	if err == nil && free < need {
		return Finding{Code: "disk", Level: Bad, Args: args}
	}
	return Finding{Code: "cache", Level: OK, Args: args}
}

// shmFinding tells whether Envoy can keep what a hot restart hands over.
func shmFinding(dir string) Finding {
	args := problem.Args{"Dir": dir, "Reason": ""}
	if err := tryWrite(dir); err != nil {
		args["Reason"] = err.Error()
		return Finding{Code: "shm", Level: Bad, Args: args}
	}
	return Finding{Code: "shm", Level: OK, Args: args}
}

// tryWrite writes and removes a small file.
func tryWrite(dir string) error {
	file, err := os.CreateTemp(dir, "lab-doctor-")
	if err != nil {
		return err
	}
	_, err = file.WriteString("x")
	_ = file.Close()
	if rerr := os.Remove(file.Name()); err == nil {
		err = rerr
	}
	return err
}
