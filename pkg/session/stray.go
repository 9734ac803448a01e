package session

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"lab/pkg/control"
	"lab/pkg/problem"
)

// Who is what a session says of itself to somebody who has only its socket.
type Who struct {
	Dir string `json:"dir"`
	Pid Pid    `json:"pid"`
}

// whoWithin bounds how long the sessions of this user may take to say who they
// are.
const whoWithin = time.Second

// stray finds a session that was started for this folder and lost it: the
// folder was moved or deleted, and run.json with it.
func (f Folder) stray(ctx context.Context) (socket string, who Who, ok bool) {
	dir, err := socketDir()
	if err != nil {
		return "", Who{}, false
	}
	sockets, _ := filepath.Glob(filepath.Join(dir, "*.sock")) // the pattern is good
	ctx, cancel := context.WithTimeout(ctx, whoWithin)
	defer cancel()
	for _, socket := range sockets {
		who, err := control.Call[Ask, Who](ctx, socket, "/who", Ask{})
		if err == nil && who.Dir == f.Dir {
			return socket, who, true
		}
	}
	return "", Who{}, false
}

// StopStray ends the session that lost this folder, and tells whether there
// was one.
func (f Folder) StopStray(ctx context.Context) (bool, error) {
	socket, who, ok := f.stray(ctx)
	if !ok {
		return false, nil
	}
	_, _ = control.Call[Ask, Nothing](ctx, socket, "/stop", Ask{}) // its end may cut off its answer
	return true, f.awaitEnd(ctx, func() bool { return !who.Pid.Running() })
}

// gone is a problem when this is no longer the folder that the session was
// started in: nothing may be read or written there in its name.
func (s *Session) gone() error {
	now, err := os.Stat(s.folder.path(""))
	if err == nil && os.SameFile(now, s.home) {
		return nil
	}
	return folderGone(s.folder)
}

func folderGone(f Folder) error {
	return problem.New("session.folder-gone", problem.Args{"Dir": f.Dir})
}

// save writes run.json, unless the folder is another one by now.
func (s *Session) save() error {
	if err := s.gone(); err != nil {
		return err
	}
	return s.folder.Save(s.run)
}
