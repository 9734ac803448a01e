package web

import (
	"fmt"
	"net/http"
	"strconv"
	"time"
)

const (
	maxPages   = 200              // open at once; one more is told to wait
	beatEvery  = 15 * time.Second // a sign of life, so that a reader that is gone is noticed
	stallAfter = 5 * time.Second  // a reader that takes nothing for so long is dropped
	retryAfter = time.Second      // how long a browser waits before it comes back
)

// events streams frames to one reader. The id of each is the number of the last
// event in it: a browser that comes back names it, also to a later session of
// the run, since the journal goes on.
func (h *handler) events(w http.ResponseWriter, r *http.Request) {
	lang := h.lang(r)
	if h.page.count() >= maxPages {
		w.Header().Set("Retry-After", "10")
		h.refuse(w, r, http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	out := &writer{w: w, control: http.NewResponseController(w), stall: h.stall}
	if out.control.SetReadDeadline(time.Time{}) != nil { // that of a request would end the stream
		return
	}
	if out.write(fmt.Sprintf("retry: %d\n\n", retryAfter.Milliseconds())) != nil {
		return
	}
	h.page.enter(lang)
	defer h.page.exit(lang)
	at := cursor{lang: lang, seq: since(r)}
	beat := time.NewTicker(beatEvery)
	defer beat.Stop()
	for {
		data, next, tick := h.page.look(at)
		if data != nil {
			if out.write(fmt.Sprintf("id: %d\ndata: %s\n\n", next.seq, data)) != nil {
				return
			}
		}
		at = next
		select {
		case <-tick:
		case <-beat.C:
			if out.write(": here\n\n") != nil {
				return
			}
		case <-h.done:
			return
		case <-r.Context().Done():
			return
		}
	}
}

// since is the last event that a reader has.
func since(r *http.Request) int64 {
	id := r.Header.Get("Last-Event-ID")
	if id == "" {
		id = r.URL.Query().Get("since")
	}
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// writer sends at once, and gives up on who does not read.
type writer struct {
	w       http.ResponseWriter
	control *http.ResponseController
	stall   time.Duration
}

func (o *writer) write(s string) error {
	if err := o.control.SetWriteDeadline(time.Now().Add(o.stall)); err != nil {
		return err
	}
	if _, err := o.w.Write([]byte(s)); err != nil {
		return err
	}
	return o.control.Flush()
}
