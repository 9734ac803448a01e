package curriculum

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// A block of the authors' page that names a file: "```yaml steps/01-first.yaml".
var quoted = regexp.MustCompile("(?ms)^```yaml (\\S+)\n(.*?)^```$")

// The authors' page quotes the new lab, in each language, as it is.
func TestAuthorsPage(t *testing.T) {
	files, err := Skeleton()
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range []string{"authoring.md", "authoring.zh.md"} {
		raw, err := os.ReadFile("../../docs/" + page)
		if err != nil {
			t.Fatal(err)
		}
		blocks := quoted.FindAllStringSubmatch(string(raw), -1)
		if len(blocks) == 0 {
			t.Errorf("%s quotes nothing", page)
		}
		for _, b := range blocks {
			if !strings.Contains(string(files[b[1]]), b[2]) {
				t.Errorf("%s: %s of the new lab does not have\n%s", page, b[1], b[2])
			}
		}
	}
}
