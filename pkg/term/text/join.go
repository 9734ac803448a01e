package text

import "strings"

// JoinCJK takes out the newline between two wide characters of a paragraph:
// Markdown would make a space of it, which Chinese does not have.
func JoinCJK(md string) string {
	lines := strings.Split(md, "\n")
	out := lines[:1]
	fenced := isFence(lines[0])
	for _, line := range lines[1:] {
		last := len(out) - 1
		if isFence(line) {
			fenced = !fenced
		}
		if !fenced && endsWide(out[last]) && beginsWide(line) {
			out[last] += strings.TrimLeft(line, " ")
			continue
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}

func isFence(line string) bool {
	t := strings.TrimLeft(line, " ")
	return strings.HasPrefix(t, "```") || strings.HasPrefix(t, "~~~")
}

func endsWide(s string) bool {
	r := []rune(s)
	return len(r) > 0 && !strings.HasPrefix(s, "#") && Width(string(r[len(r)-1])) == 2
}

// beginsWide tells whether a line goes on with a wide character. Four spaces
// begin a code block.
func beginsWide(s string) bool {
	t := strings.TrimLeft(s, " ")
	if t == "" || len(s)-len(t) >= 4 {
		return false
	}
	return Width(string([]rune(t)[0])) == 2
}
