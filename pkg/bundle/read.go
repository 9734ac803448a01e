package bundle

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"lab/pkg/curriculum"
	"lab/pkg/journal"
	"lab/pkg/problem"
)

// Result is what a bundle says and what its events give.
type Result struct {
	Head    Head
	Seal    Seal // of the attempts, as graded again now
	Changed bool // the lab's content is another one than then: verdicts may differ
}

// Read grades the events of a bundle again and compares with its seal. find
// gives the lab of an id. A bundle that was changed, cut or is no bundle is a
// problem that says so.
func Read(r io.Reader, find func(string) (*curriculum.Lab, error)) (Result, error) {
	z, err := gzip.NewReader(r)
	if err != nil {
		return Result{}, refuse("it is no bundle", err)
	}
	limited := &io.LimitedReader{R: z, N: maxBytes}
	br := bufio.NewReaderSize(limited, 1<<16)
	raw, err := nextLine(br, limited)
	if err != nil {
		return Result{}, err
	}
	var res Result
	if err := strict(raw, &res.Head); err != nil || res.Head.Bundle < 1 {
		return Result{}, refuse("it is no bundle", err)
	}
	if res.Head.Bundle > Format {
		return Result{}, refuse(fmt.Sprintf("its format is %d, and this lab knows %d", res.Head.Bundle, Format), nil)
	}
	lab, err := find(res.Head.Lab)
	if err != nil {
		return Result{}, err
	}
	res.Changed = lab.Content != res.Head.Content
	sum := sha256.New()
	sum.Write(raw)
	g := newGrader(lab)
	claimed, n, err := events(br, limited, sum.Write, g)
	if err != nil {
		return Result{}, err
	}
	res.Seal = Seal{Events: n, SHA256: hex.EncodeToString(sum.Sum(nil)), Attempts: g.out}
	if claimed.Events != n || claimed.SHA256 != res.Seal.SHA256 {
		return Result{}, refuse("its events were changed after it was sealed", nil)
	}
	if !res.Changed {
		a, err1 := json.Marshal(claimed.Attempts)
		b, err2 := json.Marshal(g.out)
		if err1 != nil || err2 != nil || !bytes.Equal(a, b) {
			return Result{}, refuse("its verdicts are not those that its events give", errors.Join(err1, err2))
		}
	}
	return res, nil
}

// events reads up to the seal, which must be the end.
func events(br *bufio.Reader, lim *io.LimitedReader, hash func([]byte) (int, error), g *grader) (Seal, int, error) {
	for n := 0; ; n++ {
		raw, err := nextLine(br, lim)
		if err != nil {
			return Seal{}, n, err
		}
		if bytes.HasPrefix(raw, []byte(`{"seal":`)) {
			var end struct {
				Seal *Seal `json:"seal"`
			}
			if err := strict(raw, &end); err != nil || end.Seal == nil {
				return Seal{}, n, refuse("its seal is damaged", err)
			}
			if _, err := br.ReadByte(); !errors.Is(err, io.EOF) {
				return Seal{}, n, refuse("something stands behind its seal, or its end is damaged", err)
			}
			return *end.Seal, n, nil
		}
		if n == maxEvents {
			return Seal{}, n, refuse(fmt.Sprintf("it has more than %d events", maxEvents), nil)
		}
		_, _ = hash(raw) // never fails
		e, err := journal.Decode(raw)
		if err != nil {
			return Seal{}, n, refuse(fmt.Sprintf("its line %d is no event", n+2), err)
		}
		if e.Seq != int64(n)+1 {
			return Seal{}, n, refuse(fmt.Sprintf("event %d stands where %d is due", e.Seq, n+1), nil)
		}
		if err := g.add(e, raw); err != nil {
			return Seal{}, n, refuse(err.Error(), nil)
		}
	}
}

func nextLine(br *bufio.Reader, lim *io.LimitedReader) ([]byte, error) {
	raw, err := journal.ReadLine(br)
	switch {
	case lim.N <= 0:
		return nil, refuse(fmt.Sprintf("it unpacks to more than %d MB", maxBytes>>20), nil)
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return nil, refuse("it is cut off", nil)
	case err != nil:
		return nil, refuse("it is damaged", err)
	}
	return raw, nil
}

func strict(raw []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	return dec.Decode(into)
}

// refuse is why a bundle is not graded.
func refuse(why string, err error) *problem.Problem {
	if err != nil {
		why += " (" + err.Error() + ")"
	}
	return problem.New("bundle.refused", problem.Args{"Why": why}).Wrap(err)
}
