package labtest

import "encoding/json"

// Step is a step as podstep steps --agent prints it: the probes that see it, and why others do not.
type Step struct {
	// Unseen is why none of the probes sees the step.
	Name, Seen, Unseen string
	Tier               int
	Probes             []Ability
}

// Ability is what a probe can do at a step.
type Ability struct {
	Probe, Unseen  string
	Entry, Closely bool
}

// Steps returns the steps of the lab's agent.
func (l *Lab) Steps() (all []Step) {
	l.tb.Helper()
	if err := json.Unmarshal([]byte(l.Must("steps", "--agent", "-o", "json")), &all); err != nil {
		l.tb.Fatal(err)
	}
	return all
}

// SeenBy returns the names of the steps that a probe sees.
func (l *Lab) SeenBy(probe string) map[string]bool {
	l.tb.Helper()
	out := map[string]bool{}
	for _, s := range l.Steps() {
		for _, p := range s.Probes {
			out[s.Name] = out[s.Name] || p.Probe == probe && p.Entry
		}
	}
	return out
}
