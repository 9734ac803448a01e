package e2e

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"lab/pkg/journal"
	"lab/pkg/labtest"
	"lab/pkg/labtest/browser"
)

// has is an expression: some element that the selector finds has the text.
func has(selector, text string) string {
	return fmt.Sprintf(`[...document.querySelectorAll(%q)].some(e => e.textContent.includes(%q))`, selector, text)
}

// met is an expression: the check has its mark, and the word for who does not see it.
func met(id, mark, word string) string {
	return fmt.Sprintf(`[...document.querySelectorAll('.check[data-id="%s"]')].some(e => e.querySelector(".mark").textContent === %q && e.textContent.includes(%q))`, id, mark, word)
}

// cell is an expression: the text of a type's line in the table of versions.
func cell(typ string, column int) string {
	return fmt.Sprintf(`[...document.querySelectorAll("#types tbody tr")].find(r => r.cells[0].textContent === %q)?.cells[%d].textContent.trim()`, typ, column)
}

// quiet wants that nothing went wrong in the browser.
func quiet(t *testing.T, tab *browser.Tab) {
	t.Helper()
	if e := tab.Errors(); len(e) > 0 {
		t.Errorf("the console has %q", e)
	}
}

// A learner goes through the first steps with the page open: marks, arrows, the
// table, the hosts and the red line change by themselves.
func TestPageThroughSteps(t *testing.T) {
	t.Parallel()
	l := labtest.New(t)
	started := l.OK("start", "08-xds")
	st := serving(t, l)
	if !strings.Contains(started.Out+started.Err, st.Page) || st.Page == "" {
		t.Errorf("start does not say %q:\n%s%s", st.Page, started.Out, started.Err)
	}
	if r := l.OK("status"); !strings.Contains(strings.Join(strings.Fields(r.Out), ""), st.Page) {
		t.Errorf("status does not say %q:\n%s", st.Page, r.Out)
	}
	tab := browser.Open(t, 1280, 800)
	tab.Go(st.Page)
	tab.Wait("the page is live", has("#live", "live"))
	tab.Wait("the step", has("#title", "Connect"))
	tab.Wait("an ACK in the diagram", has(".k-ack .label", "✔ ACK"))
	if at := tab.Eval(`location.href`); strings.Contains(at, "t=") {
		t.Errorf("the token stays in the address bar: %s", at)
	}
	if size := tab.Eval(`[document.documentElement.scrollWidth, document.documentElement.scrollHeight].join()`); size != "1280,800" {
		t.Errorf("the page is %s large: it scrolls", size)
	}
	tab.Wait("CDS in effect", cell("CDS", 4)+fmt.Sprintf(` === %q`, st.Types["CDS"].InEffect))
	tab.Wait("three hosts", `document.querySelectorAll("#hosts tbody tr.healthy").length === 3`)
	tab.Wait("requests in the plot", has("#rate figcaption", "/s, 0 of"))

	connect(t, l, tab)
	l.OK("check")
	tab.Wait("step 2", has("#title", "Remove an endpoint"))
	tab.Wait("its checks", `document.querySelector("#grade").dataset.step === "endpoint-removal"`)

	gone := l.Status().Params["endpoint"]
	tab.Type(`#a-failures`, "3")
	tab.Click(`#q-failures button`)
	tab.Wait("the prediction is noted", has("#q-failures .said", "3"))
	removeEndpoint(t, l, gone)
	tab.Wait("two hosts", fmt.Sprintf(`document.querySelectorAll("#hosts tbody tr").length === 2 && !document.querySelector("#hosts tbody").textContent.includes(%q)`, gone))
	tab.Wait("the host list in the diagram", has(".k-hosts", "3 → 2 hosts"))
	tab.Wait("the check is met by itself", met("no-failure", "✔", "passed"))
	tab.Wait("all is met", `document.querySelector("#verdict").dataset.verdict === "passed"`)
	tab.Wait("it is said to who listens", has("#announce", "Check met"))
	if before := l.Events(); len(checksIn(before)) != 1 {
		t.Errorf("the page left %d gradings in the journal beside one `lab check`", len(checksIn(before))-1)
	}
	l.OK("check")
	tab.Wait("step 3", has("#title", "A rejected update"))

	l.Edit("connect_timeout: 1s", "connect_timeout: 0s")
	tab.Wait("a NACK in the diagram", has(".k-nack .label", "✘ NACK"))
	tab.Wait("the red line", has(".trouble.fail strong", "rejected (nonce"))
	tab.Wait("the line of the file", has(".trouble.fail .source mark", "connect_timeout: 0s"))
	tab.Wait("what still serves", has(".trouble.fail .more", "Envoy still runs CDS"))
	tab.Wait("the table", cell("CDS", 3)+`.startsWith("✘")`)
	tab.Wait("the moment in the plot", `document.querySelectorAll("#rate .moment.nack").length > 0`)
	if st := l.Status(); len(st.Rejected) != 1 || !strings.Contains(st.Rejected[0].Source, "connect_timeout: 0s") || st.Rejected[0].Line == 0 {
		t.Errorf("status marks no line: %+v", st.Rejected)
	}
	const all = `document.querySelector("#verdict").dataset.verdict === "passed" && document.querySelector("#grade").dataset.step === `
	tab.Wait("all is met", all+`"nack"`)
	l.OK("check")
	tab.Wait("step 4", has("#title", "Each type on its own"))
	l.Edit("server_name: envoy #", "server_name: "+l.Status().Params["server_name"]+" #")
	tab.Wait("all is met", all+`"per-type"`)
	tab.Wait("LDS goes on alone", cell("LDS", 1)+" === "+cell("LDS", 2)+" && "+cell("CDS", 1)+" !== "+cell("CDS", 2))
	l.OK("check")
	tab.Wait("step 5", has("#title", "Repair"))
	l.Edit("connect_timeout: 0s", "connect_timeout: 2s")
	tab.Wait("the red line is gone", `document.querySelector("#troubles").hidden`)
	tab.Wait("what is in effect is asked", `document.querySelector("#a-in-effect") !== null`)
	l.OK("answer", "in-effect", l.Status().Types["CDS"].InEffect)
	tab.Wait("an answer from the terminal is on the page", has("#q-in-effect .said", "Your answer: "))
	tab.Wait("all is met", all+`"repair"`)
	l.OK("control-plane", "kill")
	tab.Wait("the red line of the control plane", has(".trouble.fail strong", "the control plane is down"))
	tab.Wait("what brings it back", has(".trouble.fail .more", "control-plane start"))
	tab.Wait("nothing can be told", has("#verdict", "cannot tell"))
	tab.Wait("its end in the diagram", has(".k-control-plane-exited", "SIGKILL, by lab"))
	l.OK("control-plane", "start")
	tab.Wait("it is up again", `!document.querySelector("#part-control-plane").textContent.includes("down")`)
	quiet(t, tab)
}

