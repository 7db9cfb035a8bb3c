package agent

import (
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/podstep/podstep/agent/agentpb"
)

func durationOf(d time.Duration) *durationpb.Duration { return durationpb.New(d) }

// TestEncode holds the hand-written encoding against the generated one.
func TestEncode(t *testing.T) {
	e := event{
		seq: 7, wall: 1 << 60, mono: 12345, kind: agentpb.Kind_EXIT, step: 3, pod: &pod{id: 9},
		span: 4, parent: 2, sync: 1, role: 5, err: "käputt", duration: 99,
		fields: []field{
			text("phase", "Running"), text("", ""), number("n", -3), number("zero", 0), flag("ok", true), flag("no", false),
			{name: "d", kind: durationField, num: 5}, {name: "j", kind: jsonField, text: `{"a":1}`}, {name: "r", kind: realField, real: 1.5},
		},
	}
	want := &agentpb.Event{
		Seq: 7, Time: 1 << 60, Mono: 12345, Kind: agentpb.Kind_EXIT, Step: 3, Pod: 9,
		Span: 4, Parent: 2, Sync: 1, Goroutine: 5, Error: "käputt", Duration: 99,
	}
	for i := range e.fields {
		want.Fields = append(want.Fields, e.fields[i].proto())
	}
	got := &agentpb.Event{}
	if err := proto.Unmarshal(e.appendTo(nil), got); err != nil {
		t.Fatal(err)
	}
	if !proto.Equal(got, want) {
		t.Errorf("encoded:\n%v\nwant:\n%v", got, want)
	}
}
