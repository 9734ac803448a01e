// Package words holds what lab says, in each language: files AREA.LANG.yaml,
// one for each part of the product, with message ids as keys and text/template
// bodies ({{.Name}}). Plural forms are keys one and other under the id.
//
// The words of a lab itself stand with the lab (labs/NN-name/steps).
package words

import (
	"embed"
	"fmt"
	"path"
	"strings"
	"sync"

	"github.com/nicksnyder/go-i18n/v2/i18n"
	"go.yaml.in/yaml/v4"
	"golang.org/x/text/language"
)

//go:embed *.yaml
var files embed.FS

// Languages are the codes that lab speaks, the first being the default.
var Languages = []string{"en", "zh"}

// Words says things in one language. It is safe for concurrent use.
type Words struct {
	lang string
	loc  *i18n.Localizer
}

var loaded = map[string]func() *Words{
	"en": sync.OnceValue(func() *Words { return load("en") }),
	"zh": sync.OnceValue(func() *Words { return load("zh") }),
}

// For gives the words of a language code; another code gives English.
func For(lang string) *Words {
	if w, ok := loaded[lang]; ok {
		return w()
	}
	return loaded["en"]()
}

// English gives the default words.
func English() *Words { return For("en") }

// Lang is the language code.
func (w *Words) Lang() string { return w.lang }

// T gives the message id with args filled in. A missing id gives the id in
// angle brackets: a test finds those, and a learner sees that something is
// missing rather than nothing. An arg named Count chooses the plural form.
func (w *Words) T(id string, args map[string]any) string {
	c := &i18n.LocalizeConfig{MessageID: id, TemplateData: args}
	if n, ok := args["Count"]; ok {
		c.PluralCount = n
	}
	s, err := w.loc.Localize(c)
	if err != nil && c.PluralCount != nil { // a message without plural forms
		c.PluralCount = nil
		s, err = w.loc.Localize(c)
	}
	if err != nil {
		return "<" + id + ">"
	}
	return strings.TrimRight(s, "\n")
}

// Has tells whether the language has the message.
func (w *Words) Has(id string) bool {
	return !strings.HasPrefix(w.T(id, map[string]any{"Count": 1}), "<"+id)
}

func load(lang string) *Words {
	tag := language.Make(lang)
	b := i18n.NewBundle(tag)
	b.RegisterUnmarshalFunc("yaml", yaml.Unmarshal)
	names, err := files.ReadDir(".")
	if err != nil {
		panic(err) // the files are compiled in
	}
	for _, n := range names {
		if !strings.HasSuffix(n.Name(), "."+lang+".yaml") {
			continue
		}
		raw, err := files.ReadFile(n.Name())
		if err != nil {
			panic(err)
		}
		if _, err := b.ParseMessageFileBytes(raw, path.Base(n.Name())); err != nil {
			panic(fmt.Sprintf("words: %s: %v", n.Name(), err))
		}
	}
	return &Words{lang: lang, loc: i18n.NewLocalizer(b, lang)}
}
