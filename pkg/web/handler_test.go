package web

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"lab/checks"
	"lab/pkg/journal"
	"lab/pkg/problem"
	"lab/pkg/report"
)

// desk is a Lab that holds still.
type desk struct {
	mu     sync.Mutex
	answer map[string]string
	graded int
}

func (d *desk) Command() string       { return "lab" }
func (d *desk) Status() report.Status { return report.Status{Lab: "08-xds"} }
func (d *desk) Step(string) (Step, error) {
	return Step{Lab: "08-xds", ID: "nack", Number: 3, Of: 5, Title: "T", Text: "*a* <b>"}, nil
}
func (d *desk) Questions(string) ([]Question, error) { return []Question{{ID: "q", Kind: "text"}}, nil }

func (d *desk) Grade(string) (checks.Report, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.graded++
	return checks.Report{Step: "nack", Verdict: checks.NotYet}, nil
}

func (d *desk) Answer(_ context.Context, question, value string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if question != "q" {
		return problem.New("session.no-question", problem.Args{"Name": question, "Have": []string{"q"}})
	}
	d.answer[question] = value
	return nil
}

const token = "a-token-of-a-test"

// site is a page on a real port.
type site struct {
	t    *testing.T
	page *Page
	desk *desk
	addr string
	done chan struct{}
}

func serve(t *testing.T, stall time.Duration) *site {
	t.Helper()
	d := &desk{answer: map[string]string{}}
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &site{t: t, desk: d, page: New(d, time.Now), addr: l.Addr().String(), done: make(chan struct{})}
	ready := make(chan struct{})
	close(ready)
	srv, err := s.page.server(Options{Addr: s.addr, Token: token, Lang: "en", Ready: ready, Done: s.done}, stall)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = srv.Serve(l); close(ended) }()
	t.Cleanup(func() { close(s.done); _ = srv.Close(); <-ended })
	return s
}

// send makes a request; edit changes it first. No redirect is followed.
func (s *site) send(method, path, body string, edit func(*http.Request)) *http.Response {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, "http://"+s.addr+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if edit != nil {
		edit(r)
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

// cookie is what a first visit with the token leaves.
func (s *site) cookie() *http.Cookie {
	s.t.Helper()
	resp := s.send("GET", "/?t="+token, "", nil)
	if resp.StatusCode != 200 || len(resp.Cookies()) != 1 {
		s.t.Fatalf("the address with its token: %d, cookies %v", resp.StatusCode, resp.Cookies())
	}
	return resp.Cookies()[0]
}

func (s *site) secret() string { return newGuard(s.addr, token).derive("answer") }

func TestToken(t *testing.T) {
	s := serve(t, stallAfter)
	c := s.cookie()
	if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Value == token {
		t.Errorf("cookie %+v", c)
	}
	with := func(value string) func(*http.Request) {
		return func(r *http.Request) { r.AddCookie(&http.Cookie{Name: c.Name, Value: value}) }
	}
	for _, path := range []string{"/", "/?t=", "/?t=wrong", "/app.js", "/app.js?t=" + token, "/events", "/events?t=" + token, "/page.html"} {
		if got := s.send("GET", path, "", nil).StatusCode; got != http.StatusUnauthorized {
			t.Errorf("GET %s without the cookie: %d", path, got)
		}
		if got := s.send("GET", path, "", with("wrong")).StatusCode; got != http.StatusUnauthorized {
			t.Errorf("GET %s with a wrong cookie: %d", path, got)
		}
	}
	for path, want := range map[string]int{"/": 200, "/app.js": 200, "/page.css": 200, "/page.html": 404, "/../doc.go": 307, "/static/app.js": 404, "/other": 404} {
		resp := s.send("GET", path, "", with(c.Value))
		if resp.StatusCode != want {
			t.Errorf("GET %s: %d, want %d", path, resp.StatusCode, want)
		}
		csp := resp.Header.Get("Content-Security-Policy")
		if !strings.HasPrefix(csp, "default-src 'none'; script-src 'self';") || strings.Contains(csp, "unsafe") || !strings.Contains(csp, "frame-ancestors 'none'") ||
			resp.Header.Get("X-Content-Type-Options") != "nosniff" || resp.Header.Get("Cache-Control") != "no-store" || resp.Header.Get("Referrer-Policy") != "no-referrer" {
			t.Errorf("GET %s: headers %v", path, resp.Header)
		}
	}
	body, _ := io.ReadAll(s.send("GET", "/", "", with(c.Value)).Body)
	if strings.Contains(string(body), "<page.") || strings.Contains(string(body), `\u003cpage.`) {
		t.Errorf("words are missing:\n%s", body)
	}
	if strings.Contains(string(body), token) || strings.Contains(string(body), c.Value) {
		t.Error("the page holds its token or its cookie")
	}
}

// A page elsewhere cannot use this one: not by a name that it points here, not
// by a request of its own.
func TestForeign(t *testing.T) {
	s := serve(t, stallAfter)
	c := s.cookie()
	port := s.addr[strings.LastIndex(s.addr, ":"):]
	for what, edit := range map[string]func(*http.Request){
		"a foreign name":      func(r *http.Request) { r.Host = "evil.example" + port },
		"a name that begins":  func(r *http.Request) { r.Host = "127.0.0.1.evil.example" + port },
		"no port":             func(r *http.Request) { r.Host = "127.0.0.1" },
		"another port":        func(r *http.Request) { r.Host = "127.0.0.1:1" },
		"all addresses":       func(r *http.Request) { r.Host = "0.0.0.0" + port },
		"a foreign origin":    func(r *http.Request) { r.Header.Set("Origin", "http://evil.example") },
		"the null origin":     func(r *http.Request) { r.Header.Set("Origin", "null") },
		"another port's page": func(r *http.Request) { r.Header.Set("Origin", "http://127.0.0.1:1") },
		"https":               func(r *http.Request) { r.Header.Set("Origin", "https://"+s.addr) },
		"cross-site":          func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") },
		"same site":           func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "same-site") },
	} {
		for _, path := range []string{"/", "/?t=" + token, "/events", "/app.js"} {
			resp := s.send("GET", path, "", func(r *http.Request) { r.AddCookie(c); edit(r) })
			if resp.StatusCode != http.StatusForbidden && resp.StatusCode != http.StatusMisdirectedRequest || len(resp.Cookies()) > 0 {
				t.Errorf("%s: GET %s: %d %v", what, path, resp.StatusCode, resp.Cookies())
			}
		}
	}
	// A link in a terminal that is a web page leads here all the same.
	resp := s.send("GET", "/?t="+token, "", func(r *http.Request) {
		r.Header.Set("Sec-Fetch-Site", "cross-site")
		r.Header.Set("Sec-Fetch-Mode", "navigate")
	})
	if resp.StatusCode != 200 {
		t.Errorf("a link from another site: %d", resp.StatusCode)
	}
	if got := s.send("GET", "/", "", func(r *http.Request) { r.Host = "localhost" + port; r.AddCookie(c) }).StatusCode; got != 200 {
		t.Errorf("localhost: %d", got)
	}
}

