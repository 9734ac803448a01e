package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	data "github.com/envoyproxy/go-control-plane/envoy/data/accesslog/v3"
	als "github.com/envoyproxy/go-control-plane/envoy/service/accesslog/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"lab/pkg/journal"
	"lab/pkg/labtest"
)

// sent is lab send -o json.
type sent struct {
	Sent, Failed int
	Access       []outcome
	Missing      int `json:"access_missing"`
}

type outcome struct {
	journal.AccessGroup
	Name string `json:"upstream_name"`
}

func send(t *testing.T, l *labtest.Lab, args ...string) (out sent) {
	t.Helper()
	r := l.OK(append([]string{"send", "-o", "json"}, args...)...)
	if err := json.Unmarshal([]byte(r.Out), &out); err != nil {
		t.Fatalf("%v\n%s", err, r.Out)
	}
	return out
}

// shortRoute gives every request half a second.
func shortRoute(l *labtest.Lab) {
	l.Edit("route: {cluster: orders}", "route: {cluster: orders, timeout: 0.5s}")
	version := ""
	l.Event("RDS with a timeout, acknowledged", func(e journal.Event) bool {
		if e.Response != nil && e.Response.Type == "RDS" {
			version = e.Response.Version
		}
		return version != "" && e.Request != nil && e.Request.Type == "RDS" && e.Request.Class == journal.Ack &&
			e.Request.Version == version && version != firstVersion(l)
	})
}

func firstVersion(l *labtest.Lab) string {
	for _, e := range l.Events() {
		if e.Response != nil {
			return e.Response.Version
		}
	}
	return ""
}

// TestSendTellsEachFault switches every upstream through the faults, and reads
// what lab send says of one request under each.
func TestSendTellsEachFault(t *testing.T) {
	t.Parallel()
	const before = "upstream_reset_before_response_started"
	l := labtest.New(t)
	l.OK("start", "08-xds")
	shortRoute(l)
	for _, c := range []struct {
		fault, flags, details string
		status                int
		least                 float64 // ms
	}{
		{"ok", "", "via_upstream", 200, 0},
		{"status=503", "", "via_upstream", 503, 0},
		{"status=404", "", "via_upstream", 404, 0},
		{"delay=100ms", "", "via_upstream", 200, 90},
		{"delay=5s", "UT", "response_timeout", 504, 490},
		{"slow-headers=5s", "UT", "response_timeout", 504, 490},
		{"slow-body=5s", "UT", "response_timeout", 200, 490},
		{"hang", "UT", "response_timeout", 504, 490},
		{"hang-body", "UT", "response_timeout", 200, 490},
		{"reset", "UC", before + "{connection_termination}", 503, 0},
		{"fin", "UC", before + "{connection_termination}", 503, 0},
		{"garbage", "UPE", before + "{protocol_error}", 502, 0},
		{"truncate", "UPE", "upstream_reset_after_response_started{protocol_error}", 200, 0},
		{"refuse", "UF", before + "{remote_connection_failure", 503, 0},
		{"flap=10m", "UF", before + "{remote_connection_failure", 503, 0},
		{"black-hole", "UT", "response_timeout", 504, 490}, // the route's 0.5 s are before the Cluster's 1 s
	} {
		fault(l, c.fault)
		if c.flags == "UF" { // connections that were cut are still being noticed
			from := lastSeq(l)
			l.Event("steady traffic to fail by "+c.fault, func(e journal.Event) bool {
				return e.Seq > from && e.Access != nil && e.Access.Groups[0].Flags == "UF"
			})
		}
		got := send(t, l, "/"+c.fault, "-n", "1")
		if len(got.Access) != 1 || got.Missing != 0 {
			t.Errorf("%s: %+v", c.fault, got)
			continue
		}
		a := got.Access[0]
		if strings.HasPrefix(a.Details, c.details) { // the text of a system error may follow
			a.Details = c.details
		}
		want := fmt.Sprint(c.status, c.flags, c.details, "/"+c.fault, "send", "orders", 1, 1)
		if have := fmt.Sprint(a.Status, a.Flags, a.Details, a.Path, a.Probe, a.Cluster, a.Attempts, a.Count); have != want {
			t.Errorf("%s: %s, want %s", c.fault, have, want)
		}
		if a.MinMS < c.least || a.MinMS > a.MaxMS || a.MaxMS > c.least+5000 {
			t.Errorf("%s: %v to %v ms, want %v at least", c.fault, a.MinMS, a.MaxMS, c.least)
		}
		if c.flags != "UT" && !strings.HasPrefix(a.Name, "orders-") {
			t.Errorf("%s: no upstream in %+v", c.fault, a)
		}
	}
}

