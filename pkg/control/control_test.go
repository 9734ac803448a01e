package control

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"lab/pkg/problem"
)

type in struct{ N int }

func serve(t *testing.T) string {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "s")
	l, err := Listen(socket)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	Handle(mux, "/double", func(_ context.Context, i in) (int, error) { return 2 * i.N, nil })
	Handle(mux, "/refuse", func(_ context.Context, i in) (int, error) {
		return 0, problem.New("x.y", problem.Args{"N": i.N}).WithExit(problem.CannotTell)
	})
	srv := &http.Server{Handler: mux}
	go func() { _ = srv.Serve(l) }()
	t.Cleanup(func() { _ = srv.Close() })
	return socket
}

func TestCall(t *testing.T) {
	socket := serve(t)
	got, err := Call[in, int](t.Context(), socket, "/double", in{21})
	if err != nil || got != 42 {
		t.Error(got, err)
	}
	if st, _ := os.Stat(socket); st.Mode().Perm() != 0o600 {
		t.Error(st.Mode())
	}
}

func TestProblemCrosses(t *testing.T) {
	_, err := Call[in, int](t.Context(), serve(t), "/refuse", in{7})
	var p *problem.Problem
	if !errors.As(err, &p) || p.Code != "x.y" || p.Exit != problem.CannotTell || p.Args["N"] != float64(7) {
		t.Errorf("%#v", err)
	}
}

func TestUnknownFieldIsRefused(t *testing.T) {
	if _, err := Call[map[string]int, int](t.Context(), serve(t), "/double", map[string]int{"M": 1}); err == nil {
		t.Error("no error")
	}
}

func TestNoSession(t *testing.T) {
	_, err := Call[in, int](t.Context(), filepath.Join(t.TempDir(), "none"), "/double", in{})
	if !errors.Is(err, ErrNoSession) {
		t.Error(err)
	}
}

func TestStaleSocketIsTakenOver(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	if err := os.WriteFile(socket, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := Listen(socket)
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
}
