// Package controlplane is the loop of the control plane process: it watches the
// snapshot file, reads it, gives it a version, and pushes it to the ADS server.
// Whatever it reads is journaled, in force or refused; the last good snapshot
// stays in force.
//
// It must not grade, know about labs, or start processes.
package controlplane

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"lab/pkg/journal"
	"lab/pkg/problem"
	"lab/pkg/snapshot"
	"lab/pkg/watch"
	"lab/pkg/xds"
)

// Config is what a control plane serves, and where.
type Config struct {
	SnapshotFile string
	Listen       string // "127.0.0.1:18000", or the path of a Unix socket
	StateFile    string // keeps the version over restarts; "" keeps nothing
	FirstVersion int64  // of the first snapshot without version_info
	Order        string // xds.Ordered or xds.Random
	Sink         *journal.LineSink
	Now          func() time.Time
	Ready        func(addr string) // called once, when it listens
}

// Serve runs until ctx ends or nobody reads the events any more.
func Serve(ctx context.Context, c Config) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	lis, err := listen(c.Listen)
	if err != nil {
		return problem.New("xds.listen", problem.Args{"Address": c.Listen, "Error": err.Error()}).Wrap(err)
	}
	server := xds.New(xds.Options{Sink: c.Sink, Now: c.Now, Order: c.Order, Pid: os.Getpid()})
	events, err := watch.File(ctx, c.SnapshotFile)
	if err != nil {
		return errors.Join(err, lis.Close())
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx, lis); stop() }()
	c.Ready(lis.Addr().String())
	r := newReader(c, server)
	for {
		select {
		case e, ok := <-events:
			if !ok {
				return <-served
			}
			r.take(ctx, e)
		case <-c.Sink.Done():
			stop()
			return errors.Join(c.Sink.Err(), <-served)
		}
	}
}

// listen listens on a loopback address, or on a Unix socket. Another address
// would open the configuration to the network.
func listen(addr string) (net.Listener, error) {
	if strings.HasPrefix(addr, "/") {
		return net.Listen("unix", addr)
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("%s is no loopback address", host)
	}
	return net.Listen("tcp", addr)
}

// reader turns readings of the file into snapshots.
type reader struct {
	c       Config
	server  *xds.Server
	state   state
	inForce string          // version that was pushed by this process
	bodies  map[string]bool // hashes whose body this process has journaled
}

func newReader(c Config, server *xds.Server) *reader {
	r := &reader{c: c, server: server, bodies: map[string]bool{}}
	var err error
	if r.state, err = readState(c.StateFile); err != nil {
		r.note("state-file", map[string]string{"error": err.Error()})
	}
	return r
}

func (r *reader) take(ctx context.Context, e watch.Event) {
	switch e.Kind {
	case watch.Saved:
		r.read(ctx, e)
	case watch.TooLarge:
		r.refuse("", problem.List{problem.New("snapshot.too-large", problem.Args{"MB": watch.MaxSize >> 20})})
	default:
		args := map[string]string{"file": r.c.SnapshotFile}
		if e.Err != nil {
			args["error"] = e.Err.Error()
		}
		r.note("file-"+string(e.Kind), args)
	}
}

func (r *reader) read(ctx context.Context, e watch.Event) {
	set, found := snapshot.Load(r.c.SnapshotFile, e.Text)
	if set == nil {
		r.refuse(e.SHA256, found)
		return
	}
	version, p := r.state.version(set, r.c.FirstVersion)
	if p != nil {
		r.refuse(e.SHA256, append(found, p.At(versionPlace(r.c.SnapshotFile, e.Text))))
		return
	}
	set.Version = version
	if err := r.state.advance(r.c.StateFile, set); err != nil {
		r.note("state-file", map[string]string{"error": err.Error()})
	}
	r.emit(journal.KindSnapshotLoaded, r.loaded(set, e.SHA256, found))
	if version == r.inForce {
		return // a comment, or the same content: nothing to send
	}
	if err := r.server.Push(ctx, set); err != nil {
		r.note("push", map[string]string{"error": err.Error()})
		return
	}
	r.inForce = version
}

func (r *reader) refuse(sha string, found problem.List) {
	r.emit(journal.KindSnapshotRefused, &journal.Snapshot{File: r.c.SnapshotFile, SHA256: sha, Problems: problems(found)})
}

func (r *reader) emit(kind journal.Kind, s *journal.Snapshot) {
	r.c.Sink.Emit(journal.Event{Time: r.c.Now(), Source: journal.ControlPlane, Kind: kind, Snapshot: s})
}

func (r *reader) note(code string, args map[string]string) {
	r.c.Sink.Emit(journal.Event{Time: r.c.Now(), Source: journal.ControlPlane, Kind: journal.KindNote,
		Note: &journal.Note{Code: code, Args: args}})
}

// loaded is the event of a snapshot that comes into force, with the body of
// what this process has not told yet.
func (r *reader) loaded(set *snapshot.Set, sha string, found problem.List) *journal.Snapshot {
	s := &journal.Snapshot{File: r.c.SnapshotFile, Version: set.Version, Explicit: set.Explicit, SHA256: sha, Problems: problems(found)}
	for _, res := range set.Resources {
		jr := journal.Resource{Type: res.Type, Name: res.Name, Hash: res.Hash, Line: res.Line}
		if !r.bodies[res.Hash] {
			body, err := res.Body()
			if err != nil {
				r.note("body", map[string]string{"error": err.Error()})
			}
			jr.Body, r.bodies[res.Hash] = body, true
		}
		s.Resources = append(s.Resources, jr)
	}
	return s
}

func problems(found problem.List) []journal.Problem {
	var out []journal.Problem
	for _, p := range found {
		jp := journal.Problem{Code: p.Code, Text: p.Error(), Warning: p.Warning, Args: map[string]string{}}
		for k, v := range p.Args {
			jp.Args[k] = fmt.Sprint(v)
		}
		if p.Place != nil {
			jp.Line, jp.Col, jp.Source = p.Place.Line, p.Place.Col, p.Place.Source
		}
		out = append(out, jp)
	}
	return out
}

// versionPlace is where version_info stands.
func versionPlace(file string, text []byte) problem.Place {
	for i, line := range strings.Split(string(text), "\n") {
		if strings.HasPrefix(line, "version_info") {
			return problem.Place{File: file, Line: i + 1, Col: 1, Source: strings.TrimRight(line, "\r")}
		}
	}
	return problem.Place{File: file}
}