// TestSendTellsRetries: the attempts of a request, and the flag of the last.
func TestSendTellsRetries(t *testing.T) {
	t.Parallel()
	l := labtest.New(t)
	l.OK("start", "08-xds")
	l.Edit("route: {cluster: orders}", "route: {cluster: orders, retry_policy: {retry_on: 5xx, num_retries: 2}}")
	fault(l, "status=503")
	l.Event("retries of steady traffic", func(e journal.Event) bool {
		return e.Access != nil && e.Access.Groups[len(e.Access.Groups)-1].Flags == "URX"
	})
	got := send(t, l, "-n", "4")
	n := 0
	for _, a := range got.Access {
		n += a.Count
		if a.Status != 503 || a.Flags != "URX" || a.Details != "via_upstream" || a.Attempts != 3 {
			t.Errorf("%+v", a)
		}
	}
	if n != 4 || got.Missing != 0 || got.Failed != 4 {
		t.Errorf("%d entries, %+v", n, got)
	}
}

// TestSendWithoutAccessLog: who takes the access log out is told.
func TestSendWithoutAccessLog(t *testing.T) {
	t.Parallel()
	l := labtest.New(t)
	l.OK("start", "08-xds")
	raw, err := os.ReadFile(l.File())
	if err != nil {
		t.Fatal(err)
	}
	from := strings.Index(string(raw), "              access_log:")
	to := from + strings.Index(string(raw)[from:], "additional_request_headers_to_log: [x-lab-probe]\n")
	l.Edit(string(raw)[from:to]+"additional_request_headers_to_log: [x-lab-probe]\n", "")
	l.Await("a Listener without an access log", func() bool { return len(send(t, l, "-n", "1").Access) == 0 })
	if r := l.OK("send", "-n", "2"); !strings.Contains(r.Out, "2 sent, 0 failed") || !strings.Contains(r.Err, "has no access_log") {
		t.Errorf("%s%s", r.Out, r.Err)
	}
	l.OK("reset")
	if r := l.OK("send", "-n", "2"); !strings.Contains(r.Out, "via_upstream") {
		t.Errorf("%s%s", r.Out, r.Err)
	}
}

// TestSlowRequest: a slow request is served, interrupted, and killed with its
// command; each time the journal has its begin and its end.
func TestSlowRequest(t *testing.T) {
	t.Parallel()
	l := labtest.New(t)
	l.OK("start", "08-xds")
	got := send(t, l, "--slow=300ms")
	if len(got.Access) != 1 || got.Access[0].Probe != "slow" || got.Access[0].MinMS < 290 || got.Failed != 0 {
		t.Errorf("%+v", got)
	}
	for i, how := range []syscall.Signal{0, syscall.SIGINT, syscall.SIGKILL} {
		if how != 0 {
			r := l.Begin("send", "--slow=50s")
			awaitSlow(l, 2*i+1)
			r.Signal(how)
			if r.Wait().Code == 0 {
				t.Errorf("%v: status 0", how)
			}
		}
		slow := awaitSlow(l, 2*i+2)
		begin, end := slow[2*i], slow[2*i+1]
		if begin.Sent != 0 || end.Sent != 1 || !begin.From.Equal(end.From) || (end.Failed == 0) != (how == 0) {
			t.Errorf("%v: %+v, %+v", how, begin, end)
		}
		if g := end.Groups[0]; how == 0 && (g.Status != 200 || !strings.HasPrefix(g.Upstream, "orders-")) || how != 0 && g.Error != "stopped" {
			t.Errorf("%v: %+v", how, g)
		}
	}
	for _, bad := range [][]string{{"--slow=2m"}, {"--slow=0s"}, {"--slow=x"}, {"--slow", "5s"}, {"-n", "0"}} {
		l.Want(64, append([]string{"send"}, bad...)...)
	}
}

