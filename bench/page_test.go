package bench

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"lab/pkg/journal"
	"lab/pkg/labtest"
	"lab/pkg/labtest/browser"
	"lab/pkg/session"
	"lab/pkg/web"
)

// painted keeps, for each line of the diagram, when it was painted first: a frame
// after the one that it came in.
const painted = `(() => { window.painted = {};
	new MutationObserver(list => { for (const m of list) for (const n of m.addedNodes) if (n.dataset?.id && !(n.dataset.id in window.painted)) {
		window.painted[n.dataset.id] = 0;
		requestAnimationFrame(() => requestAnimationFrame(() => { window.painted[n.dataset.id] ||= Date.now(); }));
	} }).observe(document.getElementById("rows"), {childList: true}); return ""; })()`

// BenchmarkPagePixel measures from an event in the journal, the ACK of EDS, to
// its arrow in a real browser, as painted. Both clocks are this machine's.
func BenchmarkPagePixel(b *testing.B) {
	l := newLab(b)
	l.OK("start", "08-xds")
	tab := browser.Open(b, 1280, 800)
	tab.Go(l.Status().Page)
	tab.Wait("the conversation", `document.querySelectorAll("#rows li").length > 5`)
	tab.Eval(painted)
	first := original(b, l)
	f := follow(b, l)
	var pixel sample
	for i, edit := range alternate(100) {
		text := edit(first)
		f.drain()
		save(b, l, text)
		seq := make(map[int64]time.Time)
		f.until(fmt.Sprintf("the ACK of EDS of save %d", i+1), func(e journal.Event) bool {
			if e.Request != nil && e.Request.Class == journal.Ack && e.Request.Type == "EDS" {
				seq[e.Seq] = e.Time
			}
			return len(seq) > 0
		})
		for id, at := range seq {
			tab.Wait("the arrow", fmt.Sprintf(`window.painted[%d] > 0`, id))
			pixel = append(pixel, time.UnixMilli(browser.Value[int64](tab, fmt.Sprintf(`window.painted[%d]`, id))).Sub(at))
		}
	}
	table(b, heading, row("event to pixel", pixel))
	b.ReportMetric(ms(pixel.median()), "p50-ms")
	limit(b, "event to pixel", ms(pixel.at(0.99)), 300, "p99-ms")
}

// alternate is edits that take an endpoint away and bring it back.
func alternate(n int) []func(string) string {
	var out []func(string) string
	for i := range n {
		out = append(out, []func(string) string{without, none}[i%2])
	}
	return out
}

// BenchmarkPageFifty measures from save to ACK with 50 open pages and with none,
// in turns of ten saves. A page here is its stream, read to the end.
func BenchmarkPageFifty(b *testing.B) {
	l := newLab(b)
	l.OK("start", "08-xds")
	first := original(b, l)
	f := follow(b, l)
	var bare, with sample
	memory := []string{resident(b, l, "without a page")}
	for turn := range 10 {
		open := func() {}
		if turn%2 == 1 {
			open = openPages(b, l, 50)
		}
		for i, edit := range alternate(10) {
			text := edit(first)
			f.drain()
			at := save(b, l, text)
			t := f.trip(text, fmt.Sprintf("the four ACKs of save %d in turn %d", i+1, turn+1), all)
			took := t.acked["EDS"].Sub(at)
			if turn%2 == 1 {
				with = append(with, took)
			} else {
				bare = append(bare, took)
			}
		}
		if turn == 9 {
			memory = append(memory, resident(b, l, "with 50 pages"))
		}
		open()
	}
	table(b, append([]string{heading, row("save to the ACK of EDS, no page", bare), row("save to the ACK of EDS, 50 pages", with)}, memory...)...)
	b.ReportMetric(ms(with.median()), "p50-ms")
	limit(b, "50 open pages, save to ACK, ratio of medians", float64(with.median())/float64(bare.median()), 1.5, "ratio")
}

// openPages opens streams and reads them until the returned func is called. Each
// has had its first frame.
func openPages(b *testing.B, l *labtest.Lab, n int) (stop func()) {
	b.Helper()
	var bodies []io.Closer
	for range n {
		body, in := openPage(b, l)
		bodies = append(bodies, body)
		if _, err := in.ReadString('{'); err != nil {
			b.Fatal(err)
		}
		go func() { _, _ = io.Copy(io.Discard, in) }() // ends with Close
	}
	return func() {
		for _, c := range bodies {
			_ = c.Close()
		}
	}
}

// openPage is a new stream of the page.
func openPage(b *testing.B, l *labtest.Lab) (io.Closer, *bufio.Reader) {
	b.Helper()
	run, err := session.Folder{Dir: l.Dir()}.Load()
	if err != nil {
		b.Fatal(err)
	}
	addr := fmt.Sprintf("127.0.0.1:%d", run.Ports["page"])
	resp, err := http.Get(web.URL(addr, run.PageToken)) //nolint:noctx // a benchmark
	if err != nil || len(resp.Cookies()) != 1 {
		b.Fatalf("%v %+v", err, resp)
	}
	_ = resp.Body.Close()
	r, err := http.NewRequestWithContext(b.Context(), http.MethodGet, "http://"+addr+"/events", nil)
	if err != nil {
		b.Fatal(err)
	}
	r.AddCookie(resp.Cookies()[0])
	stream, err := http.DefaultTransport.RoundTrip(r)
	if err != nil || stream.StatusCode != http.StatusOK {
		b.Fatalf("%v %+v", err, stream)
	}
	return stream.Body, bufio.NewReaderSize(stream.Body, 1<<20)
}

// BenchmarkPageMillion measures a page of a day: what a million events leave in
// the model, what folding one costs, and how large and how late the first frame
// of a real session over such a journal is.
func BenchmarkPageMillion(b *testing.B) {
	l := newLab(b)
	r := record(b, l)
	lines := make([]string, 0, 6)
	var million float64
	for _, n := range []int{10_000, 1_000_000} {
		heap, each := modelOf(r, n)
		lines = append(lines, fmt.Sprintf("model after %9d events: %d kB, %.1f µs to fold one", n, heap>>10, float64(each.Nanoseconds())/1000))
		million = float64(heap) / (1 << 10)
	}
	for _, n := range []int{10_000, 1_000_000} {
		r.write(b, l, n, 10_000)
		timed(b, l, 0, "start")
		from := time.Now()
		body, in := openPage(b, l)
		size := 0
		for size == 0 {
			line, err := in.ReadString('\n')
			if err != nil {
				b.Fatal(err)
			}
			if strings.HasPrefix(line, "data: ") {
				size = len(line)
			}
		}
		lines = append(lines, fmt.Sprintf("session over %7d events and 10,000 in the step: first frame %d kB after %.0f ms", n, size>>10, ms(time.Since(from))),
			"  "+resident(b, l, "with a page"))
		_ = body.Close()
		l.OK("stop")
	}
	table(b, lines...)
	limit(b, "the model after a million events", million, 1024, "kB")
}

// modelOf folds events as the session does, and gives what they leave in memory
// and the time of one.
func modelOf(r recording, n int) (heap uint64, each time.Duration) {
	m := web.NewModel()
	before := inUse()
	var took time.Duration
	for i := range n {
		e := later(numbered(r.block[i%blockSize], i/blockSize), r.span*time.Duration(i/blockSize))
		e.Seq = int64(i + 1)
		from := time.Now()
		m.Fold(e)
		took += time.Since(from)
	}
	heap = inUse() - before
	runtime.KeepAlive(m)
	return heap, took / time.Duration(n)
}

func inUse() uint64 {
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return s.HeapAlloc
}
