package bundle

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"

	"lab/pkg/curriculum"
	"lab/pkg/journal"
)

// Write reads a journal, grades its attempts again, and writes the bundle. A
// torn last line is left out.
func Write(w io.Writer, lab *curriculum.Lab, events io.Reader) (Seal, error) {
	z := gzip.NewWriter(w)
	sum := sha256.New()
	out := io.MultiWriter(z, sum)
	g := newGrader(lab)
	n := 0
	_, err := journal.Read(events, func(e journal.Event) error {
		if n == 0 {
			if e.Run == nil {
				return errors.New("the journal does not begin with its run")
			}
			head, err := line(Head{Bundle: Format, Lab: lab.ID, Content: lab.Content, Seed: e.Run.Seed, LabVersion: e.Run.LabVersion})
			if err != nil {
				return err
			}
			if _, err := out.Write(head); err != nil {
				return err
			}
		}
		n++
		raw, err := line(e)
		if err != nil {
			return err
		}
		if _, err := out.Write(raw); err != nil {
			return err
		}
		return g.add(e, raw)
	})
	if err != nil && !errors.As(err, new(*journal.TornError)) {
		return Seal{}, err
	}
	if n == 0 {
		return Seal{}, errors.New("the journal is empty")
	}
	seal := Seal{Events: n, SHA256: hex.EncodeToString(sum.Sum(nil)), Attempts: g.out}
	raw, err := line(map[string]Seal{"seal": seal})
	if err != nil {
		return seal, err
	}
	if _, err := z.Write(raw); err != nil {
		return seal, err
	}
	return seal, z.Close()
}

// line is one JSON document on one line.
func line(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return b.Bytes(), err
}
