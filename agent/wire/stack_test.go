package wire

import (
	"fmt"
	"strings"
	"testing"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/probes"
)

// TestStack: a stack is read as it was written. One that is too large loses values, and at last the outermost frames.
func TestStack(t *testing.T) {
	long := strings.Repeat("x", maxStack/2)
	many := make([]Frame, 4*maxStack/100)
	for i := range many {
		many[i] = Frame{Function: fmt.Sprint(strings.Repeat("f", 50), i)}
	}
	for name, c := range map[string]struct {
		frames       []Frame
		want, values int
	}{
		"whole":       {[]Frame{{Function: "f", File: "f.go", Line: 7, Step: "sync.pod", Values: map[string]any{"a": "b"}}, {Function: "g"}}, 2, 1},
		"long values": {[]Frame{{Function: "f", Values: map[string]any{"a": long + "y"}}, {Function: "g", Values: map[string]any{"a": long[:99]}}, {Function: "h", Values: map[string]any{"a": long}}}, 3, 2},
		"many frames": {many, len(many) / 4, 0},
	} {
		t.Run(name, func(t *testing.T) {
			f := EncodeStack(c.frames)
			e := probes.Event{Kind: probes.Note, Fields: map[string]any{"note": agentpb.NoteSnapshot, "stack": probes.RawJSON(f.Text)}}
			got, values := Stack(&e), 0
			for _, f := range got {
				if len(f.Values) > 0 {
					values++
				}
			}
			if len(f.Text) > maxStack || len(got) != c.want || values != c.values {
				t.Errorf("%d bytes, %d frames, %d of them with values; want %d and %d", len(f.Text), len(got), values, c.want, c.values)
			}
			if got[0].Function != c.frames[0].Function || got[0].Line != c.frames[0].Line {
				t.Errorf("the first frame is %v", got[0])
			}
		})
	}
}

// TestNoStack: what is no stack is none.
func TestNoStack(t *testing.T) {
	for _, fields := range []map[string]any{nil, {"note": agentpb.NoteSnapshot}, {"note": agentpb.NoteSnapshot, "stack": probes.RawJSON("{")}, {"stack": probes.RawJSON("[{}]")}} {
		if got := Stack(&probes.Event{Kind: probes.Note, Fields: fields}); got != nil {
			t.Errorf("%v: %v", fields, got)
		}
	}
}
