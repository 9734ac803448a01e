package snapshot

import (
	"regexp"
	"strings"
)

// Blame guesses which resources of a type the text of a NACK is about. Envoy
// names a resource in some texts, dumps it in others, and says nothing in a
// third kind; the wording changes from version to version. So the result is
// good for display only, and may be empty.
func (s *Set) Blame(typ, message string) []Resource {
	var sure, maybe, all []Resource
	for _, r := range s.Resources {
		if r.Type != typ && r.TypeURL != typ {
			continue
		}
		all = append(all, r)
		quoted := regexp.QuoteMeta(r.Name)
		switch {
		case matches(`\(s\):? (?:[^\n]*, )?`+quoted+`: `, message), matches(`name: +"`+quoted+`"`, message):
			sure = append(sure, r)
		case matches(`(?:^|[^\w.-])`+quoted+`(?:$|[^\w.-]|\.(?:$|\s))`, message):
			maybe = append(maybe, r)
		}
	}
	switch {
	case len(sure) > 0:
		return sure
	case len(maybe) > 0:
		return maybe
	case len(all) == 1 && strings.TrimSpace(message) != "":
		return all
	}
	return nil
}

func matches(pattern, text string) bool {
	ok, err := regexp.MatchString(pattern, text)
	return err == nil && ok
}
