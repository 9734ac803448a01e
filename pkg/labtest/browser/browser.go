// Package browser drives a real Chromium in tests. It is for tests alone; where
// there is no Chromium the test fails and says how to get one.
package browser

import (
	"context"
	"io"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// Within bounds how long a test waits for what it expects to see.
const Within = 30 * time.Second

// Tab is a tab of a browser of its own. What it logged as an error is kept.
type Tab struct {
	t   testing.TB
	ctx context.Context

	mu     sync.Mutex
	errors []string
}

// path finds Chromium.
func path(t testing.TB) string {
	t.Helper()
	names := []string{"chromium", "chromium-browser", "google-chrome"}
	for _, name := range names {
		if p, err := exec.LookPath(name); err == nil {
			return p
		}
	}
	t.Fatalf("no Chromium: none of %v is on PATH. Get it with: make test-deps (on Debian: apt-get install chromium)", names)
	return ""
}

// Open opens a tab with a view of that size.
func Open(t testing.TB, width, height int64) *Tab {
	t.Helper()
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path(t)), chromedp.NoSandbox,
		chromedp.UserDataDir(t.TempDir()), chromedp.CombinedOutput(io.Discard), chromedp.WSURLReadTimeout(Within),
		chromedp.Flag("lang", "en"))
	alloc, stop := chromedp.NewExecAllocator(context.Background(), opts...)
	ctx, closeTab := chromedp.NewContext(alloc)
	tab := &Tab{t: t, ctx: ctx}
	t.Cleanup(func() {
		_ = chromedp.Cancel(ctx) // waits until the browser has ended
		closeTab()
		stop()
	})
	tab.do("open a tab", chromedp.EmulateViewport(width, height))
	go tab.listen()
	return tab
}

// listen keeps what went wrong in the page.
func (b *Tab) listen() {
	for m, err := range chromedp.Console(b.ctx) {
		if err != nil {
			return
		}
		if m.IsException() || m.Type == "error" || m.Type == "warning" {
			b.mu.Lock()
			b.errors = append(b.errors, m.String())
			b.mu.Unlock()
		}
	}
}

// Errors are the errors and warnings of the console so far.
func (b *Tab) Errors() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string(nil), b.errors...)
}

func (b *Tab) do(what string, steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		b.t.Fatalf("%s: %v", what, err)
	}
}

// Go opens an address.
func (b *Tab) Go(url string) { b.t.Helper(); b.do(url, chromedp.Navigate(url)) }

// Scheme sets whether the system is light or dark.
func (b *Tab) Scheme(scheme string) {
	b.t.Helper()
	b.do("colour scheme", chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
		return err
	}))
}

// Size changes the size of the view.
func (b *Tab) Size(width, height int64) {
	b.t.Helper()
	b.do("size", chromedp.EmulateViewport(width, height))
}

// Wait waits until an expression of JavaScript is true, and fails the test with
// what it waited for and what the page says instead.
func (b *Tab) Wait(what, expression string) {
	b.t.Helper()
	_, err := chromedp.Run(b.ctx, chromedp.Poll[chromedp.Void](expression, chromedp.WithPollingTimeout(Within)))
	if err != nil {
		b.t.Fatalf("waited %v for: %s (%v)\nthe page says:\n%s\nconsole: %q", Within, what, err, b.Eval(`document.body.innerText`), b.Errors())
	}
}

// Eval evaluates an expression of JavaScript that gives a string.
func (b *Tab) Eval(expression string) string {
	b.t.Helper()
	return Value[string](b, expression)
}

// Value evaluates an expression of JavaScript.
func Value[T any](b *Tab, expression string) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// Type puts text into the field that a selector finds, as a person does.
func (b *Tab) Type(selector, text string) {
	b.t.Helper()
	b.do("type into "+selector, chromedp.SendKeys(selector, text))
}

// Click clicks on what a selector finds.
func (b *Tab) Click(selector string) { b.t.Helper(); b.do("click "+selector, chromedp.Click(selector)) }

// Press presses a key, such as kb.Tab.
func (b *Tab) Press(key string) { b.t.Helper(); b.do("press a key", chromedp.KeyEvent(key)) }

// Picture writes a picture of the view as PNG.
func (b *Tab) Picture(file string) {
	b.t.Helper()
	png, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err == nil {
		err = os.WriteFile(file, png, 0o600)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}
