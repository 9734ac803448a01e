package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"lab/pkg/labtest"
)

// What is typed wrongly ends with 64, before and beside a run.
func TestUsage(t *testing.T) {
	t.Parallel()
	l := labtest.New(t)
	for _, line := range []string{
		"bogus", "--bogus", "check --bogus", "check extra", "--output yaml", "status --output", "--lang fr", "status --color blue",
		"start 08-xds extra", "start 99-nothing", "start 08-xds --runtime docker", "start 08-xds --ads carrier-pigeon",
		"start 08-xds --order chaos", "start 08-xds --seed many", "check --wait soon", "answer one two three", "goto", "goto a b",
		"envoy bogus", "control-plane bogus", "upstream set orders-1", "send / extra", "send -n many", "snapshot lint",
		"journal extra", "dev new BAD", "dev prove", "dev prove 08-xds -n 0", "dev prove 08-xds --step nothing",
	} {
		r := l.Run(append(strings.Fields(line), "-o", "json")...)
		if line == "--output yaml" || line == "status --output" { // JSON was asked for, and then something else
			r = l.Run(strings.Fields(line)...)
			if r.Code != 64 || r.Out != "" || r.Err == "" {
				t.Errorf("lab %s: exit status %d\n%s%s", line, r.Code, r.Out, r.Err)
			}
			continue
		}
		if r.Code != 64 {
			t.Errorf("lab %s: exit status %d, want 64\n%s%s", line, r.Code, r.Out, r.Err)
			continue
		}
		refusal(t, r)
	}
	if files, _ := os.ReadDir(l.Wd); len(files) > 0 {
		t.Errorf("wrong command lines made files: %v", files)
	}
}

// Things of a run that are not there.
func TestUnknownThings(t *testing.T) {
	t.Parallel()
	l := labtest.New(t)
	l.OK("start", "08-xds")
	for line, code := range map[string]string{
		"goto 99":                    "session.no-step",
		"goto 0":                     "session.no-step",
		"goto -- -1":                 "session.no-step",
		"reset nothing":              "session.no-step",
		"answer nothing 1":           "session.no-question",
		"answer first-type Cheese":   "curriculum.answer-choice",
		"upstream set nobody ok":     "session.no-upstream",
		"upstream clear nobody":      "session.no-upstream",
		"upstream set orders-1 evil": "upstreams.fault",
	} {
		refused(t, l, 64, code, strings.Fields(line)...)
	}
	refused(t, l, 1, "session.not-passed", "next")
	refused(t, l, 3, "session.part-up", "control-plane", "start")
	refused(t, l, 3, "session.no-check", "why")
	refused(t, l, 3, "session.unreadable", "snapshot", "lint", "nothing.yaml")
	refused(t, l, 3, "session.unreadable", "snapshot", "lint", l.Wd)
	document(t, l.Want(1, "check", "-o", "json", "--wait", "-5s"))
	if st := l.Status(); st.Step != "connect" {
		t.Errorf("step %s", st.Step)
	}
}

// Without a run, each command says so; with -o json it says it in a document.
func TestNoRun(t *testing.T) {
	t.Parallel()
	l := labtest.New(t)
	document(t, l.OK("-o", "json"))
	document(t, l.OK("list", "-o", "json"))
	document(t, l.OK("version", "-o", "json"))
	for _, line := range []string{
		"check", "status", "why", "answer", "answer a b", "journal", "goto 2", "solution", "stop", "start", "send",
		"control-plane stop", "envoy stats", "envoy log", "upstream set orders-1 ok", "journal --follow",
	} {
		refused(t, l, 3, "session.none", strings.Fields(line)...)
		refused(t, l, 3, "session.no-run", append(strings.Fields(line), "--dir", l.Wd)...)
	}
	if files, _ := os.ReadDir(l.Wd); len(files) > 0 {
		t.Errorf("commands without a run made files: %v", files)
	}
}

