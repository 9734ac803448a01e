package words

import "testing"

func TestLoad(t *testing.T) {
	if got := For("en").T("cli.hint", nil); got != "hint" {
		t.Error(got)
	}
	if got := For("zh").T("cli.hint", nil); got != "提示" {
		t.Error(got)
	}
	if For("en").Has("nosuch") || !For("en").Has("cli.hint") {
		t.Error("Has")
	}
}
