package curriculum

import (
	"testing"
)

func TestLabsAreClean(t *testing.T) {
	for _, lab := range labsAndSkeleton(t) {
		for _, p := range lab.Lint() {
			t.Errorf("%s:%d:%d: %s: %v", p.Place.File, p.Place.Line, p.Place.Col, p.Code, p)
		}
	}
}
