// Package memory makes the tables of probes/memory from the types of a kubelet. They say how a
// probe without a compiler reads each field of the catalogue.
package memory

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/memory"
)

var minor = regexp.MustCompile(`^v\d+\.\d+`)

// Write writes the table of the kubelet that a module requires into a directory. The table of
// v1.36.3 is v1.36.tsv.
func Write(into, module string) error {
	version, table, err := generate(module)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(into, minor.FindString(version)+".tsv"), []byte(table), 0o644)
}

// generate makes the table for the catalogue's steps from the kubelet that a module requires.
func generate(dir string) (version, table string, err error) {
	c, err := probes.Load()
	if err != nil {
		return "", "", err
	}
	required, err := requiredModules(dir)
	if err != nil {
		return "", "", err
	}
	s, err := load(dir, c.In(required["k8s.io/kubernetes"]), required)
	if err != nil {
		return "", "", err
	}
	kubelet := s.listed["k8s.io/kubernetes/pkg/kubelet"]
	if kubelet == nil || kubelet.Module == nil || minor.FindString(kubelet.Module.Version) == "" {
		return "", "", errors.New("the module has no kubelet of a version")
	}
	g := generator{source: s}
	for i := range s.catalogue.Steps {
		step := &s.catalogue.Steps[i]
		if err := g.step(step); err != nil {
			return "", "", fmt.Errorf("step %s: %w", step.Name, err)
		}
	}
	if err := g.errors(); err != nil {
		return "", "", err
	}
	g.writeLocks()
	return kubelet.Module.Version, memory.Format(kubelet.Module.Version, sum(c), g.lines), nil
}

// sum returns a sum of the parts of the catalogue that a table is made from.
func sum(c *probes.Catalogue) string {
	h := sha256.New()
	for i := range c.Steps {
		s := &c.Steps[i]
		for _, f := range s.Formerly {
			fmt.Fprintln(h, f)
		}
		fmt.Fprintln(h, s.Name, s.Symbol, s.Closure, s.Pod.Kind, s.Pod.Read(), s.Pod.Exit, s.Pod.Updates, s.Quiet, s.QuietMemory)
		for _, f := range append(slices.Clone(s.Fields), s.Results...) {
			fmt.Fprintln(h, f.Name, f.Read())
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// generator writes the lines of a table.
type generator struct {
	*source
	lines []string
}

func (g *generator) line(step *probes.Step, side memory.Side, name string, v memory.Value) {
	g.lines = append(g.lines, memory.Line(step.Name, side, name, v))
}

// without writes the values of a step that this version of the kubelet does not have.
func (g *generator) without(step *probes.Step) {
	for _, f := range step.Fields {
		g.line(step, memory.Enter, f.Name, memory.Value{None: memory.Missing})
	}
	for _, f := range step.Results {
		g.line(step, memory.Exit, f.Name, memory.Value{None: memory.Missing})
	}
}

func (g *generator) step(step *probes.Step) error {
	if step.Outside() {
		for _, f := range step.Fields {
			g.line(step, memory.Enter, f.Name, memory.Value{None: memory.Outside})
		}
		return nil
	}
	fn := g.functions[step]
	if fn == nil {
		g.without(step)
		return nil
	}
	enter, err := g.variables(fn, false)
	if err != nil {
		return err
	}
	exit, err := g.variables(fn, true)
	if err != nil {
		return err
	}
	pod := enter
	if step.Pod.Exit {
		pod = exit
	}
	g.pod(step, pod)
	for _, f := range step.Fields {
		g.line(step, memory.Enter, f.Name, enter.form(f.Read()))
	}
	for _, f := range step.Results {
		g.line(step, memory.Exit, f.Name, exit.form(f.Read()))
	}
	g.err(step, exit)
	g.quiet(step, exit)
	g.symbol(step, fn)
	size := func(a arch) int { return int(a.frame(g.sizes, enter.params, enter.results)) }
	shape := memory.Shape{Line: g.fset.Position(fn.typ.Pos()).Line, AMD64: size(amd64), ARM64: size(arm64)}
	g.line(step, memory.Symbol, memory.Function, memory.Value{Words: shape.String()})
	return nil
}
