package text

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"
)

func TestWidth(t *testing.T) {
	for s, want := range map[string]int{
		"orders": 6, "中文": 4, "e\u0301": 1, "✔✘?→–…·": 7, "，": 2, "\x1b[31mred\x1b[0m": 3, "👩‍💻": 2,
	} {
		if got := Width(s); got != want {
			t.Errorf("Width(%q) = %d, want %d", s, got, want)
		}
	}
}

func TestPadAndCut(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Pad("中", 4) + "|", "中  |"},
		{PadLeft("中", 4), "  中"},
		{Pad("orders", 3), "orders"},
		{Ends("left", "右边", 12), "left    右边"},
		{Ends("left", "right", 6), "left  right"},
		{Cut("中文字", 5), "中文…"},
		{Cut("abc", 3), "abc"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"plain 中文\n\ttab":       "plain 中文\n\ttab",
		"\x1b]0;title\x07":      `\x1b]0;title\x07`,
		"\u009b31m":             `\x9b31m`,
		"a\u202eb\u2066c":       `a\u202eb\u2066c`,
		"bad\xff\xfe":           `bad\xff\xfe`,
		"kept \uFFFD":           "kept \uFFFD",
		"kept \uFFFD, cut \xe4": "kept \uFFFD, cut " + `\xe4`,
		"\rover":                `\x0dover`,
		"zero\u200bwidth":       `zero\u200bwidth`,
		"\u2028line":            `\u2028line`,
	} {
		if got := Clean(in); got != want {
			t.Errorf("Clean(%q) = %q, want %q", in, got, want)
		}
	}
	if got := CleanLine("a\r\nb\tc\x1b"); got != `a  b c\x1b` {
		t.Errorf("CleanLine: %q", got)
	}
}

// Whatever the input, nothing that a terminal obeys is left.
func TestCleanIsSafe(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw := rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")
		got := Clean(string(raw))
		if strings.ContainsFunc(got, unsafeRune) || ansi.Strip(got) != got {
			t.Fatalf("%q became %q", raw, got)
		}
		if again := Clean(got); again != got {
			t.Fatalf("not stable: %q, then %q", got, again)
		}
	})
}

func TestWrap(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"words", "one two three four", "- one two\n  three four"},
		{"exact", "12345678 1234567890", "- 12345678\n  1234567890"},
		{"a long word stays whole", "see http://127.0.0.1:41080/ there", "- see\n  http://127.0.0.1:41080/\n  there"},
		{"hyphens and slashes stay", "lab control-plane a/b/c/d", "- lab\n  control-plane\n  a/b/c/d"},
		{"no stop at the start of a line", "控制平面停。重启", "- 控制平面\n  停。重启"},
		{"no opening mark at the end of a line", "控制平面（停止）", "- 控制平面\n  （停止）"},
		{"mixed", "发送 CDS 3，Envoy 拒绝", "- 发送 CDS\n  3，Envoy\n  拒绝"},
		{"newlines stay", "a\nb", "- a\n  b"},
		{"spaces at a break go", "123456789   b", "- 123456789\n  b"},
		{"colour", "one \x1b[1mtwo three\x1b[22m four", "- one \x1b[1mtwo\n  three\x1b[22m four"},
		{"empty", "", "-"},
	} {
		if got := Wrap(c.in, 12, "- ", "  "); got != c.want {
			t.Errorf("%s:\ngot\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}

// Wrapping loses and adds nothing but white space, and a line is longer than the
// width only where one word is.
func TestWrapKeepsText(t *testing.T) {
	words := rapid.SliceOf(rapid.SampledFrom([]string{
		"a", "orders", "127.0.0.1:41002", "NACK", "控制平面", "，", "。", "（见", "）", "\x1b[31mred\x1b[0m", "\n", "08-xds", " ",
	}))
	squeeze := func(s string) string { return strings.Join(strings.Fields(ansi.Strip(s)), "") }
	rapid.Check(t, func(t *rapid.T) {
		in := strings.Join(words.Draw(t, "words"), rapid.SampledFrom([]string{" ", ""}).Draw(t, "sep"))
		width := rapid.IntRange(8, 30).Draw(t, "width")
		out := Wrap(in, width, "", "  ")
		if squeeze(out) != squeeze(in) {
			t.Fatalf("text changed: %q became %q", in, out)
		}
		for _, line := range strings.Split(out, "\n") {
			if Width(line) > width && len(atoms(strings.TrimLeft(line, " "))) > 1 {
				t.Fatalf("line %q has %d cells, limit %d", line, Width(line), width)
			}
		}
	})
}

func TestColumns(t *testing.T) {
	got := strings.Join(Columns([][]string{
		{"", "已发送", "sent"}, {"CDS", "3", "–"}, {"EDS", "12", "4"},
	}, 2, map[int]bool{1: true}), "\n")
	want := "     已发送  sent\nCDS       3  –\nEDS      12  4"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestPaint(t *testing.T) {
	if got := NewPaint(false).Bold("x") + (Paint{}).Mark(Fail); got != "x✘" {
		t.Errorf("off: %q", got)
	}
	on := NewPaint(true)
	if !on.On() || on.Bold("x") == "x" || Width(on.Mark(Pass)) != 1 {
		t.Errorf("on: %q", on.Bold("x"))
	}
	seen := map[string]bool{}
	for _, s := range []string{on.Mark(Pass), on.Mark(Fail), on.Mark(Open), on.Dim("x"), on.Bold("x"), on.Code("x")} {
		seen[strings.Trim(s, "✔✘?x")] = true
	}
	if len(seen) != 6 {
		t.Errorf("styles are not told apart: %v", seen)
	}
}
