package controlplane

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"lab/pkg/snapshot"
)

// stateVersion is the format of the state file.
const stateVersion = 1

// maxCounted is the largest explicit version from which counting goes on.
const maxCounted = 1 << 53

// state is what a restarted control plane has to know, so that it serves the
// same version for the same content and never one version for two.
type state struct {
	FormatVersion int    `json:"format_version"`
	Version       string `json:"version"` // in force; "": none yet
	ContentHash   string `json:"content_hash"`
	Last          int64  `json:"last"` // the last integer that was a version
}

// ledger decides which version a content has.
type ledger struct {
	file string
	state
}

// openLedger reads the state file. Where there is none, or none that can be
// read, it starts with first (0 means 1); the error then says what was lost
// and is nil for a file that is not there.
func openLedger(file string, first int64) (*ledger, error) {
	l := &ledger{file: file, state: state{FormatVersion: stateVersion, Last: max(first, 1) - 1}}
	if file == "" {
		return l, nil
	}
	raw, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return l, nil
	}
	var s state
	if err == nil {
		err = json.Unmarshal(raw, &s)
	}
	if err == nil && s.FormatVersion != stateVersion {
		err = fmt.Errorf("format %d, want %d", s.FormatVersion, stateVersion)
	}
	if err == nil && (s.Version == "" || s.ContentHash == "" || s.Last < 0) {
		err = errors.New("not a state")
	}
	if err != nil {
		return l, err
	}
	l.state = s
	return l, nil
}

// decide gives the version of a set and whether it differs from what is in
// force. Not ok is a set that has other content under the version in force:
// Envoy compares versions, and would never be told.
func (l *ledger) decide(set *snapshot.Set) (version string, changed, ok bool) {
	hash := set.ContentHash()
	same := l.Version != "" && hash == l.ContentHash
	switch {
	case set.Explicit && set.Version == l.Version:
		return l.Version, false, same
	case set.Explicit:
		version = set.Version
		if n, err := strconv.ParseInt(version, 10, 64); err == nil && n > l.Last && n < maxCounted {
			l.Last = n
		}
	case same:
		return l.Version, false, true
	default:
		l.Last++
		version = strconv.FormatInt(l.Last, 10)
	}
	l.Version, l.ContentHash = version, hash
	return version, true, true
}

// save writes the state in place of the old one, whole or not at all.
func (l *ledger) save() error {
	if l.file == "" {
		return nil
	}
	raw, err := json.Marshal(l.state)
	if err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(l.file), filepath.Base(l.file)+".*") // 0600
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name()) // not there any more when all went well
	_, err = tmp.Write(append(raw, '\n'))
	if err = errors.Join(err, tmp.Sync(), tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), l.file)
}
