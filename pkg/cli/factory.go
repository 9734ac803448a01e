package cli

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"lab/pkg/problem"
	"lab/pkg/report"
	"lab/pkg/session"
	"lab/pkg/term"
	"lab/pkg/words"
)

// Factory is what every command needs. The flags are set when a command runs.
type Factory struct {
	IO     *term.IO
	Prefix string // what a person types before a command: "lab", "go run ./cmd/lab"

	dir     string
	output  string
	lang    string
	color   string
	noInput bool

	langOf map[string]string // --dir -> language of its run
}

// Lang is the language to speak: the flag, LAB_LANG, that of the run, the
// system's.
func (f *Factory) Lang() string {
	for _, l := range []string{f.lang, os.Getenv("LAB_LANG"), f.runLang(), os.Getenv("LC_ALL"), os.Getenv("LC_MESSAGES"), os.Getenv("LANG")} {
		if l = strings.ToLower(l); strings.HasPrefix(l, "zh") {
			return "zh"
		} else if l != "" {
			return "en"
		}
	}
	return "en"
}

func (f *Factory) runLang() string {
	if lang, known := f.langOf[f.dir]; known { // every message asks
		return lang
	}
	lang := ""
	if folder, err := f.Folder(); err == nil {
		if run, err := folder.Load(); err == nil {
			lang = run.Lang
		}
	}
	if f.langOf == nil {
		f.langOf = map[string]string{}
	}
	f.langOf[f.dir] = lang
	return lang
}

// Words says things in Lang.
func (f *Factory) Words() *words.Words { return words.For(f.Lang()) }

// Folder is the run that the command is about.
func (f *Factory) Folder() (session.Folder, error) {
	wd, err := os.Getwd()
	if err != nil { // the working folder was deleted: the last active run is meant
		wd = "/"
	}
	return session.Locate(f.dir, wd)
}

// Client talks to the session of the run.
func (f *Factory) Client() (*session.Client, error) {
	folder, err := f.Folder()
	if err != nil {
		return nil, err
	}
	return session.NewClient(folder), nil
}

// ask is whom the session talks to.
func (f *Factory) ask() session.Ask { return session.Ask{Lang: f.Lang(), Command: f.Prefix} }

// JSON tells whether -o json was asked for.
func (f *Factory) JSON() bool { return f.output == "json" }

// Result prints a result: as one JSON document, or as text.
func (f *Factory) Result(v any, text func()) error {
	if f.JSON() {
		return report.JSON(f.IO.Out, v)
	}
	text()
	return nil
}

// T is a text of the command line.
func (f *Factory) T(id string, args map[string]any) string {
	if args == nil {
		args = map[string]any{}
	}
	args["Lab"] = f.Prefix
	return f.Words().T(id, args)
}

// exit ends a command with a status and no further word.
type exit struct{ status problem.Exit }

func (e exit) Error() string { return "exit" }

// status turns an exit status into what RunE returns.
func status(e problem.Exit) error {
	if e == problem.Passed {
		return nil
	}
	return exit{e}
}

// prefix tells what a person has to type to run this program again.
func prefix(arg0 string) string {
	if self, err := os.Executable(); err == nil && strings.Contains(self, string(filepath.Separator)+"go-build") {
		return "go run ./cmd/lab"
	}
	if !strings.ContainsRune(arg0, filepath.Separator) {
		return filepath.Base(arg0)
	}
	return arg0
}

// usage is a problem with how a command was typed.
func usage(code string, args problem.Args) error {
	return problem.New(code, args).WithExit(problem.Usage)
}

// noArgs refuses arguments in lab's words.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage("cli.no-args", problem.Args{"Command": cmd.CommandPath(), "Arg": args[0]})
	}
	return nil
}
