// Command genschema writes docs/schemas: the JSON Schemas of the documents that
// lab prints with -o json, made from the Go types, so that they cannot differ.
// It is run by go generate; a test fails when a file is stale.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/invopop/jsonschema"

	"lab/checks"
	"lab/pkg/journal"
	"lab/pkg/report"
)

// documents are the published schemas, by file name.
var documents = map[string]any{
	"check.schema.json":         checks.Report{},
	"status.schema.json":        report.Status{},
	"problem.schema.json":       report.Error{},
	"journal-event.schema.json": journal.Event{},
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: genschema FOLDER")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "genschema:", err)
		os.Exit(1)
	}
}

func write(folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for name, v := range documents {
		raw, err := schema(name, v)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := os.WriteFile(filepath.Join(folder, name), raw, 0o644); err != nil { //nolint:gosec // documentation
			return err
		}
	}
	return nil
}

// schema gives the schema of v's type. More properties than it names are
// allowed: later versions add some.
func schema(name string, v any) ([]byte, error) {
	r := jsonschema.Reflector{AllowAdditionalProperties: true, Anonymous: true}
	s := r.Reflect(v)
	s.Title = strings.TrimSuffix(name, ".schema.json")
	nullable(reflect.TypeOf(v), s, map[reflect.Type]bool{})
	raw, err := json.MarshalIndent(s, "", "  ")
	return append(raw, '\n'), err
}

// nullable allows null where a pointer is printed without a value, which
// jsonschema does not do by itself.
func nullable(t reflect.Type, root *jsonschema.Schema, done map[reflect.Type]bool) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	def := root.Definitions[t.Name()]
	if t.Kind() != reflect.Struct || def == nil || done[t] {
		return
	}
	done[t] = true
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if prop, ok := def.Properties.Get(name); ok && f.Type.Kind() == reflect.Pointer && !strings.Contains(options, "omitempty") {
			def.Properties.Set(name, &jsonschema.Schema{AnyOf: []*jsonschema.Schema{prop, {Type: "null"}}})
		}
		nullable(f.Type, root, done)
	}
}
