package e2e

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"lab/pkg/labtest"
)

// A control plane that is stopped (SIGSTOP) has not read what was saved:
// nothing can be said about it, and once it goes on, everything can.
func TestStoppedControlPlane(t *testing.T) {
	t.Parallel()
	l := labtest.New(t)
	l.OK("start", "08-xds")
	l.OK("goto", "endpoint-removal")
	st := serving(t, l)
	pid := pidOf(l, "control-plane")
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	line := ""
	for _, u := range st.Upstreams {
		if u.Address == st.Params["endpoint"] {
			line = u.Name
		}
	}
	raw, err := os.ReadFile(l.File())
	if err != nil {
		t.Fatal(err)
	}
	for text := range strings.Lines(string(raw)) {
		if line != "" && strings.HasSuffix(text, "# "+line+"\n") {
			l.Edit(text, "")
		}
	}
	r := l.Want(2, "check", "-o", "json", "--wait", "100ms")
	if !strings.Contains(r.Out, `"id":"reading"`) && !strings.Contains(r.Out, `"id": "reading"`) {
		t.Errorf("not told that the file was not read:\n%s", r.Out)
	}
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	l.OK("check")
	stopped(t, l, l.Dir())
}
