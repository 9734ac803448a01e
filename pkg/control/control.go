// Package control carries calls between lab's commands and the session of a
// run: JSON over HTTP on a Unix socket, 0600 in a 0700 folder, so that only
// its owner can reach it and no port is open.
//
// It knows how to call and how to serve, not what is called: the calls are
// pkg/session's.
package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"lab/pkg/problem"
)

// maxBody bounds a request or an answer in bytes.
const maxBody = 64 << 20

// wire is how an error crosses the socket.
type wire struct {
	Code  string         `json:"code,omitempty"`
	Args  map[string]any `json:"args,omitempty"`
	Exit  problem.Exit   `json:"exit,omitempty"`
	Error string         `json:"error,omitempty"` // where it is no Problem
}

// Handle serves POST path: it decodes the body into In, calls fn, and encodes
// what fn returns. An error of fn reaches the caller as it is when it is a
// *problem.Problem.
func Handle[In, Out any](mux *http.ServeMux, path string, fn func(context.Context, In) (Out, error)) {
	mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) {
		var in In
		dec := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&in); err != nil {
			fail(w, http.StatusBadRequest, fmt.Errorf("%s: %w", path, err))
			return
		}
		out, err := fn(r.Context(), in)
		if err != nil {
			fail(w, http.StatusConflict, err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(out) // the caller went away: nobody to tell
	})
}

func fail(w http.ResponseWriter, status int, err error) {
	out := wire{Error: err.Error()}
	var p *problem.Problem
	if errors.As(err, &p) {
		out = wire{Code: p.Code, Args: p.Args, Exit: p.Exit}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(out)
}

// Call makes one call. It returns an error that satisfies
// errors.Is(err, ErrNoSession) when nobody answers at the socket.
func Call[In, Out any](ctx context.Context, socket, path string, in In) (Out, error) {
	var out Out
	body, err := json.Marshal(in)
	if err != nil {
		return out, err
	}
	resp, err := post(ctx, socket, path, body)
	if err != nil {
		return out, err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxBody))
	if err != nil {
		return out, fmt.Errorf("%s: %w: %w", path, ErrNoSession, err) // it died while it answered
	}
	if resp.StatusCode != http.StatusOK {
		return out, decodeError(path, raw)
	}
	return out, json.Unmarshal(raw, &out)
}

// ErrNoSession means that no session answers at a socket.
var ErrNoSession = errors.New("no session answers")

func post(ctx context.Context, socket, path string, body []byte) (*http.Response, error) {
	d := net.Dialer{Timeout: 2 * time.Second}
	c := http.Client{Transport: &http.Transport{
		DialContext:       func(ctx context.Context, _, _ string) (net.Conn, error) { return d.DialContext(ctx, "unix", socket) },
		DisableKeepAlives: true,
	}}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://session"+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	resp, err := c.Do(req)
	if err != nil && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", path, ErrNoSession, err)
	}
	return resp, nil
}

func decodeError(path string, raw []byte) error {
	var e wire
	if err := json.Unmarshal(raw, &e); err != nil {
		return fmt.Errorf("%s: %s", path, bytes.TrimSpace(raw))
	}
	if e.Code == "" {
		return errors.New(e.Error)
	}
	return &problem.Problem{Code: e.Code, Args: e.Args, Exit: e.Exit}
}

// Stream calls path and gives each line of the answer to fn until the answer
// or ctx ends or fn fails.
func Stream(ctx context.Context, socket, path string, in any, fn func([]byte) error) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	resp, err := post(ctx, socket, path, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	dec := json.NewDecoder(resp.Body)
	for {
		var raw json.RawMessage
		if err := dec.Decode(&raw); errors.Is(err, io.EOF) || ctx.Err() != nil {
			return ctx.Err()
		} else if err != nil {
			return fmt.Errorf("%s: %w: %w", path, ErrNoSession, err)
		}
		if err := fn(raw); err != nil {
			return err
		}
	}
}

// Listen opens the socket. What a killed session left at the path is removed;
// the caller holds the run's lock, so nobody listens there.
func Listen(socket string) (net.Listener, error) {
	if err := os.Remove(socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	l, err := net.Listen("unix", socket)
	if err != nil {
		return nil, err
	}
	return l, os.Chmod(socket, 0o600)
}
