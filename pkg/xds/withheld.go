package xds

import (
	"slices"
	"strings"

	"lab/pkg/journal"
)

// The reasons of a withheld answer.
const (
	noSnapshot = "no-snapshot" // nothing was pushed yet
	parked     = "parked"      // the version in force was rejected
	names      = "names"       // names that were asked for are not in the snapshot
	notAsked   = "not-asked"   // names in the snapshot that nobody asked for
	warming    = "warming"     // CDS is not acknowledged: a cluster warms
	noAck      = "no-ack"      // another type is not acknowledged
)

// silence is an answer, or a part of one, that does not go out.
type silence struct {
	reason  string
	version string
	names   []string
}

// silences says why a request got no answer, as far as a person should know:
// an ACK with nothing new gives none. It looks at the snapshot as it will be
// when a push that is under way has ended. Server.mu is held.
func (s *Server) silences(url string, a *asked, want []string, wildcard, rejected bool) []silence {
	if s.pushes == 0 {
		return a.news(silence{noSnapshot, "", want})
	}
	p := s.target.part(url)
	if a.sent != p.push {
		return nil
	}
	var out []silence
	if rejected {
		out = append(out, silence{parked, p.version, nil})
	}
	if wildcard {
		return out
	}
	return append(out, a.news(mismatch(p, want)...)...)
}

// mismatch compares the names that a client wants with those that are there.
func mismatch(p part, want []string) (out []silence) {
	var missing, orphans []string
	for _, n := range want {
		if _, ok := p.items[n]; !ok && n != "*" {
			missing = append(missing, n)
		}
	}
	for n := range p.items {
		if !slices.Contains(want, n) {
			orphans = append(orphans, n)
		}
	}
	if len(missing) > 0 {
		slices.Sort(missing)
		out = append(out, silence{names, p.version, missing})
	}
	if len(orphans) > 0 {
		slices.Sort(orphans)
		out = append(out, silence{notAsked, p.version, orphans})
	}
	return out
}

// news gives the silences, or none where the same ones were given last time: a
// client that repeats a request is not told about twice.
func (a *asked) news(all ...silence) []silence {
	var b strings.Builder
	for _, w := range all {
		b.WriteString(w.reason + "\x00" + w.version + "\x00" + strings.Join(w.names, "\x00") + "\x01")
	}
	if b.String() == a.told {
		return nil
	}
	a.told = b.String()
	return all
}

func (s *Server) withhold(st *stream, url string, w silence) {
	s.rec.emit(journal.Event{Kind: journal.KindWithheld, Withheld: &journal.Withheld{
		Stream: st.id, Pid: s.opt.Pid, Type: short(url), Version: w.version, Reason: w.reason, Names: w.names,
	}})
}
