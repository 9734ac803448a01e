package controlplane

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"lab/pkg/problem"
	"lab/pkg/snapshot"
)

// stateFormat is that of the state file.
const stateFormat = 1

// state is what a control plane must know over its restarts: which version the
// content in force has, so that the same content is served under the same
// version, and how far the counter came.
type state struct {
	FormatVersion int    `json:"format_version"`
	Version       string `json:"version"` // in force
	Content       string `json:"content"` // hash of what is in force
	Last          int64  `json:"last"`    // the last number that the counter gave, 0 none
}

// readState reads the file. One that is damaged or of another format gives an
// error and a fresh state: versions start anew, which Envoy survives.
func readState(path string) (state, error) {
	fresh := state{FormatVersion: stateFormat}
	if path == "" {
		return fresh, nil
	}
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fresh, nil
	}
	if err != nil {
		return fresh, err
	}
	var s state
	if err := json.Unmarshal(raw, &s); err != nil {
		return fresh, fmt.Errorf("%s: %w", path, err)
	}
	if s.FormatVersion != stateFormat {
		return fresh, fmt.Errorf("%s: format %d, not %d", path, s.FormatVersion, stateFormat)
	}
	return s, nil
}

// version is the one that the set goes out with: that of the same content in
// force, the one that the file gives, or the next number. Other content under
// the version in force is refused: Envoy compares versions only, and an open
// stream would never see it (reports of exactly this are many).
func (s *state) version(set *snapshot.Set, first int64) (string, *problem.Problem) {
	same := s.Version != "" && s.Content == set.ContentHash()
	switch {
	case same && (!set.Explicit || set.Version == s.Version):
		return s.Version, nil
	case set.Explicit && set.Version == s.Version:
		return "", problem.New("xds.same-version", problem.Args{"Version": set.Version})
	case set.Explicit:
		return set.Version, nil
	}
	next := max(s.Last+1, first)
	for strconv.FormatInt(next, 10) == s.Version {
		next++
	}
	return strconv.FormatInt(next, 10), nil
}

// advance keeps what is in force now, in memory and in the file.
func (s *state) advance(path string, set *snapshot.Set) error {
	if n, err := strconv.ParseInt(set.Version, 10, 64); err == nil && !set.Explicit {
		s.Last = max(s.Last, n)
	}
	s.Version, s.Content = set.Version, set.ContentHash()
	if path == "" {
		return nil
	}
	raw, err := json.Marshal(s)
	if err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // 0600
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(raw)
	if err = errors.Join(err, tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}
