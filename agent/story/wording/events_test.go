package wording

import (
	"testing"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// TestNoteWords: notes of what podstep did to a pod are in the reader's language, also if an older agent gave the
// reason as a sentence.
func TestNoteWords(t *testing.T) {
	for _, c := range []struct {
		kind        probes.Kind
		fields      map[string]any
		label, note string
	}{
		{probes.Released, map[string]any{"on": "enter", "reason": agentpb.ReleaseContinue}, "曾停住", "在它之前"},
		{probes.Released, map[string]any{"on": "exit", "reason": agentpb.ReleaseLease}, "曾停住", "在它之后；租约到期"},
		{probes.Released, map[string]any{"on": "exit", "reason": "its lease is over"}, "曾停住", "在它之后；its lease is over"},
		{probes.Released, map[string]any{"on": "enter"}, "曾停住", "在它之前"},
		{
			probes.Note, map[string]any{"note": agentpb.NoteBreakpointFull, "breakpoint": int64(3), "held": int64(16)},
			"断点 3 放过了这个 Pod：已有 16 个 Pod 被停住，达到该代理的上限", "",
		},
		{probes.Note, map[string]any{"note": agentpb.NoteLog, "breakpoint": int64(3), "image": "busybox", "attempt": int64(2)}, "断点 3：attempt=2, image=busybox", ""},
		{probes.Note, map[string]any{"text": "breakpoint 3 lets the pod pass"}, "breakpoint 3 lets the pod pass", ""},
		{probes.Note, map[string]any{"foldedSyncs": int64(2), "foldedEvents": int64(40)}, "更早的 2 次同步已不可知", "40"},
	} {
		if label, note := Event(words.Chinese, &probes.Event{Kind: c.kind, Fields: c.fields}); label != c.label || note != c.note {
			t.Errorf("%s of %v is %q, %q; want %q, %q", c.kind, c.fields, label, note, c.label, c.note)
		}
	}
}
