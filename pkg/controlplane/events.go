package controlplane

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"

	"lab/pkg/journal"
	"lab/pkg/problem"
	"lab/pkg/snapshot"
	"lab/pkg/words"
)

func (c *controlPlane) emit(e journal.Event) {
	e.Time, e.Source = c.Now(), journal.ControlPlane
	c.Sink.Emit(e)
}

// note journals something about the control plane itself. The learner's file
// stands in File, the reason, where there is one, in Error.
func (c *controlPlane) note(code string, err error) {
	args := map[string]string{"File": c.SnapshotFile}
	if err != nil {
		args["Error"] = err.Error()
	}
	c.emit(journal.Event{Kind: journal.KindNote, Note: &journal.Note{Code: code, Args: args}})
}

// loaded journals a snapshot that is in force, before it is sent. A text that
// changed without its content (a comment, or an error that was undone) is
// journaled with the version that it had: lines may have moved.
func (c *controlPlane) loaded(set *snapshot.Set, problems problem.List) {
	out := &journal.Snapshot{File: c.SnapshotFile, Version: set.Version, Explicit: set.Explicit,
		SHA256: set.SHA256, Problems: plain(problems)}
	for _, r := range set.Resources {
		ref := journal.Resource{Type: r.Type, Name: r.Name, Hash: r.Hash, Line: r.Line}
		if !c.known[r.Hash] {
			body, err := r.Body()
			if err != nil {
				c.note("no-body", err)
			}
			ref.Body, c.known[r.Hash] = body, true
		}
		out.Resources = append(out.Resources, ref)
	}
	c.emit(journal.Event{Kind: journal.KindSnapshotLoaded, Snapshot: out})
}

// refuse journals a file that cannot be read at all.
func (c *controlPlane) refuse(p *problem.Problem) {
	c.refused("", problem.List{p.At(problem.Place{File: c.SnapshotFile})})
}

// refused journals a reading that does not come into force.
func (c *controlPlane) refused(sum string, problems problem.List) {
	c.emit(journal.Event{Kind: journal.KindSnapshotRefused, Snapshot: &journal.Snapshot{
		File: c.SnapshotFile, SHA256: sum, Problems: plain(problems)}})
}

// plain turns problems into what the journal holds.
func plain(problems problem.List) []journal.Problem {
	var out []journal.Problem
	for _, p := range problems {
		j := journal.Problem{Code: p.Code, Text: p.What(words.English()), Warning: p.Warning}
		for name, v := range p.Args {
			if j.Args == nil {
				j.Args = map[string]string{}
			}
			j.Args[name] = fmt.Sprint(v)
		}
		if at := p.Place; at != nil {
			j.Line, j.Col, j.Source = at.Line, at.Col, at.Source
		}
		out = append(out, j)
	}
	return out
}

var versionKey = regexp.MustCompile(`(?m)^["']?version_?[iI]nfo["']?[ \t]*:`)

// versionPlace finds the line that states the version.
func versionPlace(file string, text []byte) problem.Place {
	at := versionKey.FindIndex(text)
	if at == nil {
		return problem.Place{File: file}
	}
	line, _, _ := bytes.Cut(text[at[0]:], []byte("\n"))
	return problem.Place{File: file, Line: bytes.Count(text[:at[0]], []byte("\n")) + 1, Col: 1,
		Source: string(bytes.TrimRight(line, "\r"))}
}

// reader is a sink that knows when nobody reads it any more.
type reader interface {
	Done() <-chan struct{}
	Err() error
}

func gone(s journal.Sink) <-chan struct{} {
	if r, ok := s.(reader); ok {
		return r.Done()
	}
	return nil
}

func errNoReader(s journal.Sink) error {
	var why error
	if r, ok := s.(reader); ok {
		why = r.Err()
	}
	return fmt.Errorf("the journal is not read any more: %w", errors.Join(why))
}
