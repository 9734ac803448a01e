package curriculum
import ("testing";"lab/labs")
func TestZZ(t *testing.T) {
	lab, ps := Load(labs.FS, "08-xds")
	for _, p := range ps { t.Log(p.Place.File, p.Place.Line, p.Place.Col, p) }
	if lab == nil { t.Fatal() }
	for _, p := range lab.Lint() { t.Log(p.Place.File, p.Place.Line, p.Place.Col, p) }
}