func checksIn(events []journal.Event) (out []journal.Event) {
	for _, e := range events {
		if e.Kind == journal.KindCheck {
			out = append(out, e)
		}
	}
	return out
}

// connect answers the questions of step 1 on the page, from what is there.
func connect(t *testing.T, l *labtest.Lab, tab *browser.Tab) {
	t.Helper()
	st := l.Status()
	nonce := ""
	for _, e := range l.Events() {
		if e.Kind == journal.KindRequest && e.Request.Class == journal.Ack && e.Request.Type == st.Params["nonce_of"] {
			nonce = e.Request.Nonce
		}
	}
	tab.Wait("a check is not met", met("nonce", "✘", "not yet"))
	for id, value := range map[string]string{"first-type": "CDS", "lds-waits": "warming"} {
		tab.Eval(fmt.Sprintf(`document.querySelector("#a-%s").value = %q`, id, value))
		tab.Click("#q-" + id + " button")
		tab.Wait("the check of "+id, met(id, "✔", "passed"))
	}
	tab.Type("#a-nonce", "nonsense")
	tab.Press(kb.Enter)
	tab.Wait("what was said", has("#q-nonce .said", "nonsense"))
	tab.Wait("a wrong answer is not met", met("nonce", "✘", "not yet"))
	tab.Eval(`document.querySelector("#a-nonce").value = ""`)
	tab.Type("#a-nonce", nonce)
	tab.Press(kb.Enter)
	tab.Wait("the check of nonce", met("nonce", "✔", "passed"))
	tab.Type("#a-version", st.Types["CDS"].Acked)
	tab.Click("#q-version button")
	tab.Wait("the check of version", met("version", "✔", "passed"))
}

