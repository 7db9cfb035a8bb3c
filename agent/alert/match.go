package alert

import (
	"time"

	"github.com/podstep/podstep/probes"
)

// Match is one time that an alert matched.
type Match struct {
	// Alert is the text of the alert.
	Alert string `json:"alert"`
	// Time is when the last part matched; for a call that goes on, when it had gone on for as long as that.
	Time time.Time `json:"time"`
	// Pod is nil for the node.
	Pod *probes.Pod `json:"pod,omitempty"`
	// Parts are what matched, a member for each part of the alert.
	Parts []Part `json:"parts"`
}

// Part is what matched one part of an alert.
type Part struct {
	// Part is its text in the alert.
	Part string    `json:"part"`
	Time time.Time `json:"time"`
	// Event is the event, or the beginning of the call that goes on. If it is the end of a call, it has the call's
	// arguments, too.
	Event *probes.Event `json:"event,omitempty"`
	// RunningNs is how long the call had gone on.
	RunningNs int64 `json:"runningNs,omitempty"`
	// State is the pod's state, StateNs for how long it has lasted, and Step and Error where the pod is and what fails.
	State   string `json:"state,omitempty"`
	StateNs int64  `json:"stateNs,omitempty"`
	Step    string `json:"step,omitempty"`
	Error   string `json:"error,omitempty"`
	// AbsentNs is the time for which the part did not match.
	AbsentNs int64 `json:"absentNs,omitempty"`
}

// Last returns the part that matched last, other than by its absence.
func (m *Match) Last() *Part {
	last := &m.Parts[len(m.Parts)-1]
	if last.AbsentNs != 0 && len(m.Parts) > 1 {
		return &m.Parts[len(m.Parts)-2]
	}
	return last
}

// StepName returns the step that the part is about, or "".
func (p *Part) StepName() string {
	if p.Event != nil {
		return p.Event.Step
	}
	return p.Step
}

// ErrorText returns the error that the part has, or "".
func (p *Part) ErrorText() string {
	if p.Event != nil {
		return p.Event.Error
	}
	return p.Error
}
