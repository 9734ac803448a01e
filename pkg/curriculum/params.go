package curriculum

import (
	"hash/fnv"
	"math/rand/v2"
	"strconv"

	"lab/checks"
	"lab/pkg/problem"
)

// Param is a value that the seed of a run chooses, so that an answer copied
// from another run is wrong: one of Choose, or an integer.
type Param struct {
	Choose  []string `yaml:"choose"`
	Integer *struct {
		Min int64 `yaml:"min"`
		Max int64 `yaml:"max"`
	} `yaml:"integer"`

	name string
	line int
}

// Params gives the values for a seed. The same seed always gives the same, and
// a param that is added to a lab changes no other.
func (l *Lab) Params(seed int64) map[string]string {
	out := make(map[string]string, len(l.params))
	for _, p := range l.params {
		h := fnv.New64a()
		_, _ = h.Write([]byte(p.name))
		r := rand.New(rand.NewPCG(uint64(seed), h.Sum64())) //nolint:gosec // no secret
		if p.Integer != nil {
			out[p.name] = strconv.FormatInt(p.Integer.Min+r.Int64N(p.Integer.Max-p.Integer.Min+1), 10)
			continue
		}
		out[p.name] = p.Choose[r.IntN(len(p.Choose))]
	}
	return out
}

func (p Param) kind() checks.ParamType {
	if p.Integer != nil {
		return checks.IntParam
	}
	return checks.StringParam
}

func (l *Lab) paramTypes() map[string]checks.ParamType {
	out := map[string]checks.ParamType{}
	for _, p := range l.params {
		out[p.name] = p.kind()
	}
	return out
}

// checkParams makes sure that Params cannot fail.
func (l *loader) checkParams(lab *Lab) {
	first := false
	for _, p := range lab.params {
		first = first || p.name == FirstVersion && p.Integer != nil
		good := len(p.Choose) > 0 && p.Integer == nil
		if i := p.Integer; i != nil {
			good = len(p.Choose) == 0 && i.Min <= i.Max && i.Max-i.Min+1 > 0
		}
		if !good {
			l.fail("curriculum.param", problem.Place{File: "lab.yaml", Line: p.line}, problem.Args{"Name": p.name})
		}
	}
	if !first {
		l.fail("curriculum.missing", problem.Place{File: "lab.yaml"}, problem.Args{"What": "params." + FirstVersion})
	}
}
