package cli

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"github.com/spf13/cobra"

	"lab/pkg/curriculum"
	"lab/pkg/problem"
)

var labName = regexp.MustCompile(`^[0-9]{2}-[a-z][a-z0-9-]*$`)

// newDevNew writes the files of a new lab into one folder and touches nothing
// else.
func newDevNew(f *Factory) *cobra.Command {
	return leaf(f, "dev-new", "new NN-NAME", exactly(1), func(_ *cobra.Command, args []string) error {
		if !labName.MatchString(args[0]) {
			return usage("cli.lab-name", problem.Args{"Name": args[0]})
		}
		dir := filepath.Join("labs", args[0])
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			return problem.New("cli.lab-exists", problem.Args{"Dir": dir})
		}
		files, err := curriculum.Skeleton()
		if err != nil {
			return err
		}
		for _, name := range sortedKeys(files) {
			path := filepath.Join(dir, filepath.FromSlash(name))
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // source files
				return problem.New("session.unwritable", problem.Args{"File": dir, "Error": err.Error()}).Wrap(err)
			}
			if err := os.WriteFile(path, files[name], 0o644); err != nil { //nolint:gosec // source files
				return problem.New("session.unwritable", problem.Args{"File": path, "Error": err.Error()}).Wrap(err)
			}
		}
		return f.Result(map[string]any{"version": 1, "dir": dir, "files": sortedKeys(files)}, func() {
			f.say(f.IO.Out, f.T("dev.new.done", map[string]any{"Dir": dir, "Name": args[0], "Count": len(files)}))
		})
	})
}
