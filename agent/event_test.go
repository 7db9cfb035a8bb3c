package agent

import (
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/pods"
	"github.com/podstep/podstep/agent/values"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/agent/wire/eventtest"
	"github.com/podstep/podstep/probes"
)

func durationOf(d time.Duration) *durationpb.Duration { return durationpb.New(d) }

// messageOf returns a field as a message.
func messageOf(f field) *agentpb.Field { return fieldBytes(f.AppendTo(nil)).Protos()[0] }

// podOf returns a pod that is in no table.
func podOf(id uint32, uid string) *pod { return &pod{Pod: pods.Pod{ID: id, UID: uid}} }

// TestEncode compares the hand-written encoding with the generated one.
func TestEncode(t *testing.T) {
	e := event{
		seq: 7, wall: 1 << 60, mono: 12345, kind: agentpb.Kind_EXIT, step: 3, pod: podOf(9, ""),
		span: 4, parent: 2, sync: 1, role: 5, err: "käputt", duration: 99, probe: 2,
		fields: []field{
			text("phase", "Running"), text("", ""), number("n", -3), number("zero", 0), flag("ok", true), flag("no", false),
			wire.Duration("d", 5), wire.JSON("j", `{"a":1}`), wire.Real("r", 1.5),
		},
	}
	want := &agentpb.Event{
		Seq: 7, Time: 1 << 60, Mono: 12345, Kind: agentpb.Kind_EXIT, Step: 3, Pod: 9,
		Span: 4, Parent: 2, Sync: 1, Goroutine: 5, Error: "käputt", Duration: 99, Probe: 2,
	}
	for i := range e.fields {
		want.Fields = append(want.Fields, messageOf(e.fields[i]))
	}
	got := eventtest.Decode(t, e.appendTo(nil))
	if !proto.Equal(got, want) {
		t.Errorf("encoded:\n%v\nwant:\n%v", got, want)
	}
}

func BenchmarkEncode(b *testing.B) {
	names := values.Names([]probes.Field{{Name: "updateType"}, {Name: "attempt"}})
	e := event{
		seq: 812345, wall: 1763724000123456789, mono: 91234567890, kind: agentpb.Kind_EXIT, step: 77, pod: podOf(12, ""),
		span: 400123, parent: 400120, sync: 3, role: 2, duration: 1234567, fields: []field{text("op", "ADD")},
	}
	var fields, out []byte
	b.ReportAllocs()
	for range b.N {
		fields = fieldBytes(fields[:0]).Take(&names[0], "create")
		e.wire = fieldBytes(fields).Take(&names[1], 3)
		out = e.appendTo(out[:0])
	}
}
