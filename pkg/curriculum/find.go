package curriculum

import (
	"io/fs"
	"strings"
	"sync"

	"lab/labs"
	"lab/pkg/problem"
)

// builtIn are the labs that are compiled in, by their folders' order.
var builtIn = sync.OnceValues(func() ([]*Lab, error) { return LoadAll(labs.FS) })

// LoadAll reads every folder of fsys that looks like a lab ("08-xds").
func LoadAll(fsys fs.FS) ([]*Lab, error) {
	dirs, err := fs.Glob(fsys, "[0-9][0-9]-*")
	if err != nil {
		return nil, err
	}
	var out []*Lab
	for _, d := range dirs { // Glob sorts
		lab, problems := Load(fsys, d)
		if err := problems.Err(); err != nil {
			return nil, err
		}
		out = append(out, lab)
	}
	return out, nil
}

// All gives the labs that are compiled in.
func All() ([]*Lab, error) { return builtIn() }

// Find gives one of them by its folder's name or its number ("08-xds", "08",
// "8").
func Find(name string) (*Lab, error) {
	all, err := builtIn()
	if err != nil {
		return nil, err
	}
	var have []string
	for _, l := range all {
		number, _, _ := strings.Cut(l.ID, "-")
		if name == l.ID || name == number || name == strings.TrimLeft(number, "0") {
			return l, nil
		}
		have = append(have, l.ID)
	}
	return nil, problem.New("curriculum.no-lab", problem.Args{"Name": name, "Have": strings.Join(have, ", ")}).
		WithExit(problem.Usage)
}