// Only the page itself may answer a question, and nothing else can be changed.
func TestAnswer(t *testing.T) {
	s := serve(t, stallAfter)
	c := s.cookie()
	good := func(r *http.Request) {
		r.AddCookie(c)
		r.Header.Set("Origin", "http://"+s.addr)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("X-Lab-Page", s.secret())
	}
	const body = `{"question":"q","value":"<b>7</b>"}`
	for what, edit := range map[string]func(*http.Request){
		"no cookie":        func(r *http.Request) { r.Header.Del("Cookie") },
		"no origin":        func(r *http.Request) { r.Header.Del("Origin") },
		"a foreign origin": func(r *http.Request) { r.Header.Set("Origin", "http://evil.example") },
		"a foreign host":   func(r *http.Request) { r.Host = "evil.example" },
		"no secret":        func(r *http.Request) { r.Header.Del("X-Lab-Page") },
		"a wrong secret":   func(r *http.Request) { r.Header.Set("X-Lab-Page", c.Value) },
		"a form":           func(r *http.Request) { r.Header.Set("Content-Type", "application/x-www-form-urlencoded") },
	} {
		resp := s.send("POST", "/answer", body, func(r *http.Request) { good(r); edit(r) })
		if resp.StatusCode < 400 || len(s.desk.answer) > 0 {
			t.Errorf("%s: %d, %v", what, resp.StatusCode, s.desk.answer)
		}
	}
	for what, body := range map[string]string{"no JSON": "q=7", "a huge one": `{"value":"` + strings.Repeat("x", maxAnswer) + `"}`, "nothing": ""} {
		if got := s.send("POST", "/answer", body, good).StatusCode; got != http.StatusBadRequest {
			t.Errorf("%s: %d", what, got)
		}
	}
	resp := s.send("POST", "/answer", `{"question":"other","value":"1"}`, good)
	var reply struct {
		OK   bool
		Text string
	}
	if err := json.NewDecoder(resp.Body).Decode(&reply); err != nil || resp.StatusCode != 422 || reply.OK || !strings.Contains(reply.Text, "other") {
		t.Errorf("an unknown question: %d %+v %v", resp.StatusCode, reply, err)
	}
	if got := s.send("POST", "/answer", body, good).StatusCode; got != 200 || s.desk.answer["q"] != "<b>7</b>" {
		t.Errorf("a good answer: %d, %v", got, s.desk.answer)
	}
	for _, m := range []string{"POST", "PUT", "DELETE", "PATCH"} {
		for _, path := range []string{"/", "/events", "/app.js"} {
			if got := s.send(m, path, "", good).StatusCode; got != http.StatusMethodNotAllowed {
				t.Errorf("%s %s: %d", m, path, got)
			}
		}
	}
}

// reader is a browser's end of the stream.
type reader struct {
	t  *testing.T
	in *bufio.Reader
}

