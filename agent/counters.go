package agent

import (
	"time"

	"github.com/podstep/podstep/agent/pods"
	"github.com/podstep/podstep/agent/story/life"
)

// Counters are what the agent has done since it began.
type Counters struct {
	// Holds counts the holds that have begun, HoldsNow those that go on. Held is the sum of how long each of them
	// lasted. A delay counts as no hold.
	Holds    uint64
	HoldsNow int
	Held     time.Duration
	// Fails and Delays count the faults that were injected.
	Fails, Delays uint64
	// Events counts the events that were published. Lost counts, by kind, those that were lost.
	Events uint64
	Lost   map[string]uint64
}

// PodsByState returns how many pods are in each state, as `podstep pods` lists them. Every state but gone has a number.
func (a *Agent) PodsByState() map[string]int {
	out := map[string]int{}
	for st := range life.Gone {
		out[st.String()] = 0
	}
	for _, p := range a.statesOf(&pods.Selector{}) {
		out[p.State]++
	}
	return out
}

// Counters returns what the agent has done so far.
func (a *Agent) Counters() Counters {
	out := Counters{Fails: a.faults.fails.Load(), Delays: a.faults.delays.Load()}
	n := a.holds.Counts()
	out.Holds, out.HoldsNow, out.Held = n.Begun, n.Now, n.Held
	out.Events, out.Lost = a.journal.Counts()
	return out
}
