package history

import (
	"testing"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/wire/eventtest"
	"github.com/podstep/podstep/probes"
)

// TestLastStack: where an error passes through several calls, the last stack is that of the innermost. A call before it
// that failed too, or that the error did not pass through, has another stack.
func TestLastStack(t *testing.T) {
	const enter, exit = agentpb.Kind_ENTER, agentpb.Kind_EXIT
	seconds := 0
	h := New(agentOf(0, agentpb.ProbeState_PROBE_RUNNING), probes.MustLoad())
	add := func(kind agentpb.Kind, span, parent uint64, err string) {
		h.Add(&agentpb.Batch{Events: [][]byte{eventAt(seconds, &agentpb.Event{Kind: kind, Step: 1, Span: span, Parent: parent, Error: err})}}, nil)
		seconds++
	}
	fail := func(span, parent uint64) {
		add(exit, span, parent, "failed")
		stack := &agentpb.Field{Name: "stack", Value: &agentpb.Field_Json{Json: `[{"function":"f"}]`}}
		h.Add(&agentpb.Batch{Events: [][]byte{eventAt(seconds, &agentpb.Event{Kind: agentpb.Kind_NOTE, Step: 1, Span: span, Error: "failed",
			Fields: []*agentpb.Field{eventtest.Field("note", agentpb.NoteSnapshot), stack}})}}, nil)
		seconds++
	}
	want := func(when string, span uint64) {
		t.Helper()
		e, frames := h.LastStack(0, seconds)
		if e.Span != span || (frames == nil) != (span == 0) {
			t.Errorf("%s: the last stack is of call %d, with the frames %v; want that of call %d", when, e.Span, frames, span)
		}
	}
	add(enter, 1, 0, "")
	add(enter, 2, 1, "")
	want("nothing failed", 0)
	fail(2, 1)
	want("the first call failed", 2)
	add(enter, 3, 1, "")
	add(enter, 4, 3, "")
	fail(4, 3)
	fail(3, 1)
	fail(1, 0)
	want("an error passed up from the second call", 4)
	add(enter, 5, 0, "")
	fail(5, 0)
	want("a call after it failed", 5)
}
