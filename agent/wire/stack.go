package wire

import (
	"encoding/json"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/probes"
)

// Frame is a function that was under way when a stack snapshot was taken. In the story of a pod the innermost is first.
type Frame struct {
	Function string `json:"function"`
	File     string `json:"file,omitempty"`
	// Line is zero if no probe knows it.
	Line int `json:"line,omitempty"`
	// Step is the step that the function is; empty: it is none. Values are those that the step shows.
	Step   string         `json:"step,omitempty"`
	Values map[string]any `json:"values,omitempty"`
}

// maxStack bounds an encoded stack, in bytes.
const maxStack = 16 << 10

// EncodeStack returns the value of the field "stack" of an event. Of a stack that is too large it leaves out the values
// of the largest frames, and at last the outermost frames.
func EncodeStack(frames []Frame) Field {
	for {
		text, err := json.Marshal(frames)
		if err == nil && len(text) <= maxStack {
			return JSON("stack", string(text))
		}
		if largest := largestFrame(frames); largest >= 0 {
			frames[largest].Values = nil
		} else {
			frames = frames[:len(frames)/2]
		}
	}
}

// largestFrame returns the frame whose values take the most room; -1: no frame has values.
func largestFrame(frames []Frame) int {
	largest, most := -1, 0
	for i, f := range frames {
		if text, _ := json.Marshal(f.Values); f.Values != nil && len(text) > most {
			largest, most = i, len(text)
		}
	}
	return largest
}

// Stack returns the stack snapshot of an event. It is empty if the event has none that can be read.
func Stack(e *probes.Event) (frames []Frame) {
	text, _ := e.Fields["stack"].(probes.RawJSON)
	if e.Kind != probes.Note || e.Fields["note"] != agentpb.NoteSnapshot || json.Unmarshal(text, &frames) != nil {
		return nil
	}
	return frames
}
