package problem

import (
	"errors"
	"strings"
	"testing"
)

func TestList(t *testing.T) {
	warning := New("w", nil)
	warning.Warning = true
	first := New("a", nil).At(Place{File: "f.yaml", Line: 3, Col: 5})
	l := List{warning, first, New("b", nil)}
	if len(l.Errors()) != 2 || l.Errors()[0] != first || len(l.Warnings()) != 1 || l.Warnings()[0] != warning {
		t.Errorf("%v, %v", l.Errors(), l.Warnings())
	}
	err := l.Err()
	var p *Problem
	if !errors.As(err, &p) || p != first || !strings.HasPrefix(err.Error(), "f.yaml:3:5: ") {
		t.Errorf("%v", err)
	}
	if (List{warning}).Err() != nil || (List)(nil).Err() != nil {
		t.Error("warnings are no error")
	}
}
