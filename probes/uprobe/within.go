package uprobe

import (
	"slices"

	"github.com/podstep/podstep/probes"
)

// A pod has a goroutine of the kind worker to itself. The worker starts one of the kind killer for each container
// that it kills, and waits for them.
const kindWorker, kindKiller = "worker", "kill"

// Within has the functions with which goroutines begin, by the kind of goroutine. One of a kind's functions is under way on each
// goroutine of that kind.
type Within map[string][]string

// NewWithin makes that of a catalogue's steps. functions returns the symbol of a step's function, and then those of the
// literals in it.
func NewWithin(c *probes.Catalogue, functions func(step string) []string) Within {
	out := Within{}
	for i := range c.Steps {
		s := &c.Steps[i]
		switch all := functions(s.Name); {
		case s.Root || s.Starts:
			out[s.Goroutine] = append(out[s.Goroutine], all...)
		case s.Awaits && len(all) > 0: // it waits for goroutines that begin with its literals
			out[kindKiller] = append(out[kindKiller], all[1:]...)
		}
	}
	return out
}

// Workers returns the functions with which the goroutines of pods' workers begin, and the goroutines that workers wait for.
func (w Within) Workers() []string { return slices.Concat(w[kindWorker], w[kindKiller]) }

// At returns the functions of which one must be under way on a goroutine that is held at a step. If there are none, nothing shows
// whether a goroutine may be held there.
func (w Within) At(s *probes.Step) []string {
	if s.Hold.Enter == probes.HoldWorker || s.Hold.Exit == probes.HoldWorker || s.Goroutine == kindKiller {
		return w.Workers() // others come there too
	}
	return w[s.Goroutine]
}
