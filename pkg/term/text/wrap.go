package text

import (
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
	"github.com/rivo/uniseg"
)

// Wrap breaks s into lines of at most width cells. The first line begins with
// first, the others with rest. Lines break at spaces and beside CJK characters
// as Unicode UAX #14 allows (no full stop at the start of a line); a word that is
// longer than a line stays whole, because commands and paths are copied. Escape
// sequences in s are kept.
func Wrap(s string, width int, first, rest string) string {
	var b strings.Builder
	b.WriteString(first)
	col, indent := Width(first), Width(rest)
	start := col
	pending := "" // spaces that are printed only when a word follows on the line
	for _, a := range atoms(s) {
		word := strings.TrimRight(a, " ")
		w := Width(word)
		if col > start && col+len(pending)+w > width {
			b.WriteString("\n" + rest)
			col, start, pending = indent, indent, ""
		}
		b.WriteString(pending + word)
		col += len(pending) + w
		pending = a[len(word):]
		if strings.HasSuffix(word, "\n") {
			b.WriteString(rest)
			col, start, pending = indent, indent, ""
		}
	}
	return trimLines(b.String())
}

// atoms cuts s into pieces between which a line may break. The pieces joined
// give s.
func atoms(s string) []string {
	var out []string
	plain := ansi.Strip(s)
	state := -1
	var seg, before string
	for plain != "" {
		seg, plain, _, state = uniseg.FirstLineSegmentInString(plain, state)
		piece := take(&s, seg)
		if len(out) > 0 && !mayBreak(before, seg) {
			out[len(out)-1] += piece
		} else {
			out = append(out, piece)
		}
		before = seg
	}
	if s != "" && len(out) > 0 { // escape sequences after the last character
		out[len(out)-1] += s
	}
	return out
}

// mayBreak narrows UAX #14, which also breaks after a slash or a hyphen: between
// two narrow characters only a space or a newline separates.
func mayBreak(before, after string) bool {
	last, _ := utf8.DecodeLastRuneInString(before)
	next, _ := utf8.DecodeRuneInString(after)
	return last == ' ' || last == '\n' || wide(last) || wide(next)
}

func wide(r rune) bool { return Width(string(r)) == 2 }

// take removes the beginning of *s that prints as plain, with the escape
// sequences before and in it, and gives it back.
func take(s *string, plain string) string {
	n, rest := 0, *s
	for matched := 0; matched < len(plain); {
		seq, _, size, _ := ansi.DecodeSequence(rest[n:], ansi.NormalState, nil)
		if size == 0 {
			break
		}
		matched += len(ansi.Strip(seq))
		n += size
	}
	// A sequence that ends a style belongs to the text before it.
	for n < len(rest) && rest[n] == '\x1b' {
		seq, _, size, _ := ansi.DecodeSequence(rest[n:], ansi.NormalState, nil)
		if seq != "\x1b[m" && seq != "\x1b[0m" && seq != "\x1b[22m" {
			break
		}
		n += size
	}
	*s = rest[n:]
	return rest[:n]
}

func trimLines(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, " ")
	}
	return strings.Join(lines, "\n")
}

// Columns aligns the cells of rows, with gap spaces between columns. A column
// whose number is in right is aligned to the right. The last column is not
// padded. Cells hold no newline.
func Columns(rows [][]string, gap int, right map[int]bool) []string {
	var widths []int
	for _, row := range rows {
		for i, c := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], Width(c))
		}
	}
	out := make([]string, len(rows))
	for r, row := range rows {
		var b strings.Builder
		for i, c := range row {
			if i > 0 {
				b.WriteString(strings.Repeat(" ", gap))
			}
			if right[i] {
				b.WriteString(PadLeft(c, widths[i]))
			} else {
				b.WriteString(Pad(c, widths[i]))
			}
		}
		out[r] = strings.TrimRight(b.String(), " ")
	}
	return out
}
