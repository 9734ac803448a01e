package words

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/template"
	"text/template/parse"
	"unicode"

	"go.yaml.in/yaml/v4"
)

// message is one id in one language: its text by plural form; a message without
// plural forms has only other.
type message map[string]string

// area reads a file of words as its ids.
func area(t *testing.T, name string) map[string]message {
	t.Helper()
	raw, err := files.ReadFile(name)
	if err != nil {
		t.Errorf("an area has no file in one language: %v", err)
	}
	var doc map[string]any
	if err := yaml.Unmarshal(raw, &doc); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	out := map[string]message{}
	for id, v := range doc {
		switch v := v.(type) {
		case string:
			out[id] = message{"other": v}
		case map[string]any:
			m := message{}
			for form, text := range v {
				s, ok := text.(string)
				if !ok || !slices.Contains([]string{"one", "other"}, form) {
					t.Errorf("%s: %s.%s is no plural form; keys are flat", name, id, form)
				}
				m[form] = s
			}
			out[id] = m
		default:
			t.Errorf("%s: %s is %T, not text: quote it", name, id, v)
		}
	}
	return out
}

// areas are the names of the areas.
func areas(t *testing.T) []string {
	t.Helper()
	entries, err := files.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, e := range entries {
		parts := strings.Split(e.Name(), ".")
		if len(parts) != 3 || !slices.Contains(Languages, parts[1]) {
			t.Errorf("%s is not named AREA.LANG.yaml", e.Name())
			continue
		}
		seen[parts[0]] = true
	}
	return slices.Sorted(maps.Keys(seen))
}

func TestLanguagesAgree(t *testing.T) {
	where := map[string]string{}
	for _, a := range areas(t) {
		en, zh := area(t, a+".en.yaml"), area(t, a+".zh.yaml")
		for id := range zh {
			if _, ok := en[id]; !ok {
				t.Errorf("%s.zh.yaml: %s is not in English", a, id)
			}
		}
		for _, id := range slices.Sorted(maps.Keys(en)) {
			if other, twice := where[id]; twice {
				t.Errorf("%s is in %s and in %s", id, other, a)
			}
			where[id] = a
			if _, ok := zh[id]; !ok {
				t.Errorf("%s.zh.yaml: %s is missing", a, id)
				continue
			}
			compare(t, a, id, en[id], zh[id])
		}
	}
}

func compare(t *testing.T, area, id string, en, zh message) {
	t.Helper()
	if en["other"] == "" && zh["other"] != "" || en["other"] != "" && zh["other"] == "" {
		t.Errorf("%s: %s is empty in one language", area, id)
	}
	if _, one := zh["one"]; one {
		t.Errorf("%s.zh.yaml: %s has a form one, which Chinese does not have", area, id)
	}
	want := fields(t, area, id, en["other"])
	for form, text := range en {
		if got := fields(t, area, id, text); !slices.Equal(got, want) {
			t.Errorf("%s.en.yaml: %s: form %s uses %v, other uses %v", area, id, form, got, want)
		}
	}
	if got := fields(t, area, id, zh["other"]); !slices.Equal(got, want) {
		t.Errorf("%s: %s uses %v in English and %v in Chinese", area, id, want, got)
	}
	style(t, area, id, en, zh["other"])
}

var (
	// Words that tell readers that what they find hard is easy.
	belittling   = regexp.MustCompile(`(?i)\b(just|simply|obviously)\b`)
	belittlingZH = regexp.MustCompile(`显然|很简单|只不过`)
	// A run of English words in lower case, of which a term never has so many.
	englishRun = regexp.MustCompile(`(?:\b[a-z]{2,}\b[ ,.]+){5,}`)
	// Three of them: a phrase, where a command has flags, paths and values between.
	shortRun   = regexp.MustCompile(`(?:^| )[a-z]{2,} [a-z]{2,} [a-z]{2,}(?: |[.,:]|$)`)
	quotedPart = regexp.MustCompile("`[^`]*`|\\{\\{[^}]*\\}\\}|lab [a-z -]+|--[a-z-]+")
)

func style(t *testing.T, area, id string, en message, zh string) {
	t.Helper()
	for _, text := range en {
		if w := belittling.FindString(text); w != "" && !strings.Contains(text, "just, simply and obviously") {
			t.Errorf("%s.en.yaml: %s says %q", area, id, w)
		}
	}
	if w := belittlingZH.FindString(zh); w != "" {
		t.Errorf("%s.zh.yaml: %s says %q", area, id, w)
	}
	prose := quotedPart.ReplaceAllString(zh, "")
	if run := englishRun.FindString(prose); run != "" {
		t.Errorf("%s.zh.yaml: %s has English in it: %q", area, id, run)
	}
	han := strings.ContainsFunc(zh, func(r rune) bool { return unicode.Is(unicode.Han, r) })
	if !han && shortRun.MatchString(quotedPart.ReplaceAllString(zh, "")) {
		t.Errorf("%s.zh.yaml: %s is not translated: %q", area, id, zh)
	}
}

// fields are the names that a text uses, in order, each once.
func fields(t *testing.T, area, id, text string) []string {
	t.Helper()
	tmpl, err := template.New(id).Parse(text)
	if err != nil {
		t.Errorf("%s: %s: %v", area, id, err)
		return nil
	}
	seen := map[string]bool{}
	if tmpl.Tree != nil {
		walk(tmpl.Root, seen)
	}
	return slices.Sorted(maps.Keys(seen))
}

func walk(n parse.Node, seen map[string]bool) {
	switch n := n.(type) {
	case *parse.ListNode:
		if n != nil {
			for _, c := range n.Nodes {
				walk(c, seen)
			}
		}
	case *parse.ActionNode:
		walk(n.Pipe, seen)
	case *parse.PipeNode:
		if n != nil {
			for _, c := range n.Cmds {
				walk(c, seen)
			}
		}
	case *parse.CommandNode:
		for _, a := range n.Args {
			walk(a, seen)
		}
	case *parse.FieldNode:
		seen[n.Ident[0]] = true
	case *parse.IfNode:
		branch(&n.BranchNode, seen)
	case *parse.RangeNode:
		branch(&n.BranchNode, seen)
	case *parse.WithNode:
		branch(&n.BranchNode, seen)
	}
}

func branch(n *parse.BranchNode, seen map[string]bool) {
	walk(n.Pipe, seen)
	walk(n.List, seen)
	walk(n.ElseList, seen)
}

// A problem has words, a way out and a page.
func TestProblemsAreWhole(t *testing.T) {
	for _, a := range areas(t) {
		ids := area(t, a+".en.yaml")
		for id := range ids {
			code, ok := strings.CutPrefix(id, "problem.")
			if !ok {
				continue
			}
			code = code[:strings.LastIndex(code, ".")]
			for _, part := range []string{"what", "fix", "page"} {
				if _, ok := ids[fmt.Sprintf("problem.%s.%s", code, part)]; !ok {
					t.Errorf("%s.en.yaml: problem.%s.%s is missing", a, code, part)
				}
			}
		}
	}
}
