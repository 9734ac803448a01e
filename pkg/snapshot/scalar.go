package snapshot

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// The kinds of scalar that Envoy's YAML reader tells apart. A number that is
// no integer stays text until a field says that it wants a number.
type kind int

const (
	null kind = iota
	boolean
	integer // within int32; a larger one becomes text with decimal digits
	text
)

// scalar is a YAML scalar as Envoy reads it.
type scalar struct {
	kind kind
	b    bool
	i    int64
	s    string
}

const quotedStyles = yaml.DoubleQuotedStyle | yaml.SingleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle

var (
	nullWords = []string{"", "~", "null", "Null", "NULL"}
	boolWords = map[string]bool{
		"y": true, "yes": true, "true": true, "on": true,
		"n": false, "no": false, "false": false, "off": false,
	}
)

// readScalar follows the order of Envoy 1.40: null, bool word, integer, text.
// Quotes make text, and so does the tag "!"; any other tag, even !!str, brings
// the guessing back.
func readScalar(n *yaml.Node) scalar {
	tagged := n.Style&yaml.TaggedStyle != 0
	switch {
	case n.Tag == "!":
		return scalar{kind: text, s: n.Value}
	case !tagged && n.Style&quotedStyles != 0:
		return scalar{kind: text, s: n.Value}
	case !tagged && slices.Contains(nullWords, n.Value):
		return scalar{kind: null}
	}
	if b, ok := boolWord(n.Value); ok {
		return scalar{kind: boolean, b: b, s: n.Value}
	}
	if i, ok := cInteger(n.Value); ok {
		if i < math.MinInt32 || i > math.MaxInt32 {
			return scalar{kind: text, s: strconv.FormatInt(i, 10)}
		}
		return scalar{kind: integer, i: i, s: n.Value}
	}
	return scalar{kind: text, s: n.Value}
}

// boolWord knows the YAML 1.1 words in lower case, UPPER CASE and Capitalised.
func boolWord(s string) (value, ok bool) {
	if len(s) == 0 || len(s) > len("false") {
		return false, false
	}
	low := strings.ToLower(s)
	value, ok = boolWords[low]
	return value, ok && (s == low || s == strings.ToUpper(s) || s == strings.ToUpper(low[:1])+low[1:])
}

// cInteger reads an integer as C does with base 0: 0x is hexadecimal, a leading
// 0 octal. Go's own base 0 also takes 0b, 0o and underscores.
func cInteger(s string) (int64, bool) {
	s = strings.TrimRight(s, " \t\n\v\f\r") // Envoy lets white space follow, not lead
	digits, sign := s, ""
	if s != "" && (s[0] == '-' || s[0] == '+') {
		sign, digits = s[:1], s[1:]
	}
	if digits == "" || digits[0] < '0' || digits[0] > '9' {
		return 0, false
	}
	base := 10
	if digits[0] == '0' && len(digits) > 1 {
		base = 8
		if digits[1] == 'x' || digits[1] == 'X' {
			base, digits = 16, digits[2:]
		}
	}
	if digits == "" || digits[0] == '+' || digits[0] == '-' {
		return 0, false
	}
	i, err := strconv.ParseInt(sign+digits, base, 64)
	return i, err == nil
}

// decimal reads a text as a number in the way of Envoy's JSON reader: decimal
// or hexadecimal (with or without exponent), inf and nan, surrounded by white
// space or not.
func decimal(s string) (float64, bool) {
	s = strings.Trim(s, " \t\n\v\f\r")
	body := strings.TrimPrefix(s, "+")
	if body != s && strings.HasPrefix(body, "-") {
		return 0, false
	}
	neg := strings.HasPrefix(body, "-")
	body = strings.TrimPrefix(body, "-")
	if body == "" || strings.ContainsAny(body, "_+-") && !exponentSign(body) || strings.HasPrefix(body, "+") {
		return 0, false
	}
	if low := strings.ToLower(body); strings.HasPrefix(low, "0x") && !strings.Contains(low, "p") {
		body += "p0"
	}
	f, err := strconv.ParseFloat(body, 64)
	if err != nil && !math.IsInf(f, 0) {
		return 0, false
	}
	if neg {
		f = -f
	}
	return f, true
}

// exponentSign tells whether the only sign in a number stands in its exponent.
func exponentSign(s string) bool {
	i := strings.IndexAny(s, "+-")
	return i > 0 && !strings.Contains(s, "_") && strings.Count(s, "+")+strings.Count(s, "-") == 1 &&
		strings.ContainsRune("eEpP", rune(s[i-1]))
}
