package journal

import (
	"reflect"
	"strings"
	"testing"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/values"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/agent/wire/eventtest"
	"github.com/podstep/podstep/probes"
)

// TestQueueKeeps: an event comes out of the queue as it went in, whatever members it has.
func TestQueueKeeps(t *testing.T) {
	e := Event{
		Seq: 1, Wall: 2, Mono: 3, Kind: agentpb.Kind_EXIT, Step: 4, Pod: &Pod{}, Span: 5, Parent: 6, Sync: 7, Role: 8,
		Probe: 9, Wire: values.Fields{10}, Err: "an error", Duration: 11, Line: 12,
	}
	v := reflect.ValueOf(e)
	for i := range v.NumField() {
		if name := v.Type().Field(i).Name; v.Field(i).IsZero() && name != "Fields" { // fields become a part of wire
			t.Fatalf("the test's event has no %s", name)
		}
	}
	var q queue
	q.add(&e, e.Wire)
	if got := q.event(0); !reflect.DeepEqual(got, e) {
		t.Errorf("it came out as %+v, and went in as %+v", got, e)
	}
}

// TestQueueKeepsNoMore: the queue gives back the memory of a burst, and an event comes out of it unchanged.
func TestQueueKeepsNoMore(t *testing.T) {
	var q queue
	names := values.Names([]probes.Field{{Name: "n"}})
	for i := range keptQueue + 1 {
		e := Event{Seq: uint64(i), Kind: agentpb.Kind_EXIT, Err: "no", Fields: []wire.Field{wire.Number("first", int64(i))}}
		q.add(&e, names[0].AppendText(nil, strings.Repeat("x", i%200)))
	}
	for _, i := range []int{0, 1, 777, keptQueue} {
		e := q.event(i)
		got := eventtest.Decode(t, e.appendTo(nil))
		if got.Seq != uint64(i) || got.Error != "no" || got.Fields[0].GetNumber() != int64(i) || len(got.Fields[1].GetText()) != i%200 {
			t.Errorf("event %d is %v", i, got)
		}
	}
	q.reset()
	if q.len() != 0 || cap(q.events) > keptQueue || cap(q.fields) > keptQueueBytes {
		t.Errorf("after a burst the queue has %d events, room for %d and for %d bytes", q.len(), cap(q.events), cap(q.fields))
	}
}
