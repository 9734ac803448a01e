package checks

import "strings"

// Normalise makes answers comparable: full-width digits, letters and signs
// become ASCII, case is folded, quotation marks and white space around and a
// full stop behind are dropped, white space within is one blank.
func Normalise(answer string) string {
	s := strings.Map(func(r rune) rune {
		switch {
		case r >= '！' && r <= '～': // the full-width forms of ! to ~
			return r - '！' + '!'
		case r == '　':
			return ' '
		}
		return r
	}, answer)
	s = strings.ToLower(s)
	for {
		before := s
		s = strings.TrimSpace(s)
		s = strings.Trim(s, "\"'`“”‘’«»„「」『』")
		s = strings.TrimRight(s, ".。")
		if s == before {
			break
		}
	}
	return strings.Join(strings.Fields(s), " ")
}

// same compares an answer with a right one. Numbers are equal by value, so
// that 007 is 7.
func same(answer, right string) bool {
	a, b := Normalise(answer), Normalise(right)
	return a == b || integer(a) != "" && integer(a) == integer(b)
}

// integer is a decimal number without leading zeros, "" where s is none.
func integer(s string) string {
	sign := ""
	if rest, ok := strings.CutPrefix(s, "-"); ok {
		sign, s = "-", rest
	}
	if s == "" || strings.Trim(s, "0123456789") != "" {
		return ""
	}
	if s = strings.TrimLeft(s, "0"); s == "" {
		return "0"
	}
	return sign + s
}
