package journal

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/values"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/agent/wire/eventtest"
	"github.com/podstep/podstep/probes"
)

// messageOf returns a field as a message.
func messageOf(f wire.Field) *agentpb.Field { return values.Fields(f.AppendTo(nil)).Protos()[0] }

// TestEncode compares the hand-written encoding with the generated one.
func TestEncode(t *testing.T) {
	e := Event{
		Seq: 7, Wall: 1 << 60, Mono: 12345, Kind: agentpb.Kind_EXIT, Step: 3, Pod: podOf(9, ""),
		Span: 4, Parent: 2, Sync: 1, Role: 5, Err: "käputt", Duration: 99, Probe: 2,
		Fields: []wire.Field{
			wire.Text("phase", "Running"), wire.Text("", ""), wire.Number("n", -3), wire.Number("zero", 0), wire.Flag("ok", true), wire.Flag("no", false),
			wire.Duration("d", 5), wire.JSON("j", `{"a":1}`), wire.Real("r", 1.5),
		},
	}
	want := &agentpb.Event{
		Seq: 7, Time: 1 << 60, Mono: 12345, Kind: agentpb.Kind_EXIT, Step: 3, Pod: 9,
		Span: 4, Parent: 2, Sync: 1, Goroutine: 5, Error: "käputt", Duration: 99, Probe: 2,
	}
	for i := range e.Fields {
		want.Fields = append(want.Fields, messageOf(e.Fields[i]))
	}
	got := eventtest.Decode(t, e.appendTo(nil))
	if !proto.Equal(got, want) {
		t.Errorf("encoded:\n%v\nwant:\n%v", got, want)
	}
}

func BenchmarkEncode(b *testing.B) {
	names := values.Names([]probes.Field{{Name: "updateType"}, {Name: "attempt"}})
	e := Event{
		Seq: 812345, Wall: 1763724000123456789, Mono: 91234567890, Kind: agentpb.Kind_EXIT, Step: 77, Pod: podOf(12, ""),
		Span: 400123, Parent: 400120, Sync: 3, Role: 2, Duration: 1234567, Fields: []wire.Field{wire.Text("op", "ADD")},
	}
	var fields, out []byte
	b.ReportAllocs()
	for range b.N {
		fields = values.Fields(fields[:0]).Take(&names[0], "create")
		e.Wire = values.Fields(fields).Take(&names[1], 3)
		out = e.appendTo(out[:0])
	}
}
