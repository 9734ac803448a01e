package curriculum

import (
	"fmt"
	"strings"
	"time"

	"lab/checks"
	"lab/pkg/journal"
)

// acts does what a learner would do.
func (s *sim) acts(acts []Act) {
	for _, a := range acts {
		a, err := s.step.Fill(a, s.moment())
		if err != nil {
			s.t.Fatal(err)
		}
		if err := s.act(a); err != nil && !s.tolerant {
			s.t.Fatal(err)
		}
	}
}

func (s *sim) act(a Act) error {
	switch {
	case a.edits():
		if s.buffer == "" {
			s.buffer = s.file
		}
		text, err := a.Edit(s.buffer)
		if err != nil {
			return err
		}
		s.buffer = text
	case a.Save == SaveAside:
		s.buffer = ""
	case a.Save != "":
		if s.buffer == "" { // every edit was left out
			return nil
		}
		s.file, s.buffer = s.buffer, ""
		s.readFile()
		s.advance(120 * time.Millisecond)
	case a.Wait != "":
		if !s.tolerant {
			s.until(a.Wait, a.Within)
		}
	case a.Kill == "control-plane":
		s.end(&s.cp, "control-plane")
		s.advance(200 * time.Millisecond)
	case a.Kill == "envoy":
		s.end(&s.envoy, "envoy")
		s.advance(time.Second)
	default:
		err := s.command(a.Lab)
		s.advance(200 * time.Millisecond)
		return err
	}
	return nil
}

func (s *sim) command(args []string) error {
	emit := func(name string, args map[string]string) {
		s.emit(journal.Learner, journal.Event{Kind: journal.KindCommand, Command: &journal.Command{Name: name, Args: args}})
	}
	switch cmd := strings.Join(args[:2], " "); cmd {
	case "envoy restart":
		emit(cmd, nil)
		s.end(&s.envoy, "envoy")
		s.advance(300 * time.Millisecond)
		s.startEnvoy()
	case "control-plane stop", "control-plane kill":
		emit(cmd, nil)
		s.end(&s.cp, "control-plane")
	case "control-plane start":
		emit(cmd, nil)
		s.startControlPlane()
	case "control-plane restart":
		emit(cmd, nil)
		s.end(&s.cp, "control-plane")
		s.advance(100 * time.Millisecond)
		s.startControlPlane()
	case "upstream clear":
		delete(s.faults, args[2])
		emit("upstream set", map[string]string{"upstream": args[2], "fault": "ok"})
	case "upstream set":
		s.faults[args[2]] = args[3]
		emit(cmd, map[string]string{"upstream": args[2], "fault": args[3]})
	default:
		q, ok := s.step.Question(args[1])
		if args[0] != "answer" || !ok {
			return fmt.Errorf("command %q", args)
		}
		v, err := s.step.Answer(q, args[2])
		if err != nil {
			return err
		}
		s.emit(journal.Learner, journal.Event{Kind: journal.KindAnswer, Answer: &journal.Answer{
			Step: s.step.ID, Question: q.ID, Value: v, Prediction: q.Prediction}})
	}
	return nil
}

// until lets time pass until a condition holds.
func (s *sim) until(condition string, within time.Duration) {
	if condition == "" {
		return
	}
	for end := s.now.Add(within); ; s.advance(50 * time.Millisecond) {
		ok, err := s.step.Holds(s.moment(), condition)
		if err != nil {
			s.t.Fatal(err)
		}
		if ok {
			return
		}
		if s.now.After(end) {
			s.t.Fatalf("step %s: waited %s for: %s", s.step.ID, within, condition)
		}
	}
}

// check grades as the session does: while something settles, it waits.
func (s *sim) check(lang string) checks.Report {
	s.advance(250 * time.Millisecond)
	for end := s.now.Add(10 * time.Second); ; s.advance(100 * time.Millisecond) {
		rep, err := s.step.Grade(lang, s.moment())
		if err != nil {
			s.t.Fatal(err)
		}
		if !rep.Settles || rep.Verdict == checks.Passed || s.now.After(end) {
			return rep
		}
	}
}
