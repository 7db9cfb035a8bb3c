package agent

import (
	"testing"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/reasons"
)

// TestReasonsAgree: a refused breakpoint and Info give the same reason why no probe sees a step, for each step. The probe that looks
// where the step happens gives that reason, be it the first probe or the last, and also if it has failed.
func TestReasonsAgree(t *testing.T) {
	beyond := probes.Abilities{Probe: "cri", Steps: map[string]probes.Ability{}, NotSeen: reasons.Inside.Reason()}
	not := reasons.NotThere.With("error", "no such function")
	within := probes.Abilities{Probe: "uprobe", Steps: map[string]probes.Ability{"sync.pod": {Entry: true}}, NotSeen: not}
	failure := unheld.With("step", "x")
	for _, all := range [][]probes.Abilities{{beyond, within}, {within, beyond}} {
		r := newRig(t, Options{Probes: all})
		for _, state := range []agentpb.ProbeState{agentpb.ProbeState_PROBE_RUNNING, agentpb.ProbeState_PROBE_FAILED} {
			r.Probe("uprobe").State(state, failure)
			info := r.info()
			for i := range r.steps {
				s := &r.steps[i]
				if r.sees(s) {
					continue
				}
				want, shown := not.Text(), not.Text()
				if s.Name == "sync.pod" {
					want, shown = failure.Text(), wire.Failure(info.Probes[r.Probe("uprobe").index])
				}
				if why := wire.Why(r.whyNotSeen(s).Reason).Text(); why != want {
					t.Errorf("%v: no breakpoint is at %s, as %q", state, s.Name, why.En)
				}
				if why := wire.Unseen(info, info.Steps[i]); why != shown {
					t.Errorf("%v: %s is not seen, as %q", state, s.Name, why.En)
				}
			}
		}
	}
}
