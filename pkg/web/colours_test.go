package web

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// pairs are the colours of texts and what they stand on in page.css.
var pairs = [][2]string{
	{"text", "page"}, {"text", "panel"}, {"text", "tint"}, {"text", "note"}, {"text", "code"},
	{"dim", "page"}, {"dim", "panel"}, {"accent", "panel"}, {"accent", "page"},
	{"good", "panel"}, {"bad", "panel"}, {"bad", "page"}, {"bad", "tint"}, {"unsure", "panel"}, {"unsure", "note"},
}

// graphics are lines and areas that mean something.
var graphics = []string{"a", "b", "c", "d", "e", "bad", "accent", "good", "unsure", "dim"}

// Texts have a contrast of 4.5 and graphics of 3 (WCAG 2.2, 1.4.3 and 1.4.11),
// in light and in dark.
func TestContrast(t *testing.T) {
	css, err := static.ReadFile("static/page.css")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile(`(?s)--page:.*?color-scheme: (\w+);`).FindAllStringSubmatch(string(css), -1)
	if len(blocks) != 3 {
		t.Fatalf("%d sets of colours, want light, dark by the system, dark by choice", len(blocks))
	}
	if strings.Join(strings.Fields(blocks[1][0]), " ") != strings.Join(strings.Fields(blocks[2][0]), " ") {
		t.Error("dark by the system and dark by choice differ")
	}
	for _, b := range blocks {
		colours := map[string]float64{}
		for _, m := range regexp.MustCompile(`--(\w+): #(\w{6});`).FindAllStringSubmatch(b[0], -1) {
			colours[m[1]] = luminance(t, m[2])
		}
		check := func(front, back string, least float64) {
			if c := contrast(colours[front], colours[back]); c < least || math.IsNaN(c) {
				t.Errorf("%s: %s on %s has %.2f, less than %.1f", b[1], front, back, c, least)
			}
		}
		for _, p := range pairs {
			check(p[0], p[1], 4.5)
		}
		for _, g := range graphics {
			check(g, "panel", 3)
		}
	}
}

// luminance is the relative luminance (WCAG 2.2).
func luminance(t *testing.T, hex string) float64 {
	t.Helper()
	var sum float64
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		n, err := strconv.ParseUint(hex[2*i:2*i+2], 16, 8)
		if err != nil {
			t.Fatal(fmt.Errorf("%s: %w", hex, err))
		}
		c := float64(n) / 255
		if c <= 0.04045 {
			c /= 12.92
		} else {
			c = math.Pow((c+0.055)/1.055, 2.4)
		}
		sum += weight * c
	}
	return sum
}

func contrast(a, b float64) float64 { return (max(a, b) + 0.05) / (min(a, b) + 0.05) }
