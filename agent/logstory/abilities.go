package logstory

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/reasons"
)

// Verbosities of the kubelet from which on its log has turns, and reports of the pod's status.
const (
	turnsFrom   = 4
	reportsFrom = 3
)

// End is the end of a log that grows.
type End struct {
	Text    []byte
	Runtime bool           // it is the runtime's, not the kubelet's
	Zone    *time.Location // of the clock by which it is written
}

// Abilities returns what the logs of a node show, by their ends. verbosity is the kubelet's -v, as far as that is known.
func Abilities(c *probes.Catalogue, verbosity int, ends ...End) probes.Abilities {
	s := &survey{verbosity: verbosity}
	for _, end := range ends {
		near := time.Now()
		if end.Zone != nil {
			near = near.In(end.Zone)
		}
		_ = s.read(newReader(bytes.NewReader(end.Text), &clock{near})) // of a text in memory every byte can be read
		if end.Runtime {
			s.runtime++ // one that has written nothing yet
		} else {
			s.kubelet++
		}
	}
	out := probes.Abilities{Probe: Probe, Knows: s.knows(), Steps: map[string]probes.Ability{}}
	for i := range c.Steps {
		out.Steps[c.Steps[i].Name] = ability(&c.Steps[i], s)
	}
	return out
}

// knows returns what the logs show beside steps.
func (s *survey) knows() probes.Knows {
	turns := s.verbosity >= turnsFrom
	return probes.Knows{Turns: turns, Nesting: turns, Workers: turns, Reports: s.verbosity >= reportsFrom}
}

// ability returns what logs show of a step.
func ability(step *probes.Step, s *survey) probes.Ability {
	no := reasons.Logged.Reason()
	out := probes.Ability{NoHold: no, NoFail: no}
	for _, l := range step.Log {
		if l.V <= s.verbosity && s.kubelet > 0 {
			out.Entry = out.Entry || l.At == probes.LogEnter || l.At == probes.LogNote
			out.Exit = out.Exit || l.At == probes.LogExit
			out.Arguments, out.Results = out.Arguments || len(l.Values)+len(l.In) > 0, out.Results || l.At == probes.LogExit && len(l.Values) > 0
		}
	}
	if from, ok := reports[step.Name]; ok && s.verbosity >= from {
		out.Entry, out.Exit, out.Arguments = true, true, true
	}
	if _, method, ok := strings.Cut(step.CRI, "."); ok && s.runtime > 0 && criSteps[method] {
		out.Entry, out.Exit, out.Arguments, out.Results = true, true, true, true
	}
	if !out.Sees() {
		out.Unseen = whyUnseen(step, s)
	}
	return out
}

// reports are the steps that the line about a pod's status becomes, with the verbosity that it needs.
var reports = map[string]int{stepPhase: reportsFrom, stepCondition: reportsFrom, stepContainer: 0}

// criSteps are the calls of which the runtime's log has both ends.
var criSteps = func() map[string]bool {
	out := map[string]bool{}
	for _, verb := range criVerbs {
		out[strings.TrimSpace(verb)] = true
	}
	return out
}()

// whyUnseen returns why no line shows a step.
func whyUnseen(step *probes.Step, s *survey) probes.Reason {
	_, method, _ := strings.Cut(step.CRI, ".")
	v, logged := step.LogV()
	switch {
	case criSteps[method]:
		return reasons.RuntimeLog.Reason()
	case logged && s.kubelet == 0:
		return reasons.KubeletLog.Reason()
	case logged && v > s.verbosity:
		return reasons.LoggedAt.With("v", fmt.Sprint(v), "now", fmt.Sprint(s.verbosity))
	}
	return reasons.NotLogged.Reason()
}
