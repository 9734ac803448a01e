package web

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"strings"
)

// NewToken makes the secret of a page's address.
func NewToken() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand)
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// URL is the address of a page, for the one who runs the lab.
func URL(addr, token string) string { return "http://" + addr + "/?t=" + token }

// guard decides who may use a page. Who has the address with the token gets a
// cookie; from then on the address without the token will do. The cookie's
// value is derived: it opens this page alone and does not show the token. The
// page itself takes the token out of the address bar: a redirect would lose the
// cookie (SameSite=Strict) where the address was clicked on another site, as in
// a terminal that is a web page.
type guard struct {
	token string
	hosts []string // what Host may be
	name  string   // of the cookie: browsers do not tell ports apart
}

func newGuard(addr, token string) guard {
	port := addr[strings.LastIndex(addr, ":")+1:]
	return guard{token: token, hosts: []string{"127.0.0.1:" + port, "localhost:" + port}, name: "lab-page-" + port}
}

// derive makes a secret for one use from the token.
func (g guard) derive(use string) string {
	m := hmac.New(sha256.New, []byte(g.token))
	m.Write([]byte(use))
	return hex.EncodeToString(m.Sum(nil)[:16])
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// wrap refuses whoever may not, and sets the headers that keep a browser from
// running, framing, storing or passing on anything of the page.
func (g guard) wrap(next http.Handler, refuse func(http.ResponseWriter, *http.Request, int)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "+
			"base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		switch {
		case !g.host(r.Host):
			refuse(w, r, http.StatusMisdirectedRequest)
		case !g.origin(r):
			refuse(w, r, http.StatusForbidden)
		case !g.known(w, r):
			refuse(w, r, http.StatusUnauthorized)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// host keeps out a name that somebody pointed at this machine (DNS rebinding).
func (g guard) host(host string) bool {
	for _, h := range g.hosts {
		if host == h {
			return true
		}
	}
	return false
}

// origin keeps out what another site's page asks for. A browser names the
// origin of each POST, and the site of each request that it makes for a page.
func (g guard) origin(r *http.Request) bool {
	from := r.Header.Get("Origin")
	if r.Method == http.MethodPost && from == "" {
		return false
	}
	if from != "" && from != "http://"+r.Host {
		return false
	}
	site := r.Header.Get("Sec-Fetch-Site")
	return site == "" || site == "none" || site == "same-origin" ||
		r.Method == http.MethodGet && r.URL.Path == "/" && r.Header.Get("Sec-Fetch-Mode") == "navigate"
}

// known tells whether this is somebody with the address.
func (g guard) known(w http.ResponseWriter, r *http.Request) bool {
	value := g.derive("cookie")
	if t := r.URL.Query().Get("t"); r.URL.Path == "/" && t != "" {
		if !same(t, g.token) {
			return false
		}
		http.SetCookie(w, &http.Cookie{Name: g.name, Value: value, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
		return true
	}
	c, err := r.Cookie(g.name)
	return err == nil && same(c.Value, value)
}
