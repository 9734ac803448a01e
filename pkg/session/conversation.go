package session

import (
	"context"
	"time"

	"lab/pkg/watch"
)

// conversationWithin bounds the wait for Envoy's answers to the file that is
// there. A file that Envoy rejects or that cannot be sent is no reason to wait:
// status tells.
const conversationWithin = 2 * time.Second

// awaitConversation returns when the journal has Envoy's answer for each type
// of the file.
func (s *Session) awaitConversation(ctx context.Context) {
	_, sum, err := watch.Read(s.folder.Snapshot())
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, conversationWithin)
	defer cancel()
	s.mu.Lock()
	s.wantFile = sum
	s.mu.Unlock()
	s.await(ctx, nil, func() bool {
		for _, tv := range s.view.now().types {
			if tv.reject != nil {
				return true
			}
		}
		return s.view.refused != nil || s.inSync()
	})
}

// inSync tells whether the file in force is what Envoy acknowledged, for every
// type that it has. It is asked under the lock.
func (s *Session) inSync() bool {
	l := s.view.loaded
	if l == nil || s.view.refused != nil || l.SHA256 != s.wantFile {
		return false
	}
	for _, r := range l.Resources {
		tv := s.view.now().types[r.Type]
		if tv == nil || tv.accept[r.Name] != r.Hash {
			return false
		}
	}
	return true
}