// removeEndpoint takes the line of an endpoint out of the file.
func removeEndpoint(t *testing.T, l *labtest.Lab, address string) {
	t.Helper()
	raw, err := os.ReadFile(l.File())
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := strings.Cut(address, ":")
	for line := range strings.Lines(string(raw)) {
		if strings.Contains(line, "lb_endpoints") || !strings.Contains(line, "port_value: "+port) {
			continue
		}
		l.Edit(line, "")
		return
	}
	t.Fatalf("no line with port %s in\n%s", port, raw)
}

// A page that is left open while the run stops and starts again finds its way
// back: the same address, the same cookie, the journal goes on.
func TestPageSurvivesRestart(t *testing.T) {
	t.Parallel()
	l := labtest.New(t)
	l.OK("start", "08-xds")
	st := serving(t, l)
	tab := browser.Open(t, 1280, 800)
	tab.Go(st.Page)
	tab.Wait("the page is live", has("#live", "live"))
	l.OK("stop")
	tab.Wait("the page says that nobody answers", has("#live", "no connection"))
	l.OK("start")
	tab.Wait("the page is live again", has("#live", "live"))
	tab.Wait("the new start is in the diagram", `document.querySelectorAll(".k-session-started").length === 2`)
	if again := serving(t, l).Page; again != st.Page {
		t.Errorf("the address was %s and is %s", st.Page, again)
	}
	tab.Go(strings.Split(st.Page, "?")[0]) // the cookie is as good as it was
	tab.Wait("the page without the token", has("#live", "live"))
	for _, e := range tab.Errors() {
		if !strings.Contains(e, "ERR_CONNECTION_REFUSED") && !strings.Contains(e, "ERR_INCOMPLETE_CHUNKED_ENCODING") && !strings.Contains(e, "ERR_CONNECTION_RESET") {
			t.Errorf("the console has %q", e)
		}
	}
}

