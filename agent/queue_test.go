package agent

import (
	"reflect"
	"testing"

	"github.com/podstep/podstep/agent/agentpb"
)

// TestQueueKeeps: an event comes out of the queue as it went in, whatever members it has.
func TestQueueKeeps(t *testing.T) {
	e := event{
		seq: 1, wall: 2, mono: 3, kind: agentpb.Kind_EXIT, step: 4, pod: &pod{}, span: 5, parent: 6, sync: 7, role: 8,
		probe: 9, wire: fieldBytes{10}, err: "an error", duration: 11, line: 12,
	}
	v := reflect.ValueOf(e)
	for i := range v.NumField() {
		if name := v.Type().Field(i).Name; v.Field(i).IsZero() && name != "fields" { // fields become a part of wire
			t.Fatalf("the test's event has no %s", name)
		}
	}
	var q queue
	q.add(&e, e.wire)
	if got := q.event(0); !reflect.DeepEqual(got, e) {
		t.Errorf("it came out as %+v, and went in as %+v", got, e)
	}
}
