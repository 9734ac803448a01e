package words

import "testing"

func TestLoad(t *testing.T) {
	if got := For("en").T("cmd.stop.short", nil); got != "Stop the run" {
		t.Error(got)
	}
	if For("en").Has("nosuch") || !For("en").Has("cmd.stop.short") {
		t.Error("Has")
	}
}
