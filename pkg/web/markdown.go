package web

import (
	"html"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"

	"lab/pkg/term/text"
)

// markdown makes HTML of a step's text. Names of a learner's resources stand in
// it, so HTML in it is shown as text, and addresses of scripts are left out
// (goldmark's default).
func markdown(md string) (string, error) {
	var b strings.Builder
	g := goldmark.New(
		goldmark.WithExtensions(extension.Table),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(plainHTML{}, 1))))
	err := g.Convert([]byte(text.JoinCJK(text.Clean(md))), &b)
	return b.String(), err
}

// plainHTML shows HTML as the text that it is.
type plainHTML struct{}

// RegisterFuncs is renderer.NodeRenderer.
func (p plainHTML) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindRawHTML, p.inline)
	r.Register(ast.KindHTMLBlock, p.block)
	r.Register(ast.KindImage, p.image)
}

func (plainHTML) inline(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	_, err := w.WriteString(html.EscapeString(string(n.(*ast.RawHTML).Segments.Value(source))))
	return ast.WalkSkipChildren, err
}

func (plainHTML) block(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	raw := n.Lines().Value(source)
	if b := n.(*ast.HTMLBlock); b.HasClosure() {
		raw = append(raw, b.ClosureLine.Value(source)...)
	}
	_, err := w.WriteString("<p>" + html.EscapeString(string(raw)) + "</p>\n")
	return ast.WalkContinue, err
}

// image: the page loads none, so its words have to do.
func (plainHTML) image(util.BufWriter, []byte, ast.Node, bool) (ast.WalkStatus, error) {
	return ast.WalkContinue, nil
}
