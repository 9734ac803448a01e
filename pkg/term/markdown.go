package term

import (
	"regexp"
	"strings"

	"charm.land/glamour/v2"
	"charm.land/glamour/v2/ansi"
	xansi "github.com/charmbracelet/x/ansi"

	"lab/pkg/term/text"
)

// Markdown renders a text for o.Out: no wider than TextWidth, without any
// escape sequence where colour is off. Code blocks are not wrapped, since people
// copy them. A list item holds one paragraph: glamour runs a second one into it.
func (o *IO) Markdown(md string) (string, error) {
	// glamour only parses and styles. It pads lines, wraps Chinese between any two
	// characters and does not hang list items, so the wrapping is ours.
	r, err := glamour.NewTermRenderer(glamour.WithStyles(calm(o.Color)),
		glamour.WithWordWrap(0), glamour.WithTableWrap(false))
	if err != nil {
		return "", err
	}
	out, err := r.Render(text.JoinCJK(text.Clean(md)))
	if err != nil {
		return "", err
	}
	return layout(hyperlink.ReplaceAllString(out, ""), o.TextWidth()), nil
}

// hyperlink matches the OSC 8 sequences that glamour puts around links, also
// without colour. The address stands in the text anyway.
var hyperlink = regexp.MustCompile("\x1b\\]8;[^\x07\x1b]*(?:\x07|\x1b\\\\)")

// codeIndent is how far a code block is indented, and how layout knows it.
const codeIndent = 4

// calm is the style: weight for titles, one colour for what is typed.
func calm(color bool) ansi.StyleConfig {
	var c ansi.StyleConfig
	c.Heading.BlockSuffix = "\n"
	c.Item.BlockPrefix = "• "
	c.Enumeration.BlockPrefix = ". "
	c.List.LevelIndent = 2
	c.CodeBlock.Margin = new(uint(codeIndent))
	c.BlockQuote.Indent = new(uint(1))
	c.BlockQuote.IndentToken = new("│ ")
	c.HorizontalRule.Format = "\n" + strings.Repeat("─", codeIndent) + "\n"
	c.Code.Prefix, c.Code.Suffix = "`", "`"
	if color {
		c.Code.Prefix, c.Code.Suffix = "", ""
		c.Code.Color, c.CodeBlock.Color = new("6"), new("6")
		c.Heading.Bold, c.Strong.Bold, c.Emph.Italic = new(true), new(true), new(true)
	}
	return c
}

// hanging matches the marker of a list item or a quotation.
var hanging = regexp.MustCompile(`^ *(?:• |\d+\. |│ )`)

// layout wraps each line of prose, hangs list items, and leaves one blank line
// between blocks and none around the whole.
func layout(s string, width int) string {
	var out []string
	blank := true
	for line := range strings.Lines(s) {
		line = strings.TrimRight(line, "\n")
		plain := strings.TrimRight(xansi.Strip(line), " ")
		if plain == "" {
			if !blank {
				out = append(out, "")
			}
			blank = true
			continue
		}
		blank = false
		marker := hanging.FindString(plain)
		switch {
		case marker == "" && strings.HasPrefix(plain, strings.Repeat(" ", codeIndent)):
			out = append(out, strings.TrimRight(line, " "))
		case strings.HasPrefix(strings.TrimLeft(marker, " "), "│"):
			out = append(out, text.Wrap(line, width, "", marker))
		default:
			out = append(out, text.Wrap(line, width, "", strings.Repeat(" ", text.Width(marker))))
		}
	}
	return strings.TrimRight(strings.Join(out, "\n"), "\n") + "\n"
}
