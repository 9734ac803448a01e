package cli

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"go.yaml.in/yaml/v4"

	"lab/pkg/term"
	"lab/pkg/words"
)

var update = flag.Bool("update", false, "write the generated pages")

// The pages in docs/ that come from the source must be what the source gives.
func TestGeneratedPages(t *testing.T) {
	for _, lang := range words.Languages {
		suffix := ""
		if lang != "en" {
			suffix = "." + lang
		}
		page(t, "../../docs/commands"+suffix+".md", commandsPage(t, lang))
		page(t, "../../docs/errors"+suffix+".md", errorsPage(t, lang))
	}
}

func page(t *testing.T, file, want string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil { //nolint:gosec // a page
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(file)
	if err != nil || string(got) != want {
		t.Errorf("%s is out of date (%v): make generate", file, err)
	}
}

func commandsPage(t *testing.T, lang string) string {
	t.Helper()
	f := &Factory{IO: &term.IO{}, Prefix: "lab", lang: lang}
	root := newRoot(f)
	root.DisableAutoGenTag = true
	var b bytes.Buffer
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Hidden {
			return
		}
		var one bytes.Buffer
		if err := doc.GenMarkdownCustom(c, &one, func(name string) string {
			return "#" + strings.ReplaceAll(strings.TrimSuffix(name, ".md"), "_", "-")
		}); err != nil {
			t.Fatal(err)
		}
		b.Write(one.Bytes())
		b.WriteString("\n")
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(root)
	return b.String()
}

// errorsPage has one heading for each code: what it says, why, and what mends
// it, as the words are written ({{.Name}} stands for a value).
func errorsPage(t *testing.T, lang string) string {
	t.Helper()
	said := map[string]string{}
	files, err := filepath.Glob("../words/*." + lang + ".yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var all map[string]any
		if err := yaml.Unmarshal(raw, &all); err != nil {
			t.Fatal(f, err)
		}
		for id, v := range all {
			if text, ok := v.(string); ok {
				said[id] = strings.TrimSpace(text)
			}
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n", words.For(lang).T("docs.errors.title", nil))
	for _, id := range slices.Sorted(maps.Keys(said)) {
		code, isProblem := strings.CutPrefix(id, "problem.")
		code, isPage := strings.CutSuffix(code, ".page")
		if !isProblem || !isPage {
			continue
		}
		quote := func(s string) string { return strings.ReplaceAll(s, "\n", "\n> ") }
		fmt.Fprintf(&b, "\n## %s\n\n> %s\n", code, quote(said["problem."+code+".what"]))
		if fix := said["problem."+code+".fix"]; fix != "" {
			fmt.Fprintf(&b, ">\n> %s\n", quote(fix))
		}
		fmt.Fprintf(&b, "\n%s\n", said[id])
	}
	return b.String()
}
