package tui

import (
	"testing"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/tui/session"
)

// TestFinalizers: a pod whose object the API server still has is never said to
// have ended; what it waits for is said.
func TestFinalizers(t *testing.T) {
	d := started(t)
	happens := func(events ...[]byte) {
		d.deliver(session.News{Batches: []*agentpb.Batch{{Pods: []*agentpb.Pod{web}, Events: events}}})
	}
	list := func(json string) *agentpb.Field {
		return &agentpb.Field{Name: "finalizers", Value: &agentpb.Field_Json{Json: json}}
	}
	asked := func(span uint64, fields ...*agentpb.Field) []byte {
		return d.w.event(agentpb.Kind_ENTER, "status.candelete", web, span, 0, fields...)
	}
	happens(asked(100, list(`["example.com/backup"]`)))
	d.seesNot("waits for finalizers") // its containers may still run
	happens(d.w.event(agentpb.Kind_EXIT, "worker.cterminated", web, 101, 0), asked(102, list(`["example.com/backup"]`)))
	d.seesNot("has ended").seesNot("done")
	d.sees("terminating", "waits for finalizers", "keeps its object until its finalizers are removed: example.com/backup.")
	happens(asked(103, list(`[]`)))
	d.seesNot("has ended").sees("terminating", "still has its object").seesNot("finalizers")
	happens(asked(104)) // an agent that does not report finalizers
	d.seesNot("has ended").sees("terminating", "still has its object")
	happens(d.w.event(agentpb.Kind_EXIT, "loop.remove", web, 105, 0))
	d.sees("gone").seesNot("still has its object")
}
