package hook

import (
	"fmt"
	"sort"
	"strconv"
	"strings"
	"sync"
)

// RecordMark begins every record of what was woven, in memory and in the
// program's file. The other marks begin the lines that may follow.
const (
	RecordMark     = "podstep:woven"
	KubernetesMark = "podstep:kubernetes"
	MisfitMark     = "podstep:misfit"
)

// Package is what the weaver did to one package.
type Package struct {
	// Path is the import path.
	Path string
	// Hash is probes.Catalogue.PackageHash of the catalogue it was woven with.
	Hash string
	// Kubernetes is the version of Kubernetes for which it was woven. Empty: the catalogue's own.
	Kubernetes string
	// Steps are the steps in this package, by name.
	Steps map[string]Step
	// Misfits are what was left out, because it does not fit that version.
	Misfits []Misfit
}

// Misfit is what does not fit a kubelet.
type Misfit struct {
	Step string
	// Part of the step: one of those of package probes.
	Part string
	Why  string
}

// PartsOf returns the parts that do not fit, by the step's name.
func PartsOf(misfits []Misfit) map[string][]string {
	parts := map[string][]string{}
	for _, m := range misfits {
		parts[m.Step] = append(parts[m.Step], m.Part)
	}
	return parts
}

// Step is what woven code knows of a step.
type Step struct {
	ID int
	// Fails is set if the function returns an error, so that it can be made to fail.
	Fails bool
	// Sum identifies the code of the function that the hook was woven into.
	Sum string
}

var registered struct {
	sync.Mutex
	records []string
}

// RegisterPackage is called by woven code as the program starts, perhaps before
// this package is initialised.
//
// Its name stands for how woven code calls Enter, Leave, Quiet and put. If that changes, the name must change: then
// a package that an older weaver wove does not link with this hook, where it would call it with wrong arguments.
func RegisterPackage(record string) {
	registered.Lock()
	defer registered.Unlock()
	registered.records = append(registered.records, record)
}

// Woven returns what was woven into this program, by import path.
func Woven() ([]Package, error) {
	registered.Lock()
	defer registered.Unlock()
	out := make([]Package, 0, len(registered.records))
	for _, r := range registered.records {
		p, err := ParseRecord(r)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Path < out[j].Path })
	return out, nil
}

// ParseRecord reads a record. Its first line has the mark, import path, hash, and name=id:sum of each step, with a ! behind
// the id if it can fail. Of a package that was woven for another version there are more lines: one with the version, and
// one for each misfit, with its step, its part and the reason.
func ParseRecord(record string) (Package, error) {
	first, rest, _ := strings.Cut(strings.TrimSpace(record), "\n")
	words := strings.Fields(first)
	if len(words) < 3 || words[0] != RecordMark {
		return Package{}, fmt.Errorf("read what was woven: bad record %q", record)
	}
	p := Package{Path: words[1], Hash: words[2], Steps: map[string]Step{}}
	for _, w := range words[3:] {
		name, id, _ := strings.Cut(w, "=")
		id, sum, _ := strings.Cut(id, ":")
		id, fails := strings.CutSuffix(id, "!")
		n, err := strconv.Atoi(id)
		if err != nil || n < 0 || n >= MaxSteps {
			return Package{}, fmt.Errorf("read what was woven into %s: bad step %q", p.Path, w)
		}
		p.Steps[name] = Step{n, fails, sum}
	}
	for line := range strings.Lines(rest) {
		words := strings.SplitN(strings.TrimSpace(line), " ", 4)
		switch {
		case words[0] == KubernetesMark && len(words) == 2:
			p.Kubernetes = words[1]
		case words[0] == MisfitMark && len(words) == 4:
			p.Misfits = append(p.Misfits, Misfit{words[1], words[2], words[3]})
		default:
			return Package{}, fmt.Errorf("read what was woven into %s: bad line %q", p.Path, line)
		}
	}
	return p, nil
}
