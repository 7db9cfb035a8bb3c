package simnode

import (
	"fmt"
	"sync/atomic"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/hook"
)

// A step is a step of the catalogue that our code runs instead of the kubelet's. It calls the hook as the woven
// function would.
type step int

// cgroupSteps are the steps whose functions need cgroups.
type cgroupSteps struct {
	refresh, create, remove step
}

func newCgroupSteps(c *probes.Catalogue) (*cgroupSteps, error) {
	s := &cgroupSteps{}
	for name, into := range map[string]*step{"sync.qos": &s.refresh, "sync.cgroup": &s.create, "term.cgroup": &s.remove} {
		found := c.Step(name)
		if found == nil {
			return nil, fmt.Errorf("the catalogue has no step %q", name)
		}
		*into = step(found.ID)
	}
	return s, nil
}

// around does work as the step. values are the pod and the fields, as the
// catalogue has them.
func (s step) around(values hook.Values, work func() error) (err error) {
	if atomic.LoadUint32(&hook.Switches[s]) == 0 {
		return work()
	}
	span, fault := hook.Enter(int(s), values)
	if span != nil {
		defer hook.Leave(span, func() error { return err }, nil)
	}
	if fault != nil {
		return fault
	}
	return work()
}