// Each command that reports gives one document, in a run and after it.
func TestJSON(t *testing.T) {
	t.Parallel()
	l := labtest.New(t)
	document(t, l.OK("start", "08-xds", "-o", "json"))
	lines := []string{
		"", "start", "status", "check --wait 1ms", "why", "hint", "answer", "answer first-type CDS", "list", "version", "send -n 3",
		"upstream list", "upstream set orders-1 delay=1ms", "upstream clear", "control-plane status", "control-plane kill",
		"control-plane start", "envoy status", "envoy stats cluster_manager", "envoy config", "envoy log", "envoy path",
		"solution", "goto 3", "reset", "skip", "doctor", "snapshot lint 08-xds/snapshot.yaml", "dev lint",
	}
	for _, line := range lines {
		r := l.Run(append(strings.Fields(line), "-o", "json")...)
		if r.Code > 3 {
			t.Errorf("lab %s: exit status %d\n%s%s", line, r.Code, r.Out, r.Err)
		}
		document(t, r)
	}
	document(t, l.OK("stop", "-o", "json"))
	for _, line := range []string{"", "status", "check", "send", "envoy stats", "envoy log", "envoy config", "upstream list"} {
		document(t, l.Run(append(strings.Fields(line), "-o", "json")...))
	}
}

// Without a terminal, and with NO_COLOR, no byte of an escape goes out, and
// nothing waits for input.
func TestPlain(t *testing.T) {
	t.Parallel()
	l := labtest.New(t)
	for _, set := range []string{"", "1"} {
		l.Setenv("NO_COLOR", set)
		l.Setenv("TERM", "xterm-256color")
		for _, line := range []string{
			"start 08-xds", "", "status", "check --wait 1ms", "why", "hint", "answer", "journal", "journal --all", "solution",
			"list", "doctor", "version", "--help", "bogus", "goto 99", "send -n 2", "upstream list", "stop", "status",
		} {
			r := l.Run(strings.Fields(line)...)
			if strings.ContainsAny(r.Out+r.Err, "\x1b\x07\b") {
				t.Errorf("lab %s: escapes in %q", line, r.Out+r.Err)
			}
			if m := blank.FindString(r.Out + r.Err); m != "" {
				t.Errorf("lab %s: words are missing: %s", line, m)
			}
		}
	}
}

// English where Chinese was asked for: two words of it in a row, but for names
// and what is typed.
var english = regexp.MustCompile(`\b(the|is|are|was|not|there|this|with|and|or|cannot|of|to|your|run)\b`)

// What is refused is told in the language that was asked for.
func TestChineseErrors(t *testing.T) {
	t.Parallel()
	l := labtest.New(t)
	lines := []string{
		"bogus", "check --bogus", "--lang zh --output yaml", "status", "stop", "start 99-nothing", "start 08-xds --runtime docker",
		"goto", "answer x", "snapshot lint nothing.yaml",
	}
	inRun := []string{"goto 99", "answer nothing 1", "upstream set nobody ok", "upstream set orders-1 evil", "next", "why", "control-plane start"}
	says := func(line string) {
		r := l.Run(append([]string{"--lang", "zh"}, strings.Fields(line)...)...)
		said := strings.NewReplacer(l.Bin, "lab", "no such file or directory", "", "file does not exist", "").Replace(r.Out + r.Err) // the system's words stay
		if !regexp.MustCompile(`\p{Han}`).MatchString(said) || english.MatchString(said) || blank.MatchString(said) {
			t.Errorf("lab --lang zh %s says:\n%s", line, said)
		}
	}
	for _, line := range lines {
		says(line)
	}
	l.OK("start", "08-xds", "--lang", "zh")
	for _, line := range inRun {
		says(line)
	}
	kill(t, l, "session")
	says("status")
	says("check --dir " + filepath.Join(l.Wd, "nowhere"))
}
