// Package text measures, cuts, aligns and colours text for a terminal of
// fixed-width cells, in which a CJK character takes two.
//
// It is pure: it must not look at a stream, an environment or a clock, so that
// what pkg/report renders depends on its arguments alone. Colour is a value
// (Paint) which the caller passes on, never a global.
package text

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// Width is the number of cells that s takes; escape sequences take none.
func Width(s string) int { return ansi.StringWidth(s) }

// Pad fills s with spaces on the right to n cells. A longer s stays whole.
func Pad(s string, n int) string {
	return s + strings.Repeat(" ", max(0, n-Width(s)))
}

// PadLeft fills s with spaces on the left to n cells.
func PadLeft(s string, n int) string {
	return strings.Repeat(" ", max(0, n-Width(s))) + s
}

// Ends puts left and right at the two ends of a line of width cells. Where both
// do not fit, right follows left after two spaces.
func Ends(left, right string, width int) string {
	gap := max(2, width-Width(left)-Width(right))
	return strings.TrimRight(left+strings.Repeat(" ", gap)+right, " ")
}

// Cut shortens s to n cells and marks the cut with an ellipsis.
func Cut(s string, n int) string { return ansi.Truncate(s, n, "…") }

// Clean makes untrusted text safe to print on one line or more: control
// characters (other than newline and tab), invisible and direction-changing
// ones, and broken UTF-8 become visible escapes, so that a name in a file or an
// error text of a peer can neither move the cursor nor hide something.
func Clean(s string) string {
	if !strings.ContainsFunc(s, unsafeRune) && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD"):
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case !unsafeRune(r):
			b.WriteRune(r)
		case r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// CleanLine is Clean for text that must stay on one line: newlines and tabs
// become spaces.
func CleanLine(s string) string {
	return Clean(strings.Map(func(r rune) rune {
		if r == '\n' || r == '\r' || r == '\t' {
			return ' '
		}
		return r
	}, s))
}

func unsafeRune(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r == '\u200c' || r == '\u200d': // joiners, part of ordinary text
		return false
	}
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029'
}
