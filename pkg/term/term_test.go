package term

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	xansi "github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"lab/pkg/problem"
	"lab/pkg/term/text"
)

func env(kv ...string) func(string) string {
	m := map[string]string{}
	for i := 0; i < len(kv); i += 2 {
		m[kv[i]] = kv[i+1]
	}
	return func(k string) string { return m[k] }
}

func TestColor(t *testing.T) {
	for _, c := range []struct {
		name     string
		env      []string
		out, err bool // terminals
		flag     string
		wantOut  bool
		wantErr  bool
	}{
		{name: "terminal", out: true, err: true, wantOut: true, wantErr: true},
		{name: "pipe", err: true, wantErr: true},
		{name: "NO_COLOR", env: []string{"NO_COLOR", "1"}, out: true, err: true},
		{name: "empty NO_COLOR does not count", env: []string{"NO_COLOR", ""}, out: true, wantOut: true},
		{name: "dumb", env: []string{"TERM", "dumb"}, out: true, err: true},
		{name: "CLICOLOR=0", env: []string{"CLICOLOR", "0"}, out: true, err: true},
		{name: "forced", env: []string{"CLICOLOR_FORCE", "1"}, wantOut: true, wantErr: true},
		{name: "NO_COLOR beats force", env: []string{"CLICOLOR_FORCE", "1", "NO_COLOR", "1"}, out: true},
		{name: "flag always beats NO_COLOR", env: []string{"NO_COLOR", "1"}, flag: "always", wantOut: true, wantErr: true},
		{name: "flag never", out: true, err: true, flag: "never"},
		{name: "flag auto", out: true, flag: "auto", wantOut: true},
	} {
		o := &IO{OutTTY: c.out, ErrTTY: c.err}
		o.guessColor(env(c.env...))
		if err := o.SetColor(c.flag); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if o.Color != c.wantOut || o.ErrColor != c.wantErr {
			t.Errorf("%s: out %v, err %v, want %v, %v", c.name, o.Color, o.ErrColor, c.wantOut, c.wantErr)
		}
		if o.Paint().On() != c.wantOut || o.ErrPaint().On() != c.wantErr {
			t.Errorf("%s: the paints disagree", c.name)
		}
	}
	var p *problem.Problem
	if err := new(IO).SetColor("pink\x1b"); !errors.As(err, &p) || p.Code != "color-mode" || p.Exit != problem.Usage {
		t.Errorf("a wrong mode gives %v", err)
	} else if strings.Contains(err.Error(), "\x1b") {
		t.Errorf("the value is not cleaned: %q", err.Error())
	}
}

// A test's streams are no terminals: everything is off, and the width comes
// from COLUMNS.
func TestSystem(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	in, out, errOut := os.Stdin, os.Stdout, os.Stderr
	os.Stdin, os.Stdout, os.Stderr = r, w, w
	defer func() { os.Stdin, os.Stdout, os.Stderr = in, out, errOut }()

	o := System(env("COLUMNS", "100"))
	if o.OutTTY || o.InTTY || o.ErrTTY || o.Color || o.Rewrite || o.CanAsk() {
		t.Errorf("pipes taken for a terminal: %+v", o)
	}
	if o.Width != 100 || o.TextWidth() != 80 {
		t.Errorf("width %d, text %d", o.Width, o.TextWidth())
	}
	for cols, want := range map[string]int{"": 80, "zero": 80, "-3": 80, "10": minWidth} {
		if got := System(env("COLUMNS", cols)).Width; got != want {
			t.Errorf("COLUMNS=%q gives %d, want %d", cols, got, want)
		}
	}
}

func TestCanAsk(t *testing.T) {
	o := &IO{InTTY: true, ErrTTY: true}
	if !o.CanAsk() {
		t.Error("a terminal can be asked")
	}
	if o.NoInput = true; o.CanAsk() {
		t.Error("--no-input is not honoured")
	}
}

// clock is a time that a test moves.
type clock struct{ t time.Time }

func (c *clock) now() time.Time          { return c.t }
func (c *clock) advance(d time.Duration) { c.t = c.t.Add(d) }

func run(o *IO) string {
	var b bytes.Buffer
	o.Err, o.Out, o.Width = &b, io.Discard, 80
	c := &clock{t: time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)}
	p := NewProgress(o, c.now)
	p.Say("before any stage")
	p.Begin("envoy")
	c.advance(2 * time.Second)
	p.Say("12 of 35 MB")
	c.advance(4 * time.Second)
	p.Say("30 of 35 MB \x1b[2J")
	c.advance(time.Second)
	p.Done("1.40.0, fetched 35 MB, checksum ok")
	p.Begin("上游")
	p.Done("orders-1 :41001")
	p.Begin("control plane")
	p.Stop()
	p.Done("never shown")
	p.Stop()
	return b.String()
}

