package wire

import (
	"bytes"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/wire/eventtest"
	"google.golang.org/protobuf/proto"
)

// fields has one field of every kind, and the same as a generated message.
var fields = []struct {
	field Field
	want  *agentpb.Field
}{
	{Text("phase", "Running"), &agentpb.Field{Name: "phase", Value: &agentpb.Field_Text{Text: "Running"}}},
	{Text("", ""), &agentpb.Field{Value: &agentpb.Field_Text{}}},
	{Number("n", -3), &agentpb.Field{Name: "n", Value: &agentpb.Field_Number{Number: -3}}},
	{Number("zero", 0), &agentpb.Field{Name: "zero", Value: &agentpb.Field_Number{}}},
	{Flag("ok", true), &agentpb.Field{Name: "ok", Value: &agentpb.Field_Flag{Flag: true}}},
	{Flag("no", false), &agentpb.Field{Name: "no", Value: &agentpb.Field_Flag{}}},
	{Duration("d", time.Second), &agentpb.Field{Name: "d", Value: &agentpb.Field_Duration{Duration: 1e9}}},
	{JSON("j", `{"a":1}`), &agentpb.Field{Name: "j", Value: &agentpb.Field_Json{Json: `{"a":1}`}}},
	{Real("r", 1.5), &agentpb.Field{Name: "r", Value: &agentpb.Field_Real{Real: 1.5}}},
}

// TestAppend compares what this package writes with what the generated code reads.
func TestAppend(t *testing.T) {
	want := &agentpb.Event{
		Seq: 7, Time: 1 << 60, Mono: -1, Kind: agentpb.Kind_EXIT, Step: math.MaxUint32, Pod: 9, Span: math.MaxUint64,
		Parent: 2, Sync: 1, Goroutine: 5, Error: "käputt", Duration: 99, Probe: 3, CallerLine: 2892,
	}
	h := Header{
		Seq: 7, Time: 1 << 60, Mono: -1, Kind: agentpb.Kind_EXIT, Step: math.MaxUint32, Pod: 9, Span: math.MaxUint64,
		Parent: 2, Sync: 1, Goroutine: 5,
	}
	raw := h.AppendHead(nil)
	for i := range fields {
		raw = fields[i].field.AppendTo(raw)
		want.Fields = append(want.Fields, fields[i].want)
	}
	raw = AppendTail(raw, want.Error, want.Duration, want.Probe, want.CallerLine)
	got := eventtest.Decode(t, raw)
	if !proto.Equal(got, want) {
		t.Errorf("appended:\n%v\nwant:\n%v", got, want)
	}
	if empty := AppendTail((&Header{}).AppendHead(nil), "", 0, 0, 0); len(empty) != 0 {
		t.Errorf("of an event of zeros %x is written", empty)
	}
}

// TestName compares a field with a name that was encoded before with a field that was encoded whole.
func TestName(t *testing.T) {
	for _, c := range fields {
		name := NewName(c.field.Name)
		var got []byte
		switch c.field.Kind {
		case TextValue:
			got = name.AppendText(nil, c.field.Text)
		case NumberValue, FlagValue, DurationValue:
			got = name.AppendNumber(nil, c.field.Kind, c.field.Num)
		default:
			continue
		}
		if want := c.field.AppendTo(nil); !bytes.Equal(got, want) || name.String() != c.field.Name {
			t.Errorf("field %q is %x, want %x", &name, got, want)
		}
	}
}

// TestAppendAllocates: appending takes no memory if there is room.
func TestAppendAllocates(t *testing.T) {
	room, name := make([]byte, 0, 1<<10), NewName("name")
	n := testing.AllocsPerRun(100, func() {
		b := (&Header{Seq: 812345, Time: 1763724000123456789, Kind: agentpb.Kind_EXIT}).AppendHead(room)
		for i := range fields {
			b = fields[i].field.AppendTo(b)
		}
		b = name.AppendNumber(name.AppendText(b, "text"), NumberValue, 1)
		AppendTail(b, "no such image", 5, 1, 0)
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestPeek(t *testing.T) {
	for _, raw := range append(samples(t), ofAllKinds(t), nil) {
		full, err := ReadHeader(raw)
		if err != nil {
			t.Fatal(err)
		}
		want := Header{Seq: full.Seq, Time: full.Time, Mono: full.Mono, Kind: full.Kind, Step: full.Step, Pod: full.Pod}
		if got := Peek(raw); !equal(got, want) {
			t.Errorf("%x is\n%+v, want\n%+v", raw, got, want)
		}
	}
}

// FuzzAppend: an event that can be read is written again so that it reads the same, and is at most as large as MaxSize
// says.
func FuzzAppend(f *testing.F) {
	f.Add(ofAllKinds(f))
	for _, raw := range samples(f) {
		f.Add(raw)
		f.Add(raw[:len(raw)/2])
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		Peek(raw)
		h, err := ReadHeader(raw)
		if err != nil {
			return
		}
		parts := slices.Collect(EncodedFields(raw))
		again := h.AppendHead(nil)
		for _, field := range parts {
			again = AppendField(again, field)
		}
		again = AppendTail(again, h.ErrorText, h.Duration, h.Probe, h.CallerLine)
		if most := MaxSize(parts, h.ErrorText); len(again) > most {
			t.Errorf("%x has %d bytes, more than %d", again, len(again), most)
		}
		back, err := ReadHeader(again)
		if err != nil || !equal(back, h) || !bytes.Equal(back.ErrorText, h.ErrorText) {
			t.Errorf("%x is read as %+v, %v; want %+v", again, back, err, h)
		}
		if got := slices.Collect(EncodedFields(again)); !slices.EqualFunc(got, parts, bytes.Equal) {
			t.Errorf("the fields are %x, want %x", got, parts)
		}
	})
}
