package snapshot

import (
	"bytes"
	"sort"
	"unicode/utf8"

	"lab/pkg/problem"
)

// maxSource is how many characters of a line a problem carries.
const maxSource = 160

// source finds lines of the text. The YAML reader also counts U+0085, U+2028
// and U+2029 as line ends, which no editor does; place turns its numbers into
// those that an editor shows.
type source struct {
	file   string
	text   []byte
	starts []int32 // byte offset of each line as the YAML reader counts them
	odd    []int32 // indexes into starts of lines that no editor starts there
}

func newSource(file string, text []byte) *source {
	s := &source{file: file, text: text, starts: []int32{0}}
	for i := 0; i < len(text); i++ {
		next, odd := i+1, false
		switch {
		case text[i] == '\n':
		case text[i] == '\r':
			if next < len(text) && text[next] == '\n' {
				i, next = next, next+1
			}
		case text[i] == 0xC2 && next < len(text) && text[next] == 0x85:
			next, odd = i+2, true
		case text[i] == 0xE2 && i+2 < len(text) && text[i+1] == 0x80 && (text[i+2] == 0xA8 || text[i+2] == 0xA9):
			next, odd = i+3, true
		default:
			continue
		}
		if odd {
			s.odd = append(s.odd, int32(len(s.starts)))
		}
		s.starts = append(s.starts, int32(next))
	}
	return s
}

// place gives the editor's place of a line and column of the YAML reader.
func (s *source) place(line, col int) problem.Place {
	if line < 1 || line > len(s.starts) {
		return problem.Place{File: s.file, Line: max(line, 0), Col: max(col, 0)}
	}
	i := line - 1
	before := sort.Search(len(s.odd), func(k int) bool { return int(s.odd[k]) > i })
	from := i
	for k := before; k > 0 && int(s.odd[k-1]) == from; k-- {
		from--
	}
	col += utf8.RuneCount(s.text[s.starts[from]:s.starts[i]])
	return problem.Place{File: s.file, Line: line - before, Col: col, Source: cut(s.line(from), maxSource)}
}

// at gives the place of a byte.
func (s *source) at(offset int) problem.Place {
	i := sort.Search(len(s.starts), func(k int) bool { return int(s.starts[k]) > offset }) - 1
	return s.place(i+1, utf8.RuneCount(s.text[s.starts[i]:offset])+1)
}

// line is the text from the start of a line to the end that an editor shows,
// at most as much of it as a problem carries.
func (s *source) line(i int) string {
	rest := s.text[s.starts[i]:]
	rest = rest[:min(len(rest), maxSource*utf8.UTFMax)]
	if end := bytes.IndexAny(rest, "\r\n"); end >= 0 {
		rest = rest[:end]
	}
	return string(bytes.ToValidUTF8(rest, []byte("\uFFFD")))
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
