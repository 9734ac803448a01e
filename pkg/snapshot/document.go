package snapshot

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"lab/pkg/problem"
)

// maxBytes bounds a snapshot file: 15 times a file of 1,000 clusters.
const maxBytes = 8 << 20

// directive is %YAML 1.2 at the start of a file. Envoy accepts it, the YAML
// reader here knows 1.1 only; as a comment of the same length it does no harm
// and moves nothing.
var directive = regexp.MustCompile(`^%YAML +1\.[0-9]`)

// clean gives the text as UTF-8 without byte order mark, and reports bytes that
// no YAML text has.
func clean(r *reporter, file string, text []byte) ([]byte, bool) {
	if len(text) > maxBytes {
		r.add(problem.Place{File: file}, "too-large", problem.Args{"MB": "8"}, false)
		return nil, false
	}
	switch {
	case bytes.HasPrefix(text, []byte{0xFF, 0xFE}):
		text = fromUTF16(text[2:], 0, 1)
	case bytes.HasPrefix(text, []byte{0xFE, 0xFF}):
		text = fromUTF16(text[2:], 1, 0)
	}
	text = bytes.TrimPrefix(text, []byte("\uFEFF"))
	r.src = newSource(file, text)
	if at := foreign(text); at >= 0 {
		c, n := utf8.DecodeRune(text[at:])
		name := fmt.Sprintf("U+%04X", c)
		if c == utf8.RuneError && n == 1 {
			name = fmt.Sprintf("0x%02X", text[at])
		}
		r.add(r.src.at(at), "encoding", problem.Args{"Byte": name}, false)
		return nil, false
	}
	if directive.Match(text) {
		text = append([]byte("#"), text[1:]...)
	}
	return text, true
}

// foreign gives the offset of the first byte or character that must not be in
// the file, or -1. Envoy takes control characters and the line ends of Unicode
// as text; the YAML reader here refuses the first and breaks lines at the
// second, which no editor shows.
func foreign(text []byte) int {
	for i := 0; i < len(text); {
		c, n := rune(text[i]), 1
		if c >= utf8.RuneSelf {
			c, n = utf8.DecodeRune(text[i:])
		}
		switch {
		case c == utf8.RuneError && n == 1,
			c < ' ' && c != '\t' && c != '\n' && c != '\r',
			c >= 0x7F && c < 0xA0, c == 0x2028, c == 0x2029:
			return i
		}
		i += n
	}
	return -1
}

// fromUTF16 decodes pairs of bytes, of which high and low tell the order.
func fromUTF16(raw []byte, low, high int) []byte {
	units := make([]uint16, 0, len(raw)/2)
	for i := 0; i+1 < len(raw); i += 2 {
		units = append(units, uint16(raw[i+high])<<8|uint16(raw[i+low]))
	}
	return []byte(string(utf16.Decode(units)))
}

// parse gives the root of the one document, nil for a file without content.
// Envoy reads the first document and drops the rest without a word; here the
// rest is an error.
func parse(r *reporter, text []byte) (*yaml.Node, bool) {
	loader, err := yaml.NewLoader(bytes.NewReader(text))
	if err != nil {
		r.add(r.src.place(1, 1), "syntax", problem.Args{"Detail": err.Error()}, false)
		return nil, false
	}
	var root *yaml.Node
	for first := true; ; first = false {
		var doc yaml.Node
		err := loader.Load(&doc)
		if errors.Is(err, io.EOF) {
			return root, true
		}
		if err != nil {
			syntaxError(r, err, !first)
			return nil, false
		}
		content := &doc
		if doc.Kind == yaml.DocumentNode && len(doc.Content) > 0 {
			content = doc.Content[0]
		}
		switch {
		case first:
			root = content
		case isNull(content): // a "---" at the end of the file
		default:
			r.errorAt(content, "second-document", nil)
			return nil, false
		}
	}
}

// syntaxError says in plain words what the YAML reader found, at the place that
// helps most: where an open quote or bracket begins, else where the reader
// stopped.
func syntaxError(r *reporter, err error, later bool) {
	var le *yaml.LoadError
	if !errors.As(err, &le) {
		r.add(r.src.place(1, 1), "syntax", problem.Args{"Detail": err.Error()}, false)
		return
	}
	code, atContext := "syntax", false
	msg, context := le.Message, le.ContextMsg
	switch {
	case strings.Contains(msg, "<document start>"):
		code = "trailing"
	case later:
		code = "second-document"
	case strings.Contains(msg, "unexpected end of stream"), strings.Contains(msg, "unexpected document indicator"):
		code, atContext = "syntax-quote", true
	case strings.Contains(msg, "',' or ']'"), strings.Contains(msg, "',' or '}'"):
		code, atContext = "syntax-bracket", true
	case strings.Contains(msg, "expected node content"):
		code = "syntax-node"
	case strings.Contains(msg, "tab"), strings.Contains(msg, "cannot start any token") && atTab(r, le.Mark):
		code = "syntax-tab"
	case strings.Contains(msg, "expected ':'"):
		code, atContext = "syntax-colon", true
	case strings.Contains(msg, "mapping values are not allowed") && strings.Contains(r.src.before(le.Mark.Line, le.Mark.Column), ": "):
		code = "syntax-value"
	case strings.Contains(msg, "expected key"), strings.Contains(msg, "expected '-' indicator"), strings.Contains(msg, "not allowed in this context"):
		code = "syntax-indent"
	case strings.Contains(msg, "unknown escape"):
		code = "syntax-escape"
	case strings.Contains(msg, "unknown anchor"), strings.Contains(context, "scanning an alias"):
		code = "syntax-anchor"
	case strings.Contains(msg, "cannot start any token"):
		code = "syntax-character"
	}
	mark := le.Mark
	if atContext && le.ContextMark.Line > 0 {
		mark = le.ContextMark
	}
	at := r.src.place(mark.Line, mark.Column)
	// A broken file may be one that holds a private key.
	if bytes.Contains(r.src.text, []byte("PRIVATE KEY")) {
		at.Source = ""
	}
	detail := msg
	if context != "" {
		detail = context + ": " + msg
	}
	r.add(at, code, problem.Args{"Detail": detail}, false)
}

// atTab tells whether a tab stands at a mark.
func atTab(r *reporter, m yaml.Mark) bool {
	return m.Index >= 0 && m.Index < len(r.src.text) && r.src.text[m.Index] == '\t'
}
