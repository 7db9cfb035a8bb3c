package weave

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"

	"github.com/podstep/podstep/probes"
)

// Mark is the compiler flag by which the go command knows that a package
// is to be woven, and what its result depends on. It is taken out before the
// compiler sees it. See Command.
const Mark = "-podstep-weave"

// markVersion stands in Mark before the version of Kubernetes, if the package is woven for another one than the catalogue's.
const markVersion = "@"

// Toolexec is run by the go command in place of each of its tools, with the
// tool and its arguments. It returns the exit code.
//
// With marked, a package is woven if its flags carry Mark: the go command then
// counts the mark among what the package depends on, and everything else keeps
// its place in the build cache. Without, every package of the catalogue is
// woven, and the compiler gives itself another version, so that everything is
// built anew.
//
// The catalogue is loaded only where it is needed: of the thousands of calls in
// a build most are for packages that have no step, and loading takes longer
// than the compiler needs for a small package.
func Toolexec(load func() *probes.Catalogue, marked bool, tool string, args []string) int {
	cmd := compile{tool: tool, args: args}
	switch {
	case !IsCompiler(tool):
		return run(tool, args, os.Stdout)
	case IsVersion(args):
		return version(load, marked, tool, args)
	}
	weave, version := cmd.takeMark()
	if weave || !marked {
		cmd.catalogue = load()
	}
	if version != "" {
		cmd.version, cmd.catalogue = version, cmd.catalogue.In(version)
	}
	if !marked {
		weave = len(cmd.catalogue.Packages()[cmd.flag("-p")]) > 0
	}
	if !weave {
		return run(tool, cmd.args, os.Stdout)
	}
	code, err := cmd.woven()
	if err != nil {
		fmt.Fprintf(os.Stderr, "podstep-weave: %v\n", err)
		return 1
	}
	return code
}

// IsCompiler reports whether a tool of the go command is the Go compiler.
func IsCompiler(tool string) bool {
	return strings.TrimSuffix(filepath.Base(tool), ".exe") == "compile"
}

// IsVersion reports whether the arguments of a tool only ask for its version.
func IsVersion(args []string) bool {
	return len(args) == 1 && strings.HasPrefix(args[0], "-V")
}

// version answers the go command's question for the compiler's version.
func version(load func() *probes.Catalogue, marked bool, tool string, args []string) int {
	out, err := exec.Command(tool, args...).Output()
	if err != nil {
		return exitCode(err)
	}
	line := strings.TrimRight(string(out), "\n")
	if !marked {
		line += " podstep-" + Version(load())
	}
	fmt.Println(line)
	return 0
}

// compile is one call of the compiler.
type compile struct {
	catalogue *probes.Catalogue
	version   string // of Kubernetes; empty: the catalogue's own
	tool      string
	args      []string
}

// takeMark removes Mark from the arguments. It reports whether it was there, and which version of Kubernetes it named.
func (c *compile) takeMark() (found bool, version string) {
	kept := c.args[:0:0]
	for _, a := range c.args {
		if a == Mark || strings.HasPrefix(a, Mark+"=") {
			found = true
			_, version, _ = strings.Cut(a, markVersion)
			continue
		}
		kept = append(kept, a)
	}
	c.args = kept
	return found, version
}

// flag returns the value of a flag that takes one.
func (c *compile) flag(name string) string {
	for i, a := range c.args {
		if a == name && i+1 < len(c.args) {
			return c.args[i+1]
		}
		if v, ok := strings.CutPrefix(a, name+"="); ok {
			return v
		}
	}
	return ""
}

// woven compiles the package with the hook in it. If the package is of another version, and expressions do not compile
// there, it is compiled again without them.
func (c *compile) woven() (int, error) {
	path := c.flag("-p")
	out := c.flag("-o")
	if out == "" {
		return 0, fmt.Errorf("weave %s: the compiler is called without -o", path)
	}
	first := c.firstFile()
	files, err := c.read(first)
	if err != nil {
		return 0, err
	}
	dir := filepath.Join(filepath.Dir(out), "podstep")
	t := Target{Path: path, Hash: c.catalogue.PackageHash(path), Version: c.version, Steps: c.catalogue.Packages()[path]}
	if t.Version != "" {
		t.Misfits = changed(t.Steps, t.Version)
	}
	for {
		w, stdout, code, err := c.compile(t, files, first, dir)
		if err != nil {
			return 0, err
		}
		if code != 0 && t.Version != "" {
			found, err := c.misfits(t, files, first, dir+"-misfits")
			if err != nil {
				return 0, err
			}
			if len(found) > 0 {
				t.Misfits = append(t.Misfits, found...)
				continue
			}
		}
		if _, err := os.Stdout.Write(stdout); err != nil {
			return 0, fmt.Errorf("write what the compiler wrote: %w", err)
		}
		if code != 0 {
			explain(os.Stderr, w, string(stdout))
		}
		return code, nil
	}
}

