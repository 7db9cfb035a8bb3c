package probes

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strconv"
)

// Former is what a step's function was called in kubelets of older minor versions. Its arguments and results need not be
// those of today: the tables of package memory have what is there.
type Former struct {
	// Until is the last minor version that calls it so, such as v1.30.
	Until string `yaml:"until"`
	// Symbol is like that of the step. File is, too; empty: the step's.
	Symbol string `yaml:"symbol"`
	File   string `yaml:"file"`
}

// Later is what a step's function literal is called in kubelets of newer minor versions.
type Later struct {
	// From is the first minor version that calls it so, such as v1.37.
	From string `yaml:"from"`
	// Closure is like that of the step.
	Closure string `yaml:"closure"`
}

// In returns the catalogue for a kubelet of a version such as v1.28.15 or v1.28.15+k3s1: its functions have the names
// that they have there. A version that cannot be read is the catalogue's own.
func (c *Catalogue) In(version string) *Catalogue {
	m, ok := minorNumber(version)
	if !ok || !slices.ContainsFunc(c.Steps, func(s Step) bool { return s.former(m) != nil || s.later(m) != nil }) {
		return c
	}
	out := c.clone()
	for i := range out.Steps {
		s := &out.Steps[i]
		if f := s.former(m); f != nil {
			s.Symbol, s.File = f.Symbol, cmp.Or(f.File, s.File)
		}
		if l := s.later(m); l != nil {
			s.Closure = l.Closure
		}
	}
	return out
}

// clone returns a catalogue whose steps may be changed.
func (c *Catalogue) clone() *Catalogue {
	out := *c
	out.Steps, out.byName, out.byRole = slices.Clone(c.Steps), maps.Clone(c.byName), map[Role][]*Step{}
	for i := range out.Steps {
		s := &out.Steps[i]
		out.byName[s.Name] = s
		out.byRole[s.Story.Role] = append(out.byRole[s.Story.Role], s)
	}
	return &out
}

// former returns the name that the step's function has in a minor version; nil: the step's own.
func (s *Step) former(minor int) *Former {
	for i := range s.Formerly {
		if until, ok := minorNumber(s.Formerly[i].Until); ok && minor <= until {
			return &s.Formerly[i]
		}
	}
	return nil
}

// later returns the name that the step's function literal has in a minor version; nil: the step's own.
func (s *Step) later(minor int) *Later {
	if s.Later == nil {
		return nil
	}
	if from, ok := minorNumber(s.Later.From); !ok || minor < from {
		return nil
	}
	return s.Later
}

var minorOne = regexp.MustCompile(`^v1\.(\d{1,4})(\D|$)`)

// minorNumber returns the minor number of a version of Kubernetes, such as 30 for v1.30.2+k3s1.
func minorNumber(version string) (n int, ok bool) {
	m := minorOne.FindStringSubmatch(version)
	if m == nil {
		return 0, false
	}
	n, err := strconv.Atoi(m[1])
	return n, err == nil
}

// formerlyWrong returns what is wrong with a step's former names: they go from the oldest to the youngest.
func (s *Step) formerlyWrong() string {
	last := -1
	for _, f := range s.Formerly {
		_, err := ParseSymbol(f.Symbol)
		until, ok := minorNumber(f.Until)
		switch {
		case err != nil:
			return "a former symbol cannot be read"
		case !ok || minor(f.Until) != f.Until:
			return "a former name is until no minor version"
		case until <= last:
			return "the former names are not from the oldest to the youngest"
		case f.Symbol == s.Symbol && cmp.Or(f.File, s.File) == s.File:
			return "a former name is today's"
		}
		last = until
	}
	if l := s.Later; l != nil {
		switch _, ok := minorNumber(l.From); {
		case !ok || minor(l.From) != l.From:
			return "a later name is from no minor version on"
		case s.Closure == "" || l.Closure == "" || l.Closure == s.Closure:
			return "a later name is not that of a function literal, or is today's"
		}
	}
	return ""
}
