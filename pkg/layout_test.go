// Package layout holds the table of allowed imports (docs/architecture.md,
// "Flow") as a test.
package layout

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// pure packages take their input as values: the same journal gives the same
// grade on every machine.
var pure = []string{"lab/checks", "lab/pkg/curriculum", "lab/pkg/snapshot", "lab/pkg/report", "lab/pkg/words",
	"lab/pkg/problem", "lab/pkg/term/text", "lab/labs"}

// notPure are what a pure package may not import, nor anything below them.
var notPure = []string{"os", "os/exec", "net", "net/http", "lab/pkg/session", "lab/pkg/xds"}

// allowed says, for each package, which packages of this module it may import
// beside the pure ones. Adapters do not know each other: they meet in
// pkg/session or in the commands.
var allowed = map[string][]string{
	"lab/cmd/lab":          {"lab/pkg/cli"},
	"lab/checks":           {"lab/pkg/journal"},
	"lab/envoy":            {"lab/envoy/admin", "lab/pkg/child", "lab/pkg/journal"},
	"lab/envoy/admin":      {"lab/pkg/journal"},
	"lab/labs":             {},
	"lab/upstreams":        {"lab/pkg/journal"},
	"lab/pkg/accesslog":    {"lab/pkg/journal"},
	"lab/pkg/bundle":       {"lab/pkg/journal"},
	"lab/pkg/child":        {},
	"lab/pkg/control":      {},
	"lab/pkg/controlplane": {"lab/pkg/journal", "lab/pkg/watch", "lab/pkg/xds"},
	"lab/pkg/curriculum":   {"lab/pkg/journal"},
	"lab/pkg/journal":      {},
	"lab/pkg/problem":      {},
	"lab/pkg/prove":        {"lab/pkg/journal", "lab/pkg/session"},
	"lab/pkg/report":       {"lab/pkg/journal"},
	"lab/pkg/snapshot":     {},
	"lab/pkg/term":         {},
	"lab/pkg/term/text":    {},
	"lab/pkg/traffic":      {"lab/pkg/journal"},
	"lab/pkg/watch":        {},
	"lab/pkg/web":          {"lab/pkg/journal"},
	"lab/pkg/words":        {},
	"lab/pkg/xds":          {"lab/pkg/journal"},
	"lab/pkg/session":      nil, // everything: the parts meet here
	"lab/pkg/cli":          nil, // everything: the commands
	"lab/pkg/labtest":      nil, // for tests
	"lab/pkg/xds/xdstest":  nil, // for tests

	"lab/pkg/labtest/browser": {}, // for tests
}

type goPackage struct {
	ImportPath string
	Imports    []string
}

func packages(t *testing.T) []goPackage {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", "lab/...").Output()
	if err != nil {
		t.Fatal(err)
	}
	var all []goPackage
	dec := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var p goPackage
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

func TestImports(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range packages(t) {
		if len(p.Imports) == 0 || strings.Contains(p.ImportPath, "/internal/") {
			continue // tests only, or a generator
		}
		seen[p.ImportPath] = true
		may, known := allowed[p.ImportPath]
		if !known {
			t.Errorf("%s: not in the table of allowed imports", p.ImportPath)
		}
		for _, imp := range p.Imports {
			if slices.Contains(pure, p.ImportPath) && slices.Contains(notPure, imp) {
				t.Errorf("%s imports %s: a pure package takes its input as values", p.ImportPath, imp)
			}
			if may == nil || !strings.HasPrefix(imp, "lab/") || slices.Contains(pure, imp) {
				continue
			}
			if !slices.Contains(may, imp) {
				t.Errorf("%s imports %s: adapters meet in pkg/session or in the commands", p.ImportPath, imp)
			}
		}
		if strings.HasPrefix(p.ImportPath, "lab/") && slices.Contains(p.Imports, "google.golang.org/protobuf/proto") &&
			!slices.Contains([]string{"lab/pkg/snapshot", "lab/pkg/xds", "lab/pkg/xds/xdstest"}, p.ImportPath) {
			t.Errorf("%s imports protobuf: it stops at pkg/snapshot and pkg/xds", p.ImportPath)
		}
	}
	for name := range allowed {
		if !seen[name] {
			t.Errorf("%s is in the table of allowed imports and does not exist", name)
		}
	}
}
