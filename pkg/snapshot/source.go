package snapshot

import (
	"bytes"
	"sort"
	"unicode/utf8"

	"lab/pkg/problem"
)

// maxSource is how many characters of a line a problem carries.
const maxSource = 160

// source finds lines of the text.
type source struct {
	file   string
	text   []byte
	starts []int32 // byte offset of each line
}

func newSource(file string, text []byte) *source {
	s := &source{file: file, text: text, starts: []int32{0}}
	for i := 0; i < len(text); i++ {
		if text[i] == '\r' && i+1 < len(text) && text[i+1] == '\n' {
			i++
		} else if text[i] != '\n' && text[i] != '\r' {
			continue
		}
		s.starts = append(s.starts, int32(i+1))
	}
	return s
}

// place gives the place of a line and column.
func (s *source) place(line, col int) problem.Place {
	at := problem.Place{File: s.file, Line: max(line, 0), Col: max(col, 0)}
	if line >= 1 && line <= len(s.starts) {
		at.Source = cut(s.line(line), maxSource)
	}
	return at
}

// at gives the place of a byte.
func (s *source) at(offset int) problem.Place {
	i := sort.Search(len(s.starts), func(k int) bool { return int(s.starts[k]) > offset }) - 1
	return s.place(i+1, utf8.RuneCount(s.text[s.starts[i]:offset])+1)
}

// line is the text of a line, at most as much of it as a problem carries.
func (s *source) line(line int) string {
	if line < 1 || line > len(s.starts) {
		return ""
	}
	rest := s.text[s.starts[line-1]:]
	rest = rest[:min(len(rest), maxSource*utf8.UTFMax)]
	if end := bytes.IndexAny(rest, "\r\n"); end >= 0 {
		rest = rest[:end]
	}
	return string(bytes.ToValidUTF8(rest, []byte("\uFFFD")))
}

// before is the text of a line up to a column, or as much as a problem carries.
func (s *source) before(line, col int) string {
	text := []rune(s.line(line))
	return string(text[:max(0, min(len(text), col-1))])
}

// indent is the white space that a line starts with.
func (s *source) indent(line int) []byte {
	if line < 1 || line > len(s.starts) {
		return nil
	}
	rest := s.text[s.starts[line-1]:]
	n := 0
	for n < len(rest) && (rest[n] == ' ' || rest[n] == '\t') {
		n++
	}
	return rest[:n]
}

// cut shortens a text to a number of characters.
func cut(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	r := []rune(s)
	return string(r[:n-1]) + "…"
}
