package probes

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Kind is what happened at a step.
type Kind string

const (
	Enter    Kind = "enter"
	Exit     Kind = "exit"
	Held     Kind = "hold"
	Released Kind = "release"
	Fault    Kind = "fault"
	Drop     Kind = "drop"
	Note     Kind = "note"
)

// Pod identifies a pod. UID tells apart two pods that had the same name one
// after the other.
type Pod struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	UID       string `json:"uid"`
}

// NamespacedName is namespace/name, as commands take it; a pod whose name is not
// known is named by its UID, and is "" without one.
func (p Pod) NamespacedName() string {
	switch {
	case p.Name == "" && p.UID != "":
		return "uid " + p.UID
	case p.Name == "" || p.Namespace == "":
		return p.Name
	}
	return p.Namespace + "/" + p.Name
}

// Event is something that was seen at a step. Its JSON form is what
// `podstep trace -o json` prints.
type Event struct {
	// Seq numbers the agent's events. A gap means events that this reader did
	// not ask for, or that were dropped; a Drop event reports the latter.
	Seq  uint64    `json:"seq"`
	Time time.Time `json:"time"`
	// Mono is nanoseconds since the agent began, on a clock that never jumps.
	Mono  int64  `json:"-"`
	Kind  Kind   `json:"kind"`
	Stage string `json:"stage"`
	Step  string `json:"step"`
	// Pod is nil for events of the node.
	Pod *Pod `json:"pod,omitempty"`
	// Span is the call. Parent is the call of the same pod in which it happened, or 0.
	Span   uint64 `json:"span,omitempty"`
	Parent uint64 `json:"parent,omitempty"`
	// Sync counts the turns of this pod's worker, from 1; 0 is before the first.
	Sync      uint32         `json:"sync"`
	Goroutine string         `json:"goroutine,omitempty"`
	Fields    map[string]any `json:"fields,omitempty"`
	Error     string         `json:"error,omitempty"`
	// DurationNs is how long the step took (exit) or the hold lasted (release).
	DurationNs int64 `json:"durationNs,omitempty"`
	// Probe is the probe that saw it: woven, cri, delve, uprobe or log.
	Probe string `json:"probe"`
	// CallerLine is, on enter, the line of the Parent step's function that called this one, in that function's
	// file; 0 if it is not known.
	CallerLine uint32 `json:"callerLine,omitempty"`
}

// FieldEndUnseen is the field of an exit that is no more than a guess: the call has ended, and the probe did not see
// when. The event comes when that is known.
const FieldEndUnseen = "endUnseen"

// RawJSON is a field that is a document, such as a CRI request.
type RawJSON = json.RawMessage

// Lost describes what a drop event reports as lost: how many events of which kinds, or why one was lost.
func (e *Event) Lost() string {
	if e.Error != "" {
		return e.Error
	}
	var out []string
	for _, kind := range slices.Sorted(maps.Keys(e.Fields)) {
		out = append(out, fmt.Sprintf("%v %s", e.Fields[kind], kind))
	}
	return strings.Join(out, ", ")
}

// Sight reports whether the event says that one more probe saw the call of its span
// begin ("enter") or end ("exit"), after another had seen it.
func (e *Event) Sight() (side string, is bool) {
	side, is = e.Fields["seen"].(string)
	return side, is && e.Kind == Note && e.Span != 0
}

// ProbeState reports whether the event gives a new state of its probe. The state is starting, running, retrying,
// failed or stopped; why is the reason.
func (e *Event) ProbeState() (state string, why Reason, is bool) {
	state, is = e.Fields["state"].(string)
	if !is || e.Kind != Note || e.Step != "" || e.Span != 0 {
		return "", why, false
	}
	why.Code, _ = e.Fields["reason"].(string)
	for name, value := range e.Fields {
		if name == "state" || name == "reason" {
			continue
		}
		if why.Args == nil {
			why.Args = map[string]string{}
		}
		why.Args[name] = fmt.Sprint(value)
	}
	return state, why, true
}