// TestSlowOverHotRestart: the old Envoy finishes the slow request, and its
// access log counts as the new one's does.
func TestSlowOverHotRestart(t *testing.T) {
	t.Parallel()
	l := labtest.New(t)
	l.OK("start", "08-xds")
	r := l.Begin("send", "--slow=3s", "-o", "json")
	awaitSlow(l, 1)
	l.OK("envoy", "hot-restart")
	var got sent
	if res := r.Wait(); res.Code != 0 || json.Unmarshal([]byte(res.Out), &got) != nil {
		t.Fatalf("%d %s%s", res.Code, res.Out, res.Err)
	}
	if got.Failed != 0 || len(got.Access) != 1 || got.Access[0].Status != 200 || got.Access[0].MinMS < 2990 {
		t.Errorf("%+v", got)
	}
	ready := l.Event("the new Envoy to be ready", func(e journal.Event) bool {
		return e.Process != nil && e.Process.Epoch == 1 && e.Process.State == "ready"
	})
	if end := awaitSlow(l, 2)[1]; !end.To.After(ready.Time) {
		t.Errorf("the request ended at %s, before the new Envoy was ready at %s", end.To, ready.Time)
	}
	if after := send(t, l, "-n", "2"); after.Missing != 0 || after.Failed != 0 {
		t.Errorf("the new Envoy: %+v", after)
	}
	for _, e := range l.Events() {
		if e.Note != nil && e.Note.Code == "access-stranger" {
			t.Error("an Envoy of the run is taken for a stranger")
		}
	}
}

// awaitSlow waits for n events of slow requests.
func awaitSlow(l *labtest.Lab, n int) (slow []*journal.Probe) {
	l.Await(fmt.Sprintf("%d events of slow requests", n), func() bool {
		slow = nil
		for _, e := range l.Events() {
			if e.Probe != nil && e.Probe.Name == "slow" {
				slow = append(slow, e.Probe)
			}
		}
		return len(slow) >= n
	})
	return slow
}

// TestForeignAccessLog: entries of somebody else than the run's Envoy are
// dropped and noted once, and a request with a mark of one's own is no steady
// traffic.
func TestForeignAccessLog(t *testing.T) {
	t.Parallel()
	l := labtest.New(t)
	l.OK("start", "08-xds")
	run := load(t, l.Dir())
	for range 2 {
		foreign(t, fmt.Sprintf("127.0.0.1:%d", run.Ports["access-log"]))
	}
	forged := l.OK("send", "/own", "-n", "1")
	if !strings.Contains(forged.Out, "via_upstream") {
		t.Error(forged.Out)
	}
	notes := 0
	for _, e := range l.Events() {
		if e.Note != nil && e.Note.Code == "access-stranger" {
			notes++
		}
		if e.Access != nil {
			for _, g := range e.Access.Groups {
				if g.Path == "/foreign" {
					t.Errorf("an entry of a stranger: %+v", g)
				}
			}
		}
	}
	if notes != 1 {
		t.Errorf("%d notes of a stranger, want 1", notes)
	}
}

func foreign(t *testing.T, addr string) {
	t.Helper()
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	stream, err := als.NewAccessLogServiceClient(conn).StreamAccessLogs(ctx)
	if err != nil {
		t.Fatal(err)
	}
	_ = stream.Send(&als.StreamAccessLogsMessage{LogEntries: &als.StreamAccessLogsMessage_HttpLogs{
		HttpLogs: &als.StreamAccessLogsMessage_HTTPAccessLogEntries{LogEntry: []*data.HTTPAccessLogEntry{
			{Request: &data.HTTPRequestProperties{Path: "/foreign"}}}}}}) // the server may have refused it already
	if _, err := stream.CloseAndRecv(); err == nil || ctx.Err() != nil {
		t.Errorf("a stranger was not refused: %v", err)
	}
}

// fault sets one of every upstream.
func fault(l *labtest.Lab, text string) {
	for i := range 3 {
		l.OK("upstream", "set", fmt.Sprintf("orders-%d", i+1), text)
	}
}

func lastSeq(l *labtest.Lab) int64 {
	events := l.Events()
	return events[len(events)-1].Seq
}
