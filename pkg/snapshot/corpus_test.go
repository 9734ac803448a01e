package snapshot

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"lab/pkg/problem"
	"lab/pkg/words"
)

var update = flag.Bool("update", false, "write what Load says, and what Envoy does, into the corpus")

// A corpus file holds cases of one topic. NAME.yaml is the input, NAME.lab what
// Load says of it, NAME.envoy what Envoy does with it, and NAME.why the reason
// where the two differ on purpose.
type corpusCase struct {
	topic, name string
	yaml        []byte
	lab, envoy  string
	why         string
}

func (c corpusCase) id() string { return c.topic + "/" + c.name }

// corpus reads all cases, in order. A section without its input is stale.
func corpus(t testing.TB) []corpusCase {
	t.Helper()
	files, err := filepath.Glob("testdata/corpus/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no corpus: %v", err)
	}
	var all []corpusCase
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		topic := strings.TrimSuffix(filepath.Base(file), ".txtar")
		at := map[string]int{}
		for _, f := range a.Files {
			name, kind, _ := strings.Cut(f.Name, ".")
			if kind == "yaml" {
				at[name] = len(all)
				all = append(all, corpusCase{topic: topic, name: name, yaml: f.Data})
				continue
			}
			i, ok := at[name]
			if !ok {
				t.Fatalf("%s: %s has no input before it", file, f.Name)
			}
			switch kind {
			case "lab":
				all[i].lab = string(f.Data)
			case "envoy":
				all[i].envoy = strings.TrimSpace(string(f.Data))
			case "why":
				all[i].why = strings.TrimSpace(string(f.Data))
			default:
				t.Fatalf("%s: %s is of no known kind", file, f.Name)
			}
		}
	}
	return all
}

// store writes the cases back.
func store(t testing.TB, all []corpusCase) {
	t.Helper()
	archives := map[string]*txtar.Archive{}
	for _, c := range all {
		a := archives[c.topic]
		if a == nil {
			a = &txtar.Archive{}
			archives[c.topic] = a
		}
		add := func(kind, text string) {
			if text != "" {
				a.Files = append(a.Files, txtar.File{Name: c.name + "." + kind, Data: []byte(strings.TrimRight(text, "\n") + "\n")})
			}
		}
		a.Files = append(a.Files, txtar.File{Name: c.name + ".yaml", Data: c.yaml})
		add("lab", c.lab)
		add("envoy", c.envoy)
		add("why", c.why)
	}
	for topic, a := range archives {
		if err := os.WriteFile(filepath.Join("testdata/corpus", topic+".txtar"), txtar.Format(a), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestCorpus(t *testing.T) {
	all := corpus(t)
	for i, c := range all {
		set, list := Load("snapshot.yaml", c.yaml)
		if (set == nil) != (len(list.Errors()) > 0) {
			t.Errorf("%s: set %v with errors %v", c.id(), set != nil, list.Err())
		}
		got := describe(set, list)
		if *update {
			all[i].lab = got
			continue
		}
		if got != c.lab {
			t.Errorf("%s: Load says\n%s\nwant\n%s", c.id(), got, c.lab)
		}
	}
	if *update {
		store(t, all)
	}
}

// describe is the golden form of what Load gives.
func describe(set *Set, list problem.List) string {
	var b strings.Builder
	for _, p := range list {
		level := "error"
		if p.Warning {
			level = "warning"
		}
		fmt.Fprintf(&b, "%d:%d %s %s: %s | %s\n", p.Place.Line, p.Place.Col, level, p.Code, p.Error(), p.Fix(words.English()))
	}
	if set != nil {
		fmt.Fprintf(&b, "version %q\n", set.Version)
		for _, r := range set.Resources {
			fmt.Fprintf(&b, "%d %s %s %s\n", r.Line, r.Type, r.Name, r.Hash)
		}
	}
	return b.String()
}

// TestWords finds problems of the corpus whose words are missing or lack a
// value, in each language.
func TestWords(t *testing.T) {
	codes := map[string]bool{}
	for _, c := range corpus(t) {
		_, list := Load("snapshot.yaml", c.yaml)
		for _, p := range list {
			codes[p.Code] = true
			for _, lang := range words.Languages {
				w := words.For(lang)
				for _, s := range []string{p.What(w), p.Fix(w), w.T("problem."+p.Code+".page", p.Args)} {
					if s == "" || strings.Contains(s, "<no value>") || strings.Contains(s, "<problem.") {
						t.Errorf("%s, %s, %s: %q", c.id(), p.Code, lang, s)
					}
				}
			}
		}
	}
	t.Logf("%d kinds of problem", len(codes))
}

// TestEveryProblem holds the words against what Load can say: words that
// nothing uses are stale, and a problem without an input is untested.
func TestEveryProblem(t *testing.T) {
	seen := map[string]bool{}
	note := func(list problem.List) {
		for _, p := range list {
			seen[p.Code] = true
		}
	}
	for _, c := range corpus(t) {
		_, list := Load("f", c.yaml)
		note(list)
	}
	bomb := "resources: [" + strings.Repeat("~, ", 1000) + "]\n"
	for _, text := range []string{
		bomb, // more than are listed
		strings.Repeat(" ", maxBytes+1),
		"resources: [&a [" + strings.Repeat("~, ", 3000) + "]" + strings.Repeat(", *a", 3000) + "]\n",
		"resources:\n" + clusterHead + "a\n  metadata: {filter_metadata: &a {x: {l: [" + strings.Repeat("1, ", 50000) + "]}}}\n" +
			strings.Repeat(clusterHead+"b\n  metadata: {filter_metadata: *a}\n", 60),
	} {
		_, list := Load("f", []byte(text))
		note(list)
	}
	_, list := Import("f", nil)
	note(list)
	raw, err := os.ReadFile("../words/snapshot.en.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		if key, ok := strings.CutPrefix(strings.Split(line, ":")[0], "problem."); ok {
			code := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(key, ".what"), ".fix"), ".page")
			if !seen[code] {
				t.Errorf("nothing gives %s", code)
			}
		}
	}
}
