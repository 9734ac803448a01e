package curriculum

import (
	"encoding/json"
	"testing"

	"lab/pkg/journal"
)

func reread(t *testing.T, raw []byte) (e journal.Event) {
	t.Helper()
	if err := json.Unmarshal(raw, &e); err != nil {
		t.Fatal(err)
	}
	return e
}
