package journal

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// MaxLine bounds one event in bytes; a longer line is refused.
const MaxLine = 16 << 20

// TornError says that the last line of a journal is not whole: its writer was
// killed or the disk was full. What stands before it is good.
type TornError struct{ Offset int64 }

func (e *TornError) Error() string {
	return fmt.Sprintf("the last line, at byte %d, is torn", e.Offset)
}

// Read gives each event of r to fn and returns the number of bytes that whole
// events take. It ends with a *TornError when the last line is not whole, with
// another error where an earlier line is no event, or with fn's error.
func Read(r io.Reader, fn func(Event) error) (int64, error) {
	br := bufio.NewReaderSize(r, 1<<16)
	var at int64
	for line := 1; ; line++ {
		raw, err := ReadLine(br)
		if errors.Is(err, io.EOF) {
			if len(raw) > 0 {
				return at, &TornError{Offset: at}
			}
			return at, nil
		}
		if err != nil {
			return at, fmt.Errorf("line %d: %w", line, err)
		}
		e, err := Decode(raw)
		if err != nil {
			if _, peek := br.Peek(1); peek != nil { // nothing follows: torn by a full disk
				return at, &TornError{Offset: at}
			}
			return at, fmt.Errorf("line %d: %w", line, err)
		}
		if e.Run != nil && e.Run.FormatVersion > FormatVersion {
			return at, fmt.Errorf("line %d: format %d is newer than this lab knows (%d)", line, e.Run.FormatVersion, FormatVersion)
		}
		if err := fn(e); err != nil {
			return at, err
		}
		at += int64(len(raw))
	}
}

// Decode reads one event. One without the payload of its kind is refused:
// whoever folds events may count on it.
func Decode(raw []byte) (Event, error) {
	var e Event
	if err := json.Unmarshal(raw, &e); err != nil {
		return e, err
	}
	if !e.whole() {
		return e, fmt.Errorf("an event of kind %q without its payload", e.Kind)
	}
	return e, nil
}

// ReadLine reads a line with its end, of at most MaxLine bytes.
func ReadLine(br *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := br.ReadSlice('\n')
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
		if len(line) > MaxLine {
			return nil, fmt.Errorf("longer than %d bytes", MaxLine)
		}
	}
}

// ReadFile reads all events of a file. A torn last line is left out and told
// by torn.
func ReadFile(path string) (events []Event, torn bool, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	_, err = Read(f, func(e Event) error { events = append(events, e); return nil })
	if errors.As(err, new(*TornError)) {
		return events, true, nil
	}
	return events, false, err
}

// Forward reads the events that another process writes to r and emits them to
// sink until r ends. A line that is no event is noted, not passed on: the
// process was killed while it wrote.
func Forward(r io.Reader, sink Sink) error {
	br := bufio.NewReaderSize(r, 1<<16)
	for {
		raw, err := ReadLine(br)
		if len(bytes.TrimSpace(raw)) > 0 {
			if e, bad := Decode(raw); bad != nil {
				sink.Emit(Event{Source: Session, Kind: KindNote, Note: &Note{Code: "torn-line",
					Args: map[string]string{"bytes": fmt.Sprint(len(raw))}}})
			} else {
				sink.Emit(e)
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
