package agent

import (
	"slices"
	"strings"
	"testing"

	"github.com/podstep/podstep/probes"
)

// TestNamesAreInTheCatalogue: the catalogue has every name that the agent's code has.
func TestNamesAreInTheCatalogue(t *testing.T) {
	c := probes.MustLoad()
	for role, field := range map[probes.Role]string{
		probes.RoleUpdate: fieldWaitsKill,
	} {
		if !slices.Contains(role.Info().Fields, field) || !readsFields[role] {
			t.Errorf("a step of role %s need not have %s, or it is not kept", role, field)
		}
	}
	for _, s := range c.Steps {
		if makes(s.Story.Role) != (len(s.Results) > 0 && strings.HasPrefix(s.Name, "cri.") && madeNow[s.Results[0].Name]) {
			t.Errorf("%s makes something: %v", s.Name, makes(s.Story.Role))
		}
	}
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

// madeNow are the results with the ids of what the runtime has just made.
var madeNow = map[string]bool{"podSandboxID": true, "containerID": true}