// compile weaves the package and runs the compiler once. It returns what the compiler wrote, and its exit code.
func (c *compile) compile(t Target, files []File, first int, dir string, more ...string) (w *Woven, stdout []byte, code int, err error) {
	if w, err = Package(t, files); err != nil {
		return nil, nil, 0, err
	}
	args, err := c.replace(w, files, first, dir)
	if err != nil {
		return nil, nil, 0, err
	}
	var out bytes.Buffer
	code = run(c.tool, append(more, args...), &out)
	return w, out.Bytes(), code, nil
}

// firstFile is the index of the first source file: all files come last.
func (c *compile) firstFile() int {
	i := len(c.args)
	for i > 0 && strings.HasSuffix(c.args[i-1], ".go") {
		i--
	}
	return i
}

func (c *compile) read(first int) ([]File, error) {
	var files []File
	for _, name := range c.args[first:] {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("read source: %w", err)
		}
		abs, err := filepath.Abs(name)
		if err != nil {
			return nil, fmt.Errorf("read source: %w", err)
		}
		files = append(files, File{abs, text})
	}
	return files, nil
}

// replace writes the woven files into dir and returns the arguments that
// compile them. -complete would promise that every function has a body.
func (c *compile) replace(w *Woven, files []File, first int, dir string) ([]string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("write woven source: %w", err)
	}
	var args []string
	for _, a := range c.args[:first] {
		if a != "-complete" {
			args = append(args, a)
		}
	}
	write := func(name string, text []byte) error {
		name = filepath.Join(dir, name)
		args = append(args, name)
		return os.WriteFile(name, text, 0o644)
	}
	for i, f := range files {
		text, changed := w.Files[f.Name]
		if !changed {
			args = append(args, c.args[first+i])
			continue
		}
		if err := write(filepath.Base(f.Name), text); err != nil {
			return nil, fmt.Errorf("write woven source: %w", err)
		}
	}
	if err := write("podstep_glue.go", w.Glue); err != nil {
		return nil, fmt.Errorf("write woven source: %w", err)
	}
	// The go command lets the compiler use all cores only if it knows all its
	// flags, and it does not know Mark.
	if c.flag("-c") == "" {
		args = append([]string{"-c=" + strconv.Itoa(min(4, runtime.GOMAXPROCS(0)))}, args...)
	}
	return args, nil
}

// compilerError is a line of the compiler that names a place.
var compilerError = regexp.MustCompile(`(?m)^(.+?\.go):(\d+):(?:\d+:)? (.*)$`)

// explain names the steps that are behind errors of the compiler in lines where
// the hook was woven in: mostly an expression of the catalogue that does not
// fit this kubelet.
func explain(to io.Writer, w *Woven, stdout string) {
	for _, m := range compilerError.FindAllStringSubmatch(stdout, -1) {
		line, _ := strconv.Atoi(m[2])
		for place, step := range w.Lines {
			if place.Line == line && filepath.Base(place.File) == filepath.Base(m[1]) {
				fmt.Fprintf(to, "podstep-weave: step %q does not fit this kubelet's %s: %s\n", step.Name, step.Symbol, m[3])
			}
		}
	}
}

// run runs a tool. The compiler says what is wrong on its standard output.
func run(tool string, args []string, stdout io.Writer) int {
	cmd := exec.Command(tool, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		if exitCode(err) < 0 {
			fmt.Fprintf(os.Stderr, "podstep-weave: run %s: %v\n", tool, err)
			return 1
		}
		return exitCode(err)
	}
	return 0
}

// exitCode is the exit code behind an error of exec, or -1.
func exitCode(err error) int {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	return -1
}
