//go:build linux && amd64

package delve

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/go-delve/delve/pkg/locspec"
	"github.com/go-delve/delve/pkg/proc"

	"github.com/podstep/podstep/probes/inside/park"
	"github.com/podstep/podstep/probes/pclntab"
)

// finder looks for places in the code while the kubelet runs. It works in podstep's own process: nothing that a person
// writes may end the debugger process. It uses the table that Go's runtime has for its own stack traces, which
// stripped kubelets have too.
type finder struct {
	options Options

	mu      sync.Mutex
	program *park.Program // nil until the first question
}

// find finds FUNCTION, FUNCTION:LINE or FILE:LINE.
func (f *finder) find(at string) ([]Found, error) {
	if f.options.Remote != "" {
		return nil, errRemoteLines
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.program == nil {
		program, err := park.Open(f.options.PID)
		if err != nil {
			return nil, err
		}
		f.program = program
	}
	return findPlaces(f.program, at)
}

// close lets go of the kubelet's program.
func (f *finder) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.program != nil {
		f.program.Close()
		f.program = nil
	}
}

// mostFound bounds the places of one breakpoint: the compiler may have put a line into many
// functions.
const mostFound = 64

// findPlaces finds FUNCTION, FUNCTION:LINE or FILE:LINE.
func findPlaces(program *park.Program, at string) ([]Found, error) {
	spec, err := locspec.Parse(at)
	if err != nil {
		return nil, err
	}
	normal, ok := spec.(*locspec.NormalLocationSpec)
	if !ok {
		return nil, fmt.Errorf("%q is no place that podstep looks for: write FUNCTION, FUNCTION:LINE or FILE:LINE", at)
	}
	if normal.LineOffset >= 0 && strings.HasSuffix(normal.Base, ".go") {
		return findLine(program, normal.Base, normal.LineOffset)
	}
	f, err := findFunction(program, normal)
	if err != nil {
		return nil, err
	}
	if normal.LineOffset > 0 {
		return findInFunction(program, f, f.Line()+normal.LineOffset)
	}
	place, why := program.Begin(f)
	if why != nil {
		return nil, fmt.Errorf("no goroutine can be held as %s is entered: %w", f.Name, why)
	}
	return []Found{{Frame{f.Name, f.File(), f.Line()}, place.Address}}, nil
}

// findFunction finds the one function that a name means.
func findFunction(program *park.Program, spec *locspec.NormalLocationSpec) (*pclntab.Func, error) {
	if f, ok := program.ByName(spec.Base); ok {
		return f, nil
	}
	var all []*pclntab.Func
	for f := range program.All() {
		if matches(spec, f.Name) {
			all = append(all, f)
		}
	}
	switch len(all) {
	case 0:
		return nil, fmt.Errorf("the kubelet has no function %s of its own: write PACKAGE.FUNCTION or PACKAGE.(*TYPE).METHOD; one that the compiler has put into all its callers can be named by FILE:LINE", spec.Base)
	case 1:
		return all[0], nil
	}
	var names []string
	const few = 5
	for _, f := range all[:min(len(all), few)] {
		names = append(names, f.Name)
	}
	if len(all) > few {
		names = append(names, "...")
	}
	return nil, fmt.Errorf("%s is %d functions: %s", spec.Base, len(all), strings.Join(names, ", "))
}

// matches reports whether a name means a function, by Delve's rules. Delve's syntax has no names of function
// literals: of these the end of the name is given.
func matches(spec *locspec.NormalLocationSpec, name string) bool {
	if strings.HasSuffix(name, "/"+spec.Base) {
		return true
	}
	if spec.FuncBase == nil || !strings.HasSuffix(name, spec.FuncBase.BaseName) {
		return false
	}
	return spec.FuncBase.Match(&proc.Function{Name: name}, nil)
}

// findInFunction finds where a line of a function begins.
func findInFunction(program *park.Program, f *pclntab.Func, number int) ([]Found, error) {
	out, near, err := linesOf(program, f, f.File(), number)
	if err != nil || len(out) > 0 {
		return out, err
	}
	return nil, noLine(f.File(), number, near)
}

// findLine finds where a line of a file begins, in all functions that it is in.
func findLine(program *park.Program, file string, number int) (out []Found, err error) {
	var near []int
	seen := false
	for f := range program.All() {
		for of := range f.Files() {
			if of != file && !strings.HasSuffix(of, "/"+file) {
				continue
			}
			seen = true
			found, others, err := linesOf(program, f, of, number)
			if err != nil {
				continue // its code cannot be read: assembly
			}
			out, near = append(out, found...), append(near, others...)
			break
		}
	}
	switch {
	case !seen:
		return nil, fmt.Errorf("the kubelet has no code of a file %s", file)
	case len(out) == 0:
		return nil, noLine(file, number, near)
	case len(out) > mostFound:
		return nil, fmt.Errorf("%s:%d is in %d places: the compiler has put it into many functions", file, number, len(out))
	}
	return out, nil
}

// linesOf returns the places of a line in a function. If there are none, near has the lines that have places.
func linesOf(program *park.Program, f *pclntab.Func, file string, number int) (out []Found, near []int, err error) {
	has := false
	for l := range f.Lines() {
		if l.File == file {
			near = append(near, l.Number)
			has = has || l.Number == number
		}
	}
	if !has {
		return nil, near, nil
	}
	if f.File() == file && f.Line() == number {
		if place, why := program.Begin(f); why == nil {
			return []Found{{Frame{f.Name, file, number}, place.Address}}, nil, nil
		}
	}
	all, err := program.Lines(f)
	near = near[:0]
	for _, l := range all {
		if l.File != file {
			continue
		}
		if !program.Breakable(l.Address) {
			continue
		}
		near = append(near, l.Number)
		if l.Number == number {
			out = append(out, Found{Frame{f.Name, file, number}, l.Address})
		}
	}
	return out, near, err
}

// noLine returns the error that no pod can be held at a line, with the lines near it at which one can.
func noLine(file string, number int, near []int) error {
	slices.SortFunc(near, func(a, b int) int { return max(a-number, number-a) - max(b-number, number-b) })
	near = slices.Compact(near)
	var names []string
	for _, n := range near[:min(len(near), 4)] {
		names = append(names, fmt.Sprint(n))
	}
	return fmt.Errorf("no goroutine can be held at line %d of %s: it has no code of its own, or is no place to stop at; the nearest lines are %s", number, file, strings.Join(names, ", "))
}
