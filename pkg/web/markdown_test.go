package web

import (
	"strings"
	"testing"
)

// Markup that is no Markdown stays text, and no address runs a script.
func TestMarkdownIsSafe(t *testing.T) {
	for _, c := range []struct{ md, want string }{
		{"a **b** `c`", "<p>a <strong>b</strong> <code>c</code></p>\n"},
		{"Cluster <img src=x onerror=alert(1)> is", "<p>Cluster &lt;img src=x onerror=alert(1)&gt; is</p>\n"},
		{"<script>alert(1)</script>", "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>\n"},
		{"<div\nonclick=x>\n\nafter", "<p>&lt;div\nonclick=x&gt;\n</p>\n<p>after</p>\n"},
		{"`<b>`", "<p><code>&lt;b&gt;</code></p>\n"},
		{"请求\n发送", "<p>请求发送</p>\n"},
		{"a\n*b*", "<p>a\n<em>b</em></p>\n"},
	} {
		got, err := markdown(c.md)
		if err != nil || got != c.want {
			t.Errorf("%q: %q, want %q (%v)", c.md, got, c.want, err)
		}
	}
	for _, md := range []string{"[x](javascript:alert(1))", "[x](vbscript:a)", "![x](https://example.com/a.png)", "[x](data:text/html,a)"} {
		got, _ := markdown(md)
		for _, bad := range []string{"javascript:", "vbscript:", "<img", "data:"} {
			if strings.Contains(got, bad) {
				t.Errorf("%q: %q", md, got)
			}
		}
	}
}