func (s *site) open(path string, edit func(*http.Request)) *reader {
	s.t.Helper()
	c := s.cookie()
	resp := s.send("GET", path, "", func(r *http.Request) {
		r.AddCookie(c)
		if edit != nil {
			edit(r)
		}
	})
	if resp.StatusCode != 200 || !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		s.t.Fatalf("%s: %d %v", path, resp.StatusCode, resp.Header)
	}
	return &reader{s.t, bufio.NewReader(resp.Body)}
}

// next is the next frame and its id.
func (r *reader) next() (id string, f frame, all string) {
	r.t.Helper()
	for {
		line, err := r.in.ReadString('\n')
		if err != nil {
			r.t.Fatal(err)
		}
		if v, ok := strings.CutPrefix(line, "id: "); ok {
			id = strings.TrimSpace(v)
		}
		if v, ok := strings.CutPrefix(line, "data: "); ok {
			if err := json.Unmarshal([]byte(v), &f); err != nil {
				r.t.Fatal(err)
			}
			return id, f, v
		}
	}
}

func (s *site) event(seq int64) {
	s.page.Fold(journal.Event{Seq: seq, Time: start, Kind: journal.KindCommand, Command: &journal.Command{Name: "upstream set"}})
}

// A reader gets all there is, then what is new; one that comes back gets what it
// missed.
func TestStream(t *testing.T) {
	s := serve(t, stallAfter)
	s.event(1)
	s.event(2)
	r := s.open("/events", nil)
	id, f, all := r.next()
	if id != "2" || !f.Reset || len(f.Rows) != 2 || !strings.Contains(all, `\u003cem\u003ea\u003c/em\u003e \u0026lt;b\u0026gt;`) || !strings.Contains(all, `"grade"`) {
		t.Errorf("the first frame, id %s: %s", id, all)
	}
	s.event(3)
	if id, f, all := r.next(); id != "3" || f.Reset || len(f.Rows) != 1 || strings.Contains(all, `"grade"`) {
		t.Errorf("the second frame, id %s: %s", id, all)
	}
	for _, edit := range []func(*http.Request){func(r *http.Request) { r.Header.Set("Last-Event-ID", "2") }, nil} {
		back := s.open("/events?since=2", edit)
		if id, f, all := back.next(); id != "3" || f.Reset || len(f.Rows) != 1 || f.Rows[0].ID != 3 || !strings.Contains(all, `"grade"`) {
			t.Errorf("who comes back, id %s: %s", id, all)
		}
	}
	zh := s.open("/events?lang=zh&since=nonsense", nil)
	if _, f, all := zh.next(); !f.Reset || !strings.Contains(all, "未完成") {
		t.Errorf("in Chinese: %s", all)
	}
}

// Nothing is graded while no page is open.
func TestAsleep(t *testing.T) {
	s := serve(t, stallAfter)
	for i := range int64(100) {
		s.event(i + 1)
	}
	if s.desk.graded != 0 {
		t.Errorf("graded %d times", s.desk.graded)
	}
}

// A reader that stalls is dropped. Nobody waits for it: the journal's writer and
// the other readers go on meanwhile.
func TestStalled(t *testing.T) {
	s := serve(t, 200*time.Millisecond)
	c := s.cookie()
	conn, err := net.Dial("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
	_, err = io.WriteString(conn, "GET /events HTTP/1.1\r\nHost: "+s.addr+"\r\nCookie: "+c.Name+"="+c.Value+"\r\n\r\n")
	if err != nil {
		t.Fatal(err)
	}
	other := s.open("/events?lang=zh", nil)
	other.next()
	deadline := time.Now().Add(30 * time.Second)
	for seq := int64(1); s.page.count() > 1; seq++ {
		if time.Now().After(deadline) {
			t.Fatal("waited 30 s for the reader that stalls to be dropped")
		}
		for _, name := range strings.Split(strings.Repeat("orders,", 40), ",") { // frames of some size
			s.page.Fold(journal.Event{Seq: seq, Time: start, Kind: journal.KindCommand, Command: &journal.Command{Name: strings.Repeat(name, 12)}})
			seq++
		}
		begun := time.Now()
		if other.next(); time.Since(begun) > 5*time.Second {
			t.Fatalf("another reader waited %v", time.Since(begun))
		}
	}
}

// More pages than that are told to wait, and get in when others have left.
func TestFull(t *testing.T) {
	s := serve(t, stallAfter)
	s.event(1)
	c := s.cookie()
	var open []*http.Response
	for range maxPages {
		resp := s.send("GET", "/events", "", func(r *http.Request) { r.AddCookie(c) })
		(&reader{t, bufio.NewReader(resp.Body)}).next()
		open = append(open, resp)
	}
	one := func() int {
		resp := s.send("GET", "/events", "", func(r *http.Request) { r.AddCookie(c) })
		defer resp.Body.Close()
		return resp.StatusCode
	}
	if got := one(); got != http.StatusServiceUnavailable {
		t.Errorf("page %d: %d", maxPages+1, got)
	}
	_ = open[0].Body.Close()
	deadline := time.After(30 * time.Second)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for one() != http.StatusOK {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("waited 30 s for the place of a page that was closed")
		}
	}
}
