package tui

import (
	"encoding/json"
	"testing"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/wire/eventtest"
	"github.com/podstep/podstep/tui/session"
)

// TestFinalizers: the screen never says that a pod has ended whose object the API server still has. It says what the
// pod waits for.
func TestFinalizers(t *testing.T) {
	d := started(t)
	happens := func(events ...[]byte) {
		d.deliver(session.News{Batches: []*agentpb.Batch{{Pods: []*agentpb.Pod{web}, Events: events}}})
	}
	list := func(text string) *agentpb.Field { return eventtest.Field("finalizers", json.RawMessage(text)) }
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
