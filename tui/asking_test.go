package tui

import (
	"context"
	"testing"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/agent/wire/eventtest"
	"github.com/podstep/podstep/tui/session"
)

// questions counts how often it is asked about a pod.
type questions struct{ n int }

func (q *questions) Pod(_ context.Context, name evidence.Name) *evidence.Snapshot {
	q.n++
	return &evidence.Snapshot{Name: name}
}

func (*questions) Unscheduled(context.Context) ([]*evidence.Snapshot, error) { return nil, nil }

// TestAsksAgain: while the causes are shown podstep asks soon after a container was started again, and otherwise only now
// and then.
func TestAsksAgain(t *testing.T) {
	w, asked := newWorld(), &questions{}
	d := newDesk(t, w, Options{Gather: asked})
	d.m.offered = true
	d.live(w.creation(web))
	d.press("w")
	span := uint64(100)
	created := func(attempt int) {
		span++
		d.deliver(session.News{Batches: []*agentpb.Batch{{Pods: []*agentpb.Pod{web}, Events: [][]byte{
			w.event(agentpb.Kind_ENTER, "cri.CreateContainer", web, span, 0, eventtest.Field("container", "app"), eventtest.Field("attempt", attempt)),
		}}}})
	}
	later := func(by time.Duration) {
		d.now = d.now.Add(by)
		d.send(tickMsg{})
	}
	created(0)
	later(askShown)
	before := asked.n
	if later(askShown - time.Second); asked.n != before {
		t.Errorf("nothing has changed, and podstep asked %d times instead of %d", asked.n, before)
	}
	later(time.Second)
	before = asked.n
	created(1)
	later(0)
	if asked.n != before {
		t.Errorf("the kubelet has not told the API server yet, and podstep asked %d times instead of %d", asked.n, before)
	}
	if later(askRestarted); asked.n != before+1 {
		t.Errorf("a container was started again, and podstep asked %d times instead of %d", asked.n, before+1)
	}
	if later(time.Second); asked.n != before+1 {
		t.Errorf("podstep asked about one restart %d times", asked.n-before)
	}
}