// A page whose port another program took gets another one; the run starts all
// the same, and status tells the address that is good now.
func TestPagePortTaken(t *testing.T) {
	t.Parallel()
	l := labtest.New(t)
	l.OK("start", "08-xds")
	first := l.Status().Page
	l.OK("stop")
	u, err := url.Parse(first)
	if err != nil {
		t.Fatal(err)
	}
	other, err := net.Listen("tcp", u.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	l.OK("start")
	st := serving(t, l)
	if st.Page == first {
		t.Fatalf("the page is still said to be at %s", first)
	}
	tab := browser.Open(t, 1280, 800)
	tab.Go(st.Page)
	tab.Wait("the page is live", has("#live", "live"))
	quiet(t, tab)
}

// Outlier detection on the page: the host goes out and comes back by itself, and
// Envoy puts it back within the range that was estimated.
func TestPageEjection(t *testing.T) {
	t.Parallel()
	l := labtest.New(t)
	l.OK("start", "08-xds")
	tab := browser.Open(t, 1280, 800)
	tab.Go(serving(t, l).Page)
	tab.Wait("the page is live", has("#live", "live"))
	l.Edit("connect_timeout: 1s", `connect_timeout: 1s
    outlier_detection: {consecutive_5xx: 2, interval: 1s, base_ejection_time: 4s, max_ejection_percent: 50, enforcing_success_rate: 0}`)
	tab.Wait("the Cluster is accepted", cell("CDS", 2)+" === "+cell("CDS", 1)+" && "+has("#rows", "snapshot"))
	l.Await("CDS in effect", func() bool { c := l.Status().Types["CDS"]; return c.InEffect == c.Sent })
	l.OK("upstream", "set", "orders-3", "status=503")
	tab.Wait("failed requests in the diagram", has(".k-failing", "✘"))
	tab.Wait("the ejection in the diagram", has(".k-ejected", "ejected"))
	tab.Wait("the estimate", has("#hosts tr.ejected .back", "(estimate)")+` && !document.querySelector("#estimate").hidden`)
	l.OK("upstream", "set", "orders-3", "ok")
	tab.Wait("the return in the diagram", has(".k-returned", "is back"))
	tab.Wait("all are healthy", `document.querySelectorAll("#hosts tr.healthy").length === 3`)
	var out, back time.Time
	for _, e := range l.Events() {
		if e.Kind != journal.KindHosts {
			continue
		}
		ejected := slices.ContainsFunc(e.Hosts.Hosts, func(h journal.Host) bool { return slices.Contains(h.Flags, "failed_outlier_check") })
		if ejected && out.IsZero() {
			out = e.Time
		} else if !ejected && !out.IsZero() && back.IsZero() {
			back = e.Time
		}
	}
	// Both times are those of a sample, every 100 ms and later on a busy machine.
	const late = 500 * time.Millisecond
	if took := back.Sub(out); took < 4*time.Second-late || took > 5*time.Second+late {
		t.Errorf("ejected for %v, estimated 4 s to 5 s", took)
	}
	quiet(t, tab)
}

// Names that a learner writes stay text, in every part of the page.
func TestPageMarkupStaysText(t *testing.T) {
	t.Parallel()
	l := labtest.New(t)
	l.OK("start", "08-xds")
	st := serving(t, l)
	tab := browser.Open(t, 1280, 800)
	tab.Go(st.Page)
	tab.Wait("the page is live", has("#live", "live"))
	const evil = `<img src=x onerror=document.title=1><b>x</b>`
	l.Edit("# EDS. The endpoints", `- "@type": type.googleapis.com/envoy.config.cluster.v3.Cluster
    name: "`+evil+`"
    type: EDS
    eds_cluster_config: {eds_config: {ads: {}, resource_api_version: V3}}
    connect_timeout: 0s
  # EDS. The endpoints`)
	tab.Wait("the red line with the name", has("#troubles", evil))
	l.Edit("connect_timeout: 0s", "connect_timeout: 1s")
	tab.Wait("the name in the diagram", has("#rows", evil))
	if n := browser.Value[int](tab, `document.querySelectorAll("img, main b:not(.mark):not(figcaption b), #rows b:not(.mark), #troubles b:not(.mark)").length`); n != 0 {
		t.Errorf("%d elements were made of a name", n)
	}
	if title := tab.Eval(`document.title`); !strings.Contains(title, "Connect") {
		t.Errorf("a script ran: the title is %q", title)
	}
	quiet(t, tab)
}

// A page of another address can neither read nor frame this one, in a real
// browser, though the browser has the cookie.
func TestPageFromElsewhere(t *testing.T) {
	t.Parallel()
	l, other := labtest.New(t), labtest.New(t)
	l.OK("start", "08-xds")
	other.OK("start", "08-xds")
	st, theirs := serving(t, l), serving(t, other)
	tab := browser.Open(t, 1280, 800)
	tab.Go(st.Page)
	tab.Wait("the page is live", has("#live", "live"))
	mine, err := url.Parse(st.Page)
	if err != nil {
		t.Fatal(err)
	}
	tab.Go("http://" + theirs.Envoy.Listeners["ingress"] + "/") // a site without a policy of its own
	for _, path := range []string{"/", "/events", "/app.js"} {
		got := tab.Eval(fmt.Sprintf(`fetch("http://%s%s", {credentials: "include"}).then(r => "read " + r.status, e => "refused")`, mine.Host, path))
		if got != "refused" {
			t.Errorf("%s from another port: %s", path, got)
		}
	}
	got := tab.Eval(fmt.Sprintf(`fetch("http://%s/answer", {method: "POST", mode: "no-cors", credentials: "include", body: "{}"}).then(r => r.type + " " + r.status, e => "refused")`, mine.Host))
	if strings.Contains(got, "200") {
		t.Errorf("a POST from another port: %s", got)
	}
	tab.Eval(fmt.Sprintf(`new Promise(done => { const f = document.createElement("iframe"); f.src = "http://%s/"; f.onload = () => done("loaded"); document.documentElement.append(f); })`, mine.Host))
	if got := tab.Eval(`(() => { try { return document.querySelector("iframe").contentDocument ? "open" : "closed" } catch { return "closed" } })()`); got != "closed" {
		t.Errorf("the page in a frame is %s", got)
	}
	for _, e := range l.Events() {
		if e.Kind == journal.KindAnswer {
			t.Errorf("another page answered: %+v", e.Answer)
		}
	}
}

// What a person without a mouse, without sight or in a hurry needs: names for
// what can be used, heads of tables, texts for pictures, a place for the focus.
func TestPageAccessible(t *testing.T) {
	t.Parallel()
	l := labtest.New(t)
	l.OK("start", "08-xds")
	st := serving(t, l)
	tab := browser.Open(t, 1280, 800)
	for _, lang := range []string{"en", "zh"} {
		tab.Go(st.Page + "&lang=" + lang)
		tab.Wait("the step and its questions", `document.querySelectorAll("#checks li").length > 0 && document.querySelectorAll("form").length > 0`)
		tab.Wait("the plots", `document.querySelectorAll("svg[role=img][aria-label]").length === 2`)
		if got := tab.Eval(`document.documentElement.lang`); got != lang {
			t.Errorf("lang is %q", got)
		}
		for what, found := range browser.Value[map[string][]string](tab, accessibility) {
			for _, f := range found {
				t.Errorf("%s: %s: %s", lang, what, f)
			}
		}
	}
	han := tab.Eval(`document.querySelector("#types thead").textContent + document.querySelector("#verdict").textContent`)
	if !strings.Contains(han, "类型") || !strings.Contains(han, "未完成") {
		t.Errorf("not in Chinese: %q", han)
	}
	seen := map[string]bool{}
	for range 20 {
		tab.Press(kb.Tab)
		seen[tab.Eval(`(() => { const e = document.activeElement, s = getComputedStyle(e);
			return (e.id || e.lang || e.className || e.tagName) + (e === document.body || s.outlineStyle !== "none" ? "" : " without an outline") })()`)] = true
	}
	for _, want := range []string{"skip", "en", "zh", "theme", "reading", "grade", "scroll", "a-first-type"} {
		if !seen[want] {
			t.Errorf("the focus does not come to %q with an outline: %v", want, seen)
		}
	}
	tab.Scheme("dark")
	dark := tab.Eval(`getComputedStyle(document.body).backgroundColor`)
	tab.Click("#theme")
	if light := tab.Eval(`getComputedStyle(document.body).backgroundColor`); light == dark {
		t.Errorf("the switch changes nothing: %s", light)
	}
	tab.Size(390, 844)
	if w := browser.Value[int](tab, `document.documentElement.scrollWidth`); w > 390 {
		t.Errorf("on a phone the page is %d wide: %s", w, tab.Eval(`[...document.querySelectorAll("*")].filter(e => e.getBoundingClientRect().right > 390)
			.map(e => e.tagName + "#" + e.id + "." + e.className + " " + Math.round(e.getBoundingClientRect().right)).join(", ")`))
	}
	quiet(t, tab)
}

// accessibility lists what is wrong, by rule.
const accessibility = `(() => {
	const all = (s) => [...document.querySelectorAll(s)].filter(e => !e.closest("[hidden]"));
	const show = (e) => e.outerHTML.slice(0, 120);
	const named = (e) => (e.getAttribute("aria-label") || e.labels?.[0]?.textContent || e.textContent || "").trim();
	const ids = [...document.querySelectorAll("[id]")].map(e => e.id);
	const refs = all("[aria-labelledby]").filter(e => !document.getElementById(e.getAttribute("aria-labelledby"))?.textContent.trim());
	return {
		"a control without a name": all("button, a, input, select").filter(e => !named(e)).map(show),
		"a label that leads nowhere": all("label").filter(e => !e.control).map(show),
		"an id twice": ids.filter((id, i) => ids.indexOf(id) !== i),
		"a region without a name": refs.map(show),
		"a table without heads": all("table").filter(e => e.querySelectorAll("thead th[scope=col]").length < 3 || e.querySelectorAll("tbody th[scope=row]").length === 0).map(show),
		"a picture without words": all("svg").filter(e => e.getAttribute("role") !== "img" || !e.getAttribute("aria-label")).map(show),
		"an arrow without words": all("#rows li").filter(e => !e.querySelector(".hidden").textContent.trim() || e.querySelector(".lanes").getAttribute("aria-hidden") !== "true").map(show),
		"a positive tabindex": all("[tabindex]").filter(e => e.tabIndex > 0).map(show),
		"a landmark is missing": ["header", "main", "nav", "h1", "h2", "[aria-live=polite]", "[role=status]"].filter(s => !document.querySelector(s)),
		"words are missing": all("*").filter(e => e.children.length === 0 && /<(page|report)\.|<no value>|undefined|NaN/.test(e.textContent) && e.tagName !== "SCRIPT").map(show),
	};
})()`
