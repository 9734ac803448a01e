package web

import (
	"embed"
	"encoding/json"
	"errors"
	"html/template"
	"io/fs"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"lab/pkg/problem"
	"lab/pkg/words"
)

//go:embed static
var static embed.FS

// Options are what a Server needs beside the page.
type Options struct {
	Addr  string          // host:port that it is served on
	Token string          // of NewToken
	Lang  string          // of the run: the page's language until somebody chooses another
	Ready <-chan struct{} // closed when the Lab may be asked: a browser waits for it
	Done  <-chan struct{} // closed when the run stops
}

type handler struct {
	Options
	page  *Page
	guard guard
	html  *template.Template
	done  <-chan struct{}
	stall time.Duration
}

// The bounds of a connection.
const (
	maxHeader   = 16 << 10 // bytes
	readWithin  = 10 * time.Second
	writeBuffer = 64 << 10 // bytes that the system keeps for a reader that is slow
)

// Server serves the page: / and what it needs, /events (server-sent events),
// and POST /answer. The caller gives it a listener on Addr, and closes it.
func (p *Page) Server(o Options) (*http.Server, error) { return p.server(o, stallAfter) }

func (p *Page) server(o Options, stall time.Duration) (*http.Server, error) {
	h, err := p.handler(o, stall)
	return &http.Server{
		Handler: h, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: readWithin, IdleTimeout: time.Minute, MaxHeaderBytes: maxHeader,
		ConnState: func(c net.Conn, state http.ConnState) {
			if tcp, ok := c.(*net.TCPConn); ok && state == http.StateNew {
				_ = tcp.SetWriteBuffer(writeBuffer) // a system that will not keeps more
			}
		},
	}, err
}

func (p *Page) handler(o Options, stall time.Duration) (http.Handler, error) {
	html, err := template.ParseFS(static, "static/page.html")
	if err != nil {
		return nil, err
	}
	files, err := fs.Sub(static, "static")
	if err != nil {
		return nil, err
	}
	h := &handler{Options: o, page: p, guard: newGuard(o.Addr, o.Token), html: html, done: o.Done, stall: stall}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", h.index)
	mux.HandleFunc("GET /events", h.events)
	mux.HandleFunc("POST /answer", h.answer)
	for _, name := range assets {
		mux.Handle("GET /"+name, http.FileServerFS(files))
	}
	return h.guard.wrap(h.onceReady(mux), h.refuse), nil
}

// onceReady keeps a browser waiting until the parts of the run are up.
func (h *handler) onceReady(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-h.Ready:
			next.ServeHTTP(w, r)
		case <-h.done:
		case <-r.Context().Done():
		}
	})
}

// assets are the files that a browser may have.
var assets = []string{"page.css", "app.js", "base.js", "diagram.js", "panels.js", "plots.js", "icon.svg"}

// lang is the language that a request asks for.
func (h *handler) lang(r *http.Request) string {
	if l := r.URL.Query().Get("lang"); slices.Contains(words.Languages, l) {
		return l
	}
	if slices.Contains(words.Languages, h.Lang) {
		return h.Lang
	}
	return words.Languages[0]
}

// index is the page without its contents, which /events brings.
func (h *handler) index(w http.ResponseWriter, r *http.Request) {
	s := h.page.speak(h.lang(r))
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = h.html.Execute(w, map[string]any{ // who has gone away reads no error
		"Lang": h.lang(r), "T": func(id string) string { return s.t("page."+id, nil) },
		"Script": s.script(), "Secret": h.guard.derive("answer"), "Command": h.page.lab.Command(),
	})
}

// script is the words that are put together in the browser.
func (s speaker) script() map[string]string {
	out := map[string]string{}
	for _, k := range scriptWords {
		out[k] = s.t("page.js."+k, nil)
	}
	return out
}

// scriptWords are the ids under page.js. In their texts {name} is filled in by
// the script.
var scriptWords = []string{"live", "lost", "save", "predict", "question", "answered", "saved", "not-saved", "back-in", "back-soon",
	"back-unknown", "rate", "rate-none", "slowest", "changes", "now", "ago", "ago-seconds", "no-hosts", "no-answer", "check-met",
	"check-unmet", "upstream-fault", "per-second"}

// maxAnswer bounds the body of an answer, in bytes.
const maxAnswer = 4 << 10

// answer takes {"question", "value"}. The secret is in the page, so only
// somebody who can read the page can answer.
func (h *handler) answer(w http.ResponseWriter, r *http.Request) {
	if !same(r.Header.Get("X-Lab-Page"), h.guard.derive("answer")) || !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
		h.refuse(w, r, http.StatusForbidden)
		return
	}
	var in struct{ Question, Value string }
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxAnswer)).Decode(&in); err != nil {
		h.refuse(w, r, http.StatusBadRequest)
		return
	}
	err := h.page.lab.Answer(r.Context(), in.Question, in.Value)
	w.Header().Set("Content-Type", "application/json")
	reply := struct {
		OK   bool   `json:"ok"`
		Text string `json:"text"`
	}{err == nil, ""}
	if err != nil {
		w.WriteHeader(http.StatusUnprocessableEntity)
		reply.Text = err.Error()
		var p *problem.Problem
		if errors.As(err, &p) {
			reply.Text = p.What(words.For(h.lang(r)))
		}
	}
	_, _ = w.Write(encode(reply))
}

// refuse says why in words that show nothing of the run.
func (h *handler) refuse(w http.ResponseWriter, r *http.Request, status int) {
	s := h.page.speak(h.lang(r))
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	id := "page.refused.other"
	switch status {
	case http.StatusUnauthorized:
		id = "page.refused.token"
	case http.StatusMisdirectedRequest:
		id = "page.refused.host"
	case http.StatusForbidden:
		id = "page.refused.origin"
	case http.StatusServiceUnavailable:
		id = "page.refused.full"
	}
	_, _ = w.Write([]byte(s.t(id, nil) + "\n"))
}