func TestProgressPlain(t *testing.T) {
	want := `envoy          30 of 35 MB \x1b[2J                                        6.0 s
envoy          1.40.0, fetched 35 MB, checksum ok                         7.0 s
上游           orders-1 :41001
`
	if diff := cmp.Diff(want, run(&IO{})); diff != "" {
		t.Error(diff)
	}
}

func TestProgressTerminal(t *testing.T) {
	got := run(&IO{ErrTTY: true, Rewrite: true})
	const back = "\r\x1b[K"
	want := []string{"envoy", "envoy          12 of 35 MB", "envoy          30 of 35 MB", "envoy          1.40.0", "上游", "上游           orders-1", "control plane", ""}
	parts := strings.Split(got, back)[1:]
	if len(parts) != len(want) {
		t.Fatalf("%d rewritings, want %d: %q", len(parts), len(want), got)
	}
	for i, p := range parts {
		if !strings.HasPrefix(p, want[i]) {
			t.Errorf("line %d is %q, want %q…", i, p, want[i])
		}
		if text.Width(strings.TrimRight(p, "\n")) >= 80 {
			t.Errorf("line %d fills the terminal: %q", i, p)
		}
	}
	if n := strings.Count(got, "\n"); n != 2 {
		t.Errorf("%d lines stay, want 2", n)
	}
}

func TestProgressCutsLongLines(t *testing.T) {
	var b bytes.Buffer
	p := NewProgress(&IO{Err: &b, Width: 80}, func() time.Time { return time.Time{} })
	p.Begin("envoy")
	p.Done(strings.Repeat("长", 100))
	if w := text.Width(strings.TrimRight(b.String(), "\n")); w >= 80 {
		t.Errorf("a line of %d cells", w)
	}
}

const page = "## Connect\n\nEnvoy knew *one* thing when it started: where its **control plane** is. Everything `it serves` now\n" +
	"came over [one stream](https://example.org/x):\n\n    lab journal\n\n```yaml\nresources:\n  - name: orders # " +
	"a comment long enough to go over the edge of the terminal, which must not be folded\n\n    x: y\n```\n\n" +
	"- the first item, which is long enough that it has to go on in a second line under its text\n- 第二项\n\n" +
	"1. one\n2. two\n\n> quoted words, again long enough that they have to go on in a second line of the quotation\n\n" +
	"| a | b |\n|---|---|\n| x | 中 |\n\nEnvoy 启动时只知道一件事：\n它的控制平面在哪里。它现在提供的一切都来自同一条流，包括 NACK。请看看它们说了些什么。\n"

func TestMarkdownPlain(t *testing.T) {
	got, err := (&IO{Width: 80}).Markdown(page + "\x1b[2J\u202e")
	if err != nil {
		t.Fatal(err)
	}
	want := `Connect

Envoy knew one thing when it started: where its control plane is. Everything ` + "`it\nserves`" + ` now came over one stream https://example.org/x:

    lab journal

    resources:
      - name: orders # a comment long enough to go over the edge of the terminal, which must not be folded

        x: y

• the first item, which is long enough that it has to go on in a second line
  under its text
• 第二项

1. one
2. two

│ quoted words, again long enough that they have to go on in a second line of
│ the quotation

 a │ b
───┼────
 x │ 中

Envoy 启动时只知道一件事：它的控制平面在哪里。它现在提供的一切都来自同一条流，包
括 NACK。请看看它们说了些什么。 \x1b[2J\u202e
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestMarkdownColor(t *testing.T) {
	plain, err := (&IO{Width: 80}).Markdown("# A `b` **c** *d*\n\n    code\n")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(plain, "\x1b") {
		t.Errorf("escape sequences without colour: %q", plain)
	}
	colored, err := (&IO{Width: 80, Color: true}).Markdown("# A `b` **c** *d*\n\n    code\n")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\x1b[36mcode", "\x1b[1m"} {
		if !strings.Contains(colored, want) {
			t.Errorf("no %q in %q", want, colored)
		}
	}
	if xansi.Strip(colored) != strings.ReplaceAll(plain, "`", "") {
		t.Errorf("colour changes the text: %q, %q", colored, plain)
	}
}
