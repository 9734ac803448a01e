package upstreams

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"lab/pkg/problem"
	"lab/pkg/words"
)

func TestEveryFormIsReadAndWrittenBack(t *testing.T) {
	for _, form := range Forms() {
		f, err := ParseFault(form)
		if err != nil || f.String() != form {
			t.Errorf("ParseFault(%q) = %q, %v", form, f, err)
		}
	}
	f, err := ParseFault("status=503,200")
	if want := (Fault{Kind: Status, Codes: []int{503, 200}}); err != nil || !reflect.DeepEqual(f, want) {
		t.Errorf("status=503,200 is %+v, %v", f, err)
	}
	f, err = ParseFault("delay=1500ms")
	if want := (Fault{Kind: Delay, Time: 1500 * time.Millisecond}); err != nil || !reflect.DeepEqual(f, want) {
		t.Errorf("delay=1500ms is %+v, %v", f, err)
	}
}

func TestUnknownFaultNamesTheForms(t *testing.T) {
	for _, s := range []string{
		"", " ok", "OK", "ok=1", "broken", "status", "status=", "status=abc", "status=199", "status=600", "status=503,",
		"status=503,,200", "status=" + strings.Repeat("503,", maxCodes) + "503", "delay", "delay=", "delay=2", "delay=-1s",
		"delay=0s", "delay=11m", "delay=9999999h", "flap=1ms", "reset=2s", "refuse=", "ok\r\nx: y",
	} {
		_, err := ParseFault(s)
		var p *problem.Problem
		if !errors.As(err, &p) || p.Code != "upstreams.fault" || p.Exit != problem.Usage {
			t.Errorf("ParseFault(%q): %v", s, err)
			continue
		}
		for _, lang := range words.Languages {
			w := words.For(lang)
			if !strings.Contains(p.Fix(w), "status=503,503,200, delay=2s, refuse") {
				t.Errorf("%s, %q: the fix does not list the forms: %s", lang, s, p.Fix(w))
			}
			if strings.ContainsAny(p.What(w), "\r\n") {
				t.Errorf("%s, %q: what is more than a line: %q", lang, s, p.What(w))
			}
		}
	}
}

func FuzzParseFault(f *testing.F) {
	for _, form := range Forms() {
		f.Add(form)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := ParseFault(s)
		if err != nil {
			return
		}
		again, err := ParseFault(got.String())
		if err != nil || !reflect.DeepEqual(got, again) {
			t.Fatalf("%q is %+v, written as %q, read as %+v, %v", s, got, got, again, err)
		}
	})
}
