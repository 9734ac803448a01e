package upstreams

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"lab/pkg/problem"
)

// Kind names a way to fail.
type Kind string

// The kinds of faults. "Read" means that the request, with its body, was read.
const (
	OK          Kind = "ok"           // no fault
	Status      Kind = "status"       // answers with the codes in turn
	Delay       Kind = "delay"        // answers in one piece, after Time
	SlowHeaders Kind = "slow-headers" // the headers come in pieces that take Time
	SlowBody    Kind = "slow-body"    // the headers at once, the body in pieces that take Time
	Hang        Kind = "hang"         // reads, and never answers
	HangBody    Kind = "hang-body"    // headers and the start of the body, and then nothing
	Reset       Kind = "reset"        // reads, and ends the connection by RST
	Fin         Kind = "fin"          // reads, and ends the connection by FIN
	Garbage     Kind = "garbage"      // answers what is not HTTP
	Truncate    Kind = "truncate"     // closes in the middle of the body
	Refuse      Kind = "refuse"       // refuses connections
	BlackHole   Kind = "black-hole"   // connections hang: neither accepted nor refused
	Flap        Kind = "flap"         // refuses for Time, is healthy for Time, and so on
)

// Fault is how an Upstream behaves.
type Fault struct {
	Kind  Kind
	Codes []int         // of Status: 200 to 599, in the order of requests, from the start again after the last
	Time  time.Duration // of Delay, SlowHeaders, SlowBody and Flap: minTime to maxTime
}

const (
	minTime = time.Millisecond
	maxTime = 10 * time.Minute
	// minFlap keeps the halves of a Flap longer than it takes to open the port.
	minFlap  = 50 * time.Millisecond
	maxCodes = 100
)

// form is an example of how a kind of fault is written.
type form struct {
	kind Kind
	text string
}

// forms are in the order in which people see them.
var forms = []form{
	{OK, "ok"}, {Status, "status=503"}, {Status, "status=503,503,200"}, {Delay, "delay=2s"},
	{Refuse, "refuse"}, {Reset, "reset"}, {Fin, "fin"}, {BlackHole, "black-hole"},
	{SlowHeaders, "slow-headers=2s"}, {SlowBody, "slow-body=2s"}, {Hang, "hang"}, {HangBody, "hang-body"},
	{Garbage, "garbage"}, {Truncate, "truncate"}, {Flap, "flap=2s"},
}

// Forms gives an example of each form that ParseFault reads, for help and
// completion.
func Forms() []string {
	out := make([]string, len(forms))
	for i, f := range forms {
		out[i] = f.text
	}
	return out
}

// ParseFault reads what a person writes for a fault. The error is a problem
// (upstreams.fault) that lists the forms.
func ParseFault(s string) (Fault, error) {
	kind, arg, hasArg := strings.Cut(s, "=")
	f := Fault{Kind: Kind(kind)}
	ok := slices.ContainsFunc(forms, func(x form) bool {
		return x.kind == f.Kind && strings.Contains(x.text, "=") == hasArg
	})
	switch f.Kind {
	case Status:
		ok = ok && f.readCodes(arg)
	case Delay, SlowHeaders, SlowBody, Flap:
		ok = ok && f.readTime(arg)
	}
	if !ok {
		return Fault{}, problem.New("upstreams.fault", problem.Args{
			"Fault": strconv.Quote(s), "Forms": strings.Join(Forms(), ", "),
		}).WithExit(problem.Usage)
	}
	return f, nil
}

func (f *Fault) readCodes(arg string) bool {
	for one := range strings.SplitSeq(arg, ",") {
		code, err := strconv.Atoi(one)
		if err != nil || code < 200 || code > 599 || len(f.Codes) == maxCodes {
			return false
		}
		f.Codes = append(f.Codes, code)
	}
	return true
}

func (f *Fault) readTime(arg string) bool {
	d, err := time.ParseDuration(arg)
	if err != nil || d < minTime || d > maxTime || f.Kind == Flap && d < minFlap {
		return false
	}
	f.Time = d
	return true
}

// String writes a fault so that ParseFault reads it back.
func (f Fault) String() string {
	switch f.Kind {
	case Status:
		codes := make([]string, len(f.Codes))
		for i, c := range f.Codes {
			codes[i] = strconv.Itoa(c)
		}
		return string(Status) + "=" + strings.Join(codes, ",")
	case Delay, SlowHeaders, SlowBody, Flap:
		return string(f.Kind) + "=" + f.Time.String()
	}
	return string(f.Kind)
}
