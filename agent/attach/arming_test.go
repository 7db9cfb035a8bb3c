package attach

import (
	"slices"
	"testing"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/inside"
)

// TestRules: wherever a pod can be held, functions on the goroutine's stack show that the goroutine may wait. No
// function of another kind of goroutine is among them.
func TestRules(t *testing.T) {
	c := probes.MustLoad()
	all := rules(c, func(step string) []string { return []string{step, step + ".func1"} })
	for _, x := range []struct {
		step           string
		within, others []string
	}{
		{"sync.pod", []string{"worker.loop"}, []string{"rt.killcontainers.func1"}},
		{"sync.setstatus", []string{"worker.loop"}, nil},
		{"rt.killcontainer", []string{"worker.loop", "rt.killcontainers.func1"}, []string{"rt.killcontainers", "rt.prestop"}},
		{"rt.prestop", []string{"worker.loop", "rt.killcontainers.func1"}, []string{"rt.prestop"}}, // garbage collection calls it too
		{"cri.ContainerStatus", []string{"worker.loop"}, []string{"pleg.relist"}},
	} {
		r := all[x.step]
		for _, f := range x.within {
			if !slices.Contains(r.within, f) {
				t.Errorf("%s cannot be held within %s, but within %v", x.step, f, r.within)
			}
		}
		for _, f := range x.others {
			if slices.Contains(r.within, f) {
				t.Errorf("%s can be held within %s", x.step, f)
			}
		}
	}
	for i := range c.Steps {
		s := &c.Steps[i]
		if s.Outside() || !holdable(s.Hold.Enter) && !holdable(s.Hold.Exit) {
			continue
		}
		if len(all[s.Name].within) == 0 {
			t.Errorf("nothing shows on which goroutines of kind %s a pod can be held at %s", s.Goroutine, s.Name)
		}
	}
}

// TestLookedAt: it is known which functions have a lock in the packages of all steps at which a pod can be held, and of
// the functions with which such goroutines begin. Of other packages it is not.
func TestLookedAt(t *testing.T) {
	c := probes.MustLoad()
	known := lookedAt(c)
	all := rules(c, func(step string) []string { return []string{c.Step(step).Symbol} })
	for i := range c.Steps {
		s := &c.Steps[i]
		if s.Outside() || !holdable(s.Hold.Enter) && !holdable(s.Hold.Exit) {
			continue
		}
		place := inside.Place{Within: all[s.Name].within}
		if slices.Contains(place.Within, s.Symbol) {
			continue // no function is around it
		}
		for _, within := range place.Within {
			stack := []string{s.Symbol, s.Symbol, within}
			if why := place.Refuses(stack, inside.Known{Packages: known}); why != nil {
				t.Errorf("%s within %s: %v", s.Name, within, why)
			}
			for _, other := range []string{
				"k8s.io/kubernetes/pkg/kubelet/logs.(*containerLogManager).Clean", "sync.(*Once).doSlow", "golang.org/x/sync/singleflight.(*Group).Do",
			} {
				if why := place.Refuses([]string{s.Symbol, other, within}, inside.Known{Packages: known}); why == nil || why.Reason != inside.NotKnown {
					t.Errorf("%s within %s is held though %s is under way: %v", s.Name, within, other, why)
				}
			}
		}
	}
}

func holdable(r probes.HoldRule) bool {
	return r == probes.HoldYes || r == probes.HoldWorker || r == probes.HoldOwn
}
