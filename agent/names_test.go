package agent

import (
	"testing"

	"github.com/podstep/podstep/probes"
)

// TestNamesAreInTheCatalogue: what the agent knows by name must be there.
func TestNamesAreInTheCatalogue(t *testing.T) {
	c := probes.MustLoad()
	for name := range lives {
		if c.Step(name) == nil {
			t.Errorf("the catalogue has no step %s", name)
		}
	}
	has := func(step, field string) {
		for _, f := range c.Step(step).Fields {
			if f.Name == field {
				return
			}
		}
		t.Errorf("step %s shows no %s", step, field)
	}
	has(stepUpdatePod, fieldWaitsKill)
	has(stepSetStatus, fieldPhase)
	roles := map[string]bool{}
	for _, s := range c.Steps {
		roles[s.Goroutine] = true
	}
	for role := range pipeline {
		if !roles[role] {
			t.Errorf("goroutines %v lack %s", roles, role)
		}
	}
	if roles[roleOther] {
		t.Errorf("%s is the role of goroutines that no step is at home on", roleOther)
	}
}
