package term

import (
	"fmt"
	"sync"
	"time"

	"lab/pkg/term/text"
)

// labelWidth is the column of cells in which the name of a stage stands.
const labelWidth = 15

// quiet is how long plain output stays silent about a stage that goes on, so
// that a log gets a line now and then and not one for each per cent.
const quiet = 5 * time.Second

// Progress shows the stages of long work on Err: on a terminal one line each,
// rewritten while the stage goes on; elsewhere plain lines. One stage is open at
// a time. It is safe for concurrent use; it starts no goroutine, so the caller
// calls Say again where the elapsed time should move.
type Progress struct {
	io  *IO
	now func() time.Time

	mu      sync.Mutex
	label   string
	began   time.Time
	printed time.Time // last plain line
	open    bool
}

// NewProgress shows progress on o. now gives the time.
func NewProgress(o *IO, now func() time.Time) *Progress {
	return &Progress{io: o, now: now}
}

// Begin opens a stage. A stage that is still open ends without a line.
func (p *Progress) Begin(label string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	p.label, p.began, p.printed, p.open = label, p.now(), p.now(), true
	if p.io.Rewrite {
		p.write("", "")
	}
}

// Say shows how far the stage is.
func (p *Progress) Say(detail string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch now := p.now(); {
	case !p.open:
	case p.io.Rewrite:
		p.write(detail, "")
	case now.Sub(p.printed) >= quiet:
		p.printed = now
		p.write(detail, "\n")
	}
}

// Done ends the stage with a line that stays.
func (p *Progress) Done(detail string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open {
		p.write(detail, "\n")
	}
	p.open = false
}

// Stop takes an open stage off the terminal, so that an error can be printed.
// It may be called at any time, also when no stage is open.
func (p *Progress) Stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
}

func (p *Progress) clear() {
	if p.open && p.io.Rewrite {
		fmt.Fprint(p.io.Err, "\r\x1b[K")
	}
	p.open = false
}

// write prints the stage's line; the elapsed time stands at its end from a
// second on. Err may be gone: then there is nobody to tell.
func (p *Progress) write(detail, end string) {
	width := p.io.TextWidth()
	left := text.Pad(p.label, labelWidth) + text.CleanLine(detail)
	right := ""
	if d := p.now().Sub(p.began); d >= time.Second {
		right = fmt.Sprintf("%.1f s", d.Seconds())
	}
	// The last cell stays free: a full line would scroll and could not be rewritten.
	left = text.Cut(left, max(labelWidth, width-3-text.Width(right)))
	line := text.Ends(left, right, width-1)
	if p.io.Rewrite {
		line = "\r\x1b[K" + line
	}
	fmt.Fprint(p.io.Err, line+end)
}
