package e2e

import (
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"lab/pkg/labtest"
	"lab/pkg/labtest/browser"
	"lab/pkg/report"
)

var takePictures = flag.Bool("pictures", false, "take the pictures of docs/pictures anew")

const pictureDir = "../docs/pictures"

// TestPictures takes them, from real runs, with -pictures (make pictures).
// Without, it wants that each picture that a page names is there, and that each
// that is there is named.
func TestPictures(t *testing.T) {
	if *takePictures {
		takeAll(t)
	}
	named := map[string]string{}
	pages, err := filepath.Glob("../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range append(pages, "../README.md", "../README.zh.md") {
		raw, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`pictures/([\w.-]+\.png)`).FindAllStringSubmatch(string(raw), -1) {
			named[m[1]] = page
		}
	}
	there, err := filepath.Glob(pictureDir + "/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range there {
		if named[filepath.Base(file)] == "" {
			t.Errorf("%s: no page shows it", file)
		}
	}
	for name, page := range named {
		checkPicture(t, filepath.Join(pictureDir, name), page)
	}
	if len(named) < 4 {
		t.Errorf("only %d pictures are named: the scan looks in the wrong place", len(named))
	}
}

// checkPicture wants a picture of the page's size, and a small file.
func checkPicture(t *testing.T, file, page string) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Errorf("%s shows a picture that is missing; make pictures: %v", page, err)
		return
	}
	defer f.Close()
	c, err := png.DecodeConfig(f)
	st, errStat := f.Stat()
	if err != nil || errStat != nil || c.Width != 1280 && c.Width != 390 || st.Size() > 150<<10 {
		t.Errorf("%s: %+v, %v %v", file, c, err, errStat)
	}
}

// takeAll plays a run and takes each picture when the page shows what it is for.
func takeAll(t *testing.T) {
	t.Helper()
	if err := os.MkdirAll(pictureDir, 0o750); err != nil {
		t.Fatal(err)
	}
	l := labtest.New(t)
	start := l.Command("start", "08-xds", "--seed", "7")
	start.Args[0] = "lab" // as one types it
	if r := l.BeginCommand(start).Wait(); r.Code != 0 {
		t.Fatal(r.Err)
	}
	st := serving(t, l)
	tab := browser.Open(t, 1280, 800)
	show := func(name, scheme, lang string, size ...int64) {
		t.Helper()
		tab.Scheme(scheme)
		if len(size) == 2 {
			tab.Size(size[0], size[1])
		}
		tab.Go(st.Page + "&lang=" + lang)
		tab.Wait("the page is whole", `document.querySelectorAll("#checks li").length > 0 && document.querySelectorAll("#rate path").length > 1 && document.querySelectorAll("#rows li").length > 5`)
		file := filepath.Join(t.TempDir(), name)
		tab.Picture(file)
		shrink(t, file, filepath.Join(pictureDir, name))
	}
	traffic(t, l, 20)
	show("page-connect-light.png", "light", "en")
	l.OK("goto", "nack")
	l.Edit("connect_timeout: 1s", "connect_timeout: 0s")
	l.Await("the NACK", func() bool { return len(l.Status().Rejected) > 0 })
	traffic(t, l, 10)
	show("page-nack-light.png", "light", "en")
	show("page-nack-dark-zh.png", "dark", "zh")
	show("page-nack-phone.png", "light", "en", 390, 844)
	tab.Size(1280, 800)
	l.Edit("connect_timeout: 0s", `connect_timeout: 1s
    outlier_detection: {consecutive_5xx: 3, interval: 5s, base_ejection_time: 30s, max_ejection_percent: 50, enforcing_success_rate: 0}`)
	l.Await("the repair", func() bool { return len(l.Status().Rejected) == 0 })
	l.OK("upstream", "set", "orders-3", "status=503")
	l.Await("an ejection", func() bool {
		return slices.ContainsFunc(l.Status().Upstreams, func(u report.UpstreamStatus) bool { return u.Ejected })
	})
	traffic(t, l, 6)
	show("page-ejected-dark.png", "dark", "en")
}

// traffic waits until so many seconds of requests have been counted.
func traffic(t *testing.T, l *labtest.Lab, seconds int) {
	t.Helper()
	begun := len(l.Events())
	l.Await(fmt.Sprintf("%d s of requests", seconds), func() bool {
		events := l.Events()
		n := 0
		for _, e := range events[begun:] {
			if e.Probe != nil && e.Probe.Sent > 0 {
				n++
			}
		}
		return n >= 4*seconds // four windows a second
	})
}

// shrink writes a picture with a palette of its own colours: a third of the size,
// and the same to the eye.
func shrink(t *testing.T, from, to string) {
	t.Helper()
	f, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	img, err := png.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	small := image.NewPaletted(img.Bounds(), palette(img))
	draw.Draw(small, small.Bounds(), img, image.Point{}, draw.Src)
	out, err := os.Create(to)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(out, small); err != nil {
		t.Fatal(err)
	}
}

// palette is the 256 colours that are there most often.
func palette(img image.Image) color.Palette {
	counts := map[color.Color]int{}
	for y := range img.Bounds().Dy() {
		for x := range img.Bounds().Dx() {
			counts[img.At(x, y)]++
		}
	}
	all := make([]color.Color, 0, len(counts))
	for c := range counts {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b color.Color) int { return counts[b] - counts[a] })
	return all[:min(256, len(all))]
}
