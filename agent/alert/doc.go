// Package alert has the language in which a person describes what to be alerted to, and finds the matches of such an
// alert in the events of pods:
//
//	step=image.pull and running>2m
//	state=stuck for 5m
//	step=cri.StartContainer then err within 30s
//	step=loop.add then not state=running within 2m
//
// An alert has parts, which must match one after the other for one pod. A part is a filter of package filter, about one
// event or call; or a call that goes on for long; or the state of a pod. The package takes events in their order, and
// the time: from a clock for an agent, from the events for a recording. It does nothing about a match but report it.
package alert

import (
	"strings"
	"time"

	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/probes/filter"
)

// Alert is what a person wants to be alerted to. It does not change.
type Alert struct {
	text  string
	parts []part
}

// String returns the text that was parsed.
func (a *Alert) String() string { return a.text }

// kind is what a part is about.
type kind uint8

const (
	ofEvent   kind = iota // an event, or a call by its two events
	ofRunning             // a call that goes on
	ofState               // a pod's state
)

// part is one step of a sequence.
type part struct {
	text   string
	kind   kind
	filter *filter.Filter
	// longer is how long the call must have gone on, or the state have lasted; of a state it may be 0.
	longer time.Duration
	state  life.State
	// absent: the part must not match within the time.
	absent bool
	// within is the time since the part before matched; 0: any time.
	within time.Duration
}

// hasState reports whether a part asks for a state.
func (a *Alert) hasState() bool {
	for i := range a.parts {
		if a.parts[i].kind == ofState {
			return true
		}
	}
	return false
}

// states are the words for states, as podstep pods prints them.
func states() string {
	var all []string
	for s := range life.States {
		all = append(all, s.String())
	}
	return strings.Join(all, " ")
}
