package problem

import (
	"errors"
	"fmt"
)

// List is what was found while something was read, in the order of the file.
// Warnings stand among the errors; only errors stop anything.
type List []*Problem

// Errors gives the problems that are no warnings.
func (l List) Errors() List { return l.only(false) }

// Warnings gives the warnings.
func (l List) Warnings() List { return l.only(true) }

func (l List) only(warning bool) List {
	var out List
	for _, p := range l {
		if p.Warning == warning {
			out = append(out, p)
		}
	}
	return out
}

// Err joins the errors into one, or gives nil when there is none. errors.As
// finds the first Problem in it.
func (l List) Err() error {
	var errs []error
	for _, p := range l.Errors() {
		if p.Place == nil {
			errs = append(errs, p)
			continue
		}
		errs = append(errs, fmt.Errorf("%s:%d:%d: %w", p.Place.File, p.Place.Line, p.Place.Col, p))
	}
	return errors.Join(errs...)
}
