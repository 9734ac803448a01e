package web

import (
	"bytes"
	"encoding/json"
	"sync"
	"time"

	"lab/pkg/journal"
	"lab/pkg/words"
)

// Page is the live page of one run. Fold may be called from the start, Server
// once the run has a port. It is safe for concurrent use.
type Page struct {
	lab   Lab
	now   func() time.Time
	model *Model
	dirty chan struct{} // of size 1: an event came
	talk  chan struct{} // of size 1: one that a person waits for

	mu       sync.Mutex // guards what follows
	readers  map[string]int
	leave    chan struct{} // closed when the last reader left
	tick     chan struct{} // closed and replaced when readers should look
	sections map[string]*sections
	encoded  map[trip][]byte // frames of this tick
	graded   time.Time       // when the next grading is due
}

// cursor is how far a reader has come.
type cursor struct {
	lang     string
	seq      int64
	sections int // version
}

// trip is from where to where a frame takes a reader.
type trip struct{ from, to cursor }

// sections is what is asked of the lab rather than folded, in one language.
type sections struct {
	version int
	parts   [3]json.RawMessage // state, step, grade
	at      [3]int             // version at which each changed
	problem string             // why a part is old
}

// New makes the page of a lab. now gives the time of events.
func New(lab Lab, now func() time.Time) *Page {
	return &Page{lab: lab, now: now, model: NewModel(), dirty: make(chan struct{}, 1), talk: make(chan struct{}, 1),
		readers: map[string]int{}, tick: make(chan struct{}), sections: map[string]*sections{}, encoded: map[trip][]byte{}}
}

// Fold takes the next event of the journal. It does not wait.
func (p *Page) Fold(e journal.Event) {
	p.model.Fold(e)
	signal(p.dirty)
	switch e.Kind {
	case journal.KindProbe, journal.KindHit, journal.KindStats, journal.KindAccess: // several each second
	default:
		signal(p.talk)
	}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Readers look at most every tickEvery, but soon after something that a person
// waits for: a push and its answers come within burst. Where grading takes
// long, it may take one part in gradeShare of the time.
const (
	tickEvery  = 100 * time.Millisecond
	burst      = 20 * time.Millisecond
	gradeShare = 20
)

// enter adds a reader. The first one wakes the page.
func (p *Page) enter(lang string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.readers) == 0 {
		p.leave = make(chan struct{})
		go p.run(p.leave)
	}
	p.readers[lang]++
}

// exit takes a reader away. Without any, nothing is graded.
func (p *Page) exit(lang string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.readers[lang]--
	if p.readers[lang] == 0 {
		delete(p.readers, lang)
		delete(p.sections, lang) // old when somebody comes back
	}
	if len(p.readers) == 0 {
		close(p.leave)
	}
}

// count is how many pages are open.
func (p *Page) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, k := range p.readers {
		n += k
	}
	return n
}

// run wakes the readers after events, and grades in between.
func (p *Page) run(leave <-chan struct{}) {
	for {
		p.wake()
		due := p.refresh()
		if !pause(leave, burst, nil) || !pause(leave, tickEvery-burst, p.talk) || !pause(leave, due, p.dirty) {
			return
		}
	}
}

// pause waits for a time or a signal; false means that the last reader left.
func pause(leave <-chan struct{}, d time.Duration, sooner <-chan struct{}) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-sooner:
	case <-leave:
		return false
	}
	return true
}

// idle is how often the lab is asked where nothing happens: a host comes back,
// a Cluster warms, traffic dries up.
const idle = time.Second

// refresh asks the lab for each language that is read, and tells in what time
// to do so again. A grading that is not due yet is left for then.
func (p *Page) refresh() (due time.Duration) {
	p.mu.Lock()
	wait := time.Until(p.graded)
	langs := make([]string, 0, len(p.readers))
	for l := range p.readers {
		langs = append(langs, l)
	}
	p.mu.Unlock()
	if wait > 0 {
		return wait
	}
	begun := time.Now()
	news := false
	for _, l := range langs {
		news = p.ask(l) || news
	}
	if news {
		p.wake()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.graded = time.Now().Add(max(tickEvery, gradeShare*time.Since(begun)))
	return idle
}

// ask brings the sections of a language up to date, and tells whether they changed.
func (p *Page) ask(lang string) bool {
	s := p.speak(lang)
	parts, problem := s.askLab(p.lab, lang)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.readers[lang] == 0 {
		return false
	}
	sec := p.sections[lang]
	if sec == nil {
		sec = &sections{}
		p.sections[lang] = sec
	}
	next := sec.version + 1
	for i, raw := range parts {
		if raw != nil && !bytes.Equal(raw, sec.parts[i]) {
			sec.parts[i], sec.at[i], sec.version = raw, next, next
		}
	}
	if problem != sec.problem {
		sec.problem, sec.version = problem, next
	}
	return sec.version == next
}

// speak puts things into a language.
func (p *Page) speak(lang string) speaker { return speaker{words.For(lang), p.lab.Command()} }

// askLab gives state, step and grade; what cannot be had is nil, and why is told.
func (s speaker) askLab(lab Lab, lang string) (parts [3]json.RawMessage, problem string) {
	parts[0] = encode(s.state(lab.Status()))
	step, err := lab.Step(lang)
	qs, errQ := lab.Questions(lang)
	grade, errG := lab.Grade(lang)
	for _, e := range []error{err, errQ, errG} {
		if e != nil {
			return parts, s.t("page.fault", map[string]any{"Error": short(e.Error())})
		}
	}
	view, err := s.step(step, qs)
	if err != nil {
		return parts, s.t("page.fault", map[string]any{"Error": short(err.Error())})
	}
	parts[1], parts[2] = encode(view), encode(s.grade(grade))
	return parts, ""
}

// encode is for values of this package, which all have an encoding.
func encode(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return raw
}

// wake lets the readers look.
func (p *Page) wake() {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.encoded)
	close(p.tick)
	p.tick = make(chan struct{})
}

// look gives what is new behind a cursor, nil where nothing is, and the cursor
// to go on from. Readers that are equally far share one encoding.
func (p *Page) look(at cursor) (data []byte, next cursor, tick <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	sec := p.sections[at.lang]
	if sec == nil { // about to be asked
		return nil, at, p.tick
	}
	c := p.model.since(at.seq)
	next = cursor{at.lang, c.seq, sec.version}
	if c.empty() && sec.version == at.sections {
		return nil, next, p.tick
	}
	key := trip{at, next}
	data, ok := p.encoded[key]
	if !ok {
		data = p.encode(c, at, sec)
		p.encoded[key] = data
	}
	return data, next, p.tick
}

// wire is a frame whose sections are encoded already.
type wire struct {
	frame
	State   json.RawMessage `json:"state,omitempty"`
	Step    json.RawMessage `json:"step,omitempty"`
	Grade   json.RawMessage `json:"grade,omitempty"`
	Problem *string         `json:"problem,omitempty"`
}

func (p *Page) encode(c changes, at cursor, sec *sections) []byte {
	f := wire{frame: p.speak(at.lang).frame(c, p.now())}
	for i, to := range []*json.RawMessage{&f.State, &f.Step, &f.Grade} {
		if sec.at[i] > at.sections {
			*to = sec.parts[i]
		}
	}
	if sec.version != at.sections {
		f.Problem = &sec.problem
	}
	return encode(f)
}
