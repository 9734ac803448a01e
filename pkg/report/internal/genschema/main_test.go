package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lab/checks"
	"lab/pkg/journal"
	"lab/pkg/problem"
	"lab/pkg/report"
	"lab/pkg/words"
)

const folder = "../../../../docs/schemas"

func TestSchemasAreFresh(t *testing.T) {
	for name, v := range documents {
		want, err := schema(name, v)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("docs/schemas/%s is stale (%v): go generate ./pkg/report", name, err)
		}
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if _, known := documents[e.Name()]; !known && strings.HasSuffix(e.Name(), ".schema.json") {
			t.Errorf("docs/schemas/%s belongs to no document", e.Name())
		}
	}
}

// Documents fit their schema, and a document that does not is told so.
func TestDocumentsFit(t *testing.T) {
	next := "per-type"
	docs := map[string][]any{
		"check.schema.json": {
			checks.Report{Version: 1, Verdict: checks.NotYet, Checks: []checks.Result{{Evidence: []checks.Item{{Event: 1, Time: time.Now()}}}}},
			checks.Report{Version: 1, Checks: []checks.Result{}, Diagnosis: &checks.Diagnosis{ID: "x"}, Next: &next, Opened: &next},
		},
		"status.schema.json": {report.Status{Version: 1,
			Envoy:     report.EnvoyStatus{Runtime: "native", Listeners: map[string]string{"http": "127.0.0.1:1"}},
			Types:     map[string]report.TypeState{"CDS": {Sent: "1"}},
			Upstreams: []report.UpstreamStatus{{Name: "orders-1"}}, Params: map[string]string{},
			Steps: []report.StepStatus{{ID: "nack", State: "open"}},
			Down:  []report.Down{{Part: "envoy", Command: "envoy restart"}}}},
		"problem.schema.json":       {report.NewError(problem.New("color-mode", problem.Args{"Value": "x"}), words.English())},
		"journal-event.schema.json": {journal.Event{Kind: journal.KindRequest, Request: &journal.Request{Class: journal.Nack, Error: &journal.Error{Code: 13}}}},
	}
	for name := range documents {
		raw, err := schema(name, documents[name])
		if err != nil {
			t.Fatal(err)
		}
		var s map[string]any
		if err := json.Unmarshal(raw, &s); err != nil {
			t.Fatal(err)
		}
		if len(docs[name]) == 0 {
			t.Errorf("%s: no document is tried", name)
		}
		for _, d := range docs[name] {
			if bad := misfit(s, s, decode(t, d), ""); bad != "" {
				t.Errorf("%s: %s", name, bad)
			}
		}
		if misfit(s, s, map[string]any{}, "") == "" {
			t.Errorf("%s: an empty document fits", name)
		}
	}
}

func decode(t *testing.T, v any) (out any) {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// misfit is a validator for the keywords that our schemas use: it says where v
// does not fit, or "".
func misfit(root, s map[string]any, v any, at string) string {
	if ref, ok := s["$ref"].(string); ok {
		s = root["$defs"].(map[string]any)[strings.TrimPrefix(ref, "#/$defs/")].(map[string]any)
	}
	if any, ok := s["anyOf"].([]interface{}); ok {
		for _, each := range any {
			if misfit(root, each.(map[string]interface{}), v, at) == "" {
				return ""
			}
		}
		return at + " fits no alternative"
	}
	if want, ok := s["type"].(string); ok && !hasType(v, want) {
		return at + " is no " + want
	}
	if enum, ok := s["enum"].([]any); ok {
		found := false
		for _, e := range enum {
			found = found || e == v
		}
		if !found {
			return at + " is not one of the values"
		}
	}
	switch v := v.(type) {
	case map[string]any:
		required, _ := s["required"].([]any)
		for _, k := range required {
			if _, ok := v[k.(string)]; !ok {
				return at + "." + k.(string) + " is missing"
			}
		}
		props, _ := s["properties"].(map[string]any)
		for k, e := range v {
			p, ok := props[k].(map[string]any)
			if !ok {
				p, ok = s["additionalProperties"].(map[string]any)
			}
			if bad := ""; ok {
				if bad = misfit(root, p, e, at+"."+k); bad != "" {
					return bad
				}
			} else if props != nil {
				return at + "." + k + " is not in the schema"
			}
		}
	case []any:
		items, _ := s["items"].(map[string]any)
		for _, e := range v {
			if bad := misfit(root, items, e, at+"[]"); bad != "" {
				return bad
			}
		}
	}
	return ""
}

func hasType(v any, want string) bool {
	switch v := v.(type) {
	case nil:
		return want == "null"
	case bool:
		return want == "boolean"
	case string:
		return want == "string"
	case float64:
		return want == "number" || want == "integer" && v == float64(int64(v))
	case []any:
		return want == "array"
	}
	return want == "object"
}
