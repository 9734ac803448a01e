package report

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"lab/pkg/term/text"
	"lab/pkg/words"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// screens are all screens, with what they show. Each is kept in both languages,
// with and without colour.
func screens() map[string]func(Style) string {
	m := map[string]func(Style) string{}
	for name, p := range problems() {
		m["problem-"+name] = func(s Style) string { return Problem(p, s) }
	}
	m["problems"] = func(s Style) string { return Problems(fileProblems(), s) }
	for name, st := range statuses() {
		m["status-"+name] = func(s Style) string { return ShowStatus(st, s) }
	}
	for name, r := range reports() {
		m["check-"+name] = func(s Style) string {
			r := r()
			Cite(&r, conversation(), s)
			return Check(r, s)
		}
		m["why-"+name] = func(s Style) string { return Why(r(), numbered(conversation()), s) }
	}
	for name, f := range map[string]Filter{"default": {}, "cds": {Type: "cds"}, "all": {All: true}, "raw": {Type: "LDS", Raw: true}} {
		m["journal-"+name] = func(s Style) string {
			var b bytes.Buffer
			if err := Journal(&b, conversation(), f, false, s); err != nil {
				return err.Error()
			}
			return b.String()
		}
	}
	m["step-head"] = func(s Style) string { return StepHead("08-xds", 2, 10, "Remove an endpoint", s) + "\n" }
	return m
}

func TestScreens(t *testing.T) {
	made := map[string]bool{}
	for name, show := range screens() {
		for _, lang := range words.Languages {
			plain := show(Style{Words: words.For(lang), Width: 80, Lab: "lab"})
			color := show(Style{Words: words.For(lang), Width: 80, Lab: "lab", Paint: text.NewPaint(true)})
			if ansi.Strip(color) != plain {
				t.Errorf("%s %s: colour changes the text:\n%s", name, lang, cmp.Diff(plain, ansi.Strip(color)))
			}
			made[golden(t, name+"."+lang+".txt", plain)] = true
			made[golden(t, name+"."+lang+".color.txt", strings.ReplaceAll(color, "\x1b", "␛"))] = true
			if name == "journal-raw" {
				continue
			}
			for _, line := range strings.Split(plain, "\n") {
				if text.Width(line) > 80 {
					t.Errorf("%s %s: %d cells: %s", name, lang, text.Width(line), line)
				}
			}
			if strings.Contains(plain, "<no value>") || strings.Contains(plain, "<report.") || strings.Contains(plain, "<problem.") {
				t.Errorf("%s %s: words are missing:\n%s", name, lang, plain)
			}
		}
	}
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !made[f] {
			t.Errorf("%s is stale: no screen has this name", f)
		}
	}
}

// golden compares got with a file, or writes it with -update.
func golden(t *testing.T, name, got string) string {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return file
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Errorf("%v (make it with -update)", err)
		return file
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got, rewrite with -update):\n%s", file, diff)
	}
	return file
}
