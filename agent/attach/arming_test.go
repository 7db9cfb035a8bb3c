package attach

import (
	"slices"
	"testing"

	"github.com/podstep/podstep/probes"
)

// TestRules: wherever a pod can be held it is known by functions on the goroutine's stack that
// the goroutine is one that may wait, and those of no other goroutine are among them.
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
		{"rt.prestop", []string{"worker.loop", "rt.killcontainers.func1"}, []string{"rt.prestop"}}, // garbage collection comes there too
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

func holdable(r probes.HoldRule) bool {
	return r == probes.HoldYes || r == probes.HoldWorker || r == probes.HoldOwn
}
