package session

import (
	"context"
	"net"

	"lab/checks"
	"lab/pkg/problem"
	"lab/pkg/report"
	"lab/pkg/web"
)

// rolePage is the port of the live page. It and the page's token stay the same
// for the whole run: a page that is left open comes back after a restart.
const rolePage = "page"

// servePage opens the page's port. A port that somebody else took meanwhile is
// no reason not to start: the page gets another one.
func (s *Session) servePage(ctx context.Context) error {
	l, err := s.listenPage()
	if err != nil {
		return err
	}
	if s.run.PageToken == "" {
		s.run.PageToken = web.NewToken()
	}
	srv, err := s.page.Server(web.Options{Addr: l.Addr().String(), Token: s.run.PageToken, Lang: s.run.Lang, Ready: s.up, Done: ctx.Done()})
	if err != nil {
		_ = l.Close()
		return err
	}
	go func() { _ = srv.Serve(l) }() // ends with Close
	context.AfterFunc(ctx, func() { _ = srv.Close() })
	return nil
}

func (s *Session) listenPage() (net.Listener, error) {
	if s.run.Ports[rolePage] != 0 {
		if l, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", itoa(s.run.Ports[rolePage]))); err == nil {
			return l, nil
		}
	}
	p, err := s.freePort()
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", itoa(p)))
	if err != nil {
		return nil, problem.New("session.port-taken", problem.Args{"Name": rolePage, "Port": p, "Error": Reason(err)}).Wrap(err)
	}
	s.run.Ports[rolePage] = p
	return l, nil
}

// pageURL is the page's address with its token.
func (s *Session) pageURL() string {
	if s.run.PageToken == "" {
		return ""
	}
	return web.URL(net.JoinHostPort("127.0.0.1", itoa(s.run.Ports[rolePage])), s.run.PageToken)
}

// pageLab is the session as the page sees it.
type pageLab struct{ s *Session }

func (p pageLab) ask(lang string) Ask { return Ask{Lang: lang, Command: p.Command()} }

// Command is web.Lab.
func (p pageLab) Command() string {
	if p.s.run.Command == "" {
		return "lab"
	}
	return p.s.run.Command
}

// Status is web.Lab. It does not ask Envoy: one that was LIVE and still runs is LIVE.
func (p pageLab) Status() report.Status {
	st := p.s.sources(p.s.statusNow(nil))
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	st.Envoy.Ready = p.s.readyPids[st.Envoy.Pid]
	return st
}

// Step is web.Lab.
func (p pageLab) Step(lang string) (web.Step, error) {
	st, err := p.s.describe(p.s.step(), p.ask(lang))
	return web.Step{Lab: st.Lab, ID: st.ID, Number: st.Number, Of: st.Of, Title: st.Title, Text: st.Text}, err
}

// Grade is web.Lab.
func (p pageLab) Grade(lang string) (checks.Report, error) {
	step := p.s.step()
	rep, err := p.s.grade(step, p.ask(lang))
	rep.Step = step.ID
	return rep, err
}

// Questions is web.Lab.
func (p pageLab) Questions(lang string) ([]web.Question, error) {
	step := p.s.step()
	var out []web.Question
	for _, q := range step.Questions {
		asked, err := p.s.ask(step, q, p.ask(lang))
		if err != nil {
			return nil, err
		}
		x := web.Question{ID: q.ID, Text: asked.Text, Kind: string(q.Kind), Prediction: q.Prediction, Value: asked.Value}
		for i, label := range asked.Choices {
			x.Choices = append(x.Choices, web.Choice{Value: q.Choices[i], Label: label})
		}
		out = append(out, x)
	}
	return out, nil
}

// Answer is web.Lab.
func (p pageLab) Answer(ctx context.Context, question, value string) error {
	if err := p.s.gone(); err != nil {
		return err
	}
	_, err := p.s.answer(ctx, AnswerCall{Question: question, Value: value})
	return err
}
