package wire

import (
	"bytes"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// TestMembers compares the numbers of this package with those of the protocol.
func TestMembers(t *testing.T) {
	event := (&agentpb.Event{}).ProtoReflect().Descriptor().Fields()
	want := map[string]protowire.Number{
		"seq": seqMember, "time": timeMember, "mono": monoMember, "kind": kindMember, "step": stepMember, "pod": podMember,
		"span": spanMember, "parent": parentMember, "sync": syncMember, "goroutine": goroutineMember,
		"fields": fieldsMember, "error": errorMember, "duration": durationMember, "probe": probeMember,
		"caller_line": lineMember,
	}
	if event.Len() != len(want) {
		t.Errorf("an event has %d members, and %d are known here", event.Len(), len(want))
	}
	for i := range event.Len() {
		if f := event.Get(i); f.Number() != want[string(f.Name())] {
			t.Errorf("Event.%s has number %d, and %d here", f.Name(), f.Number(), want[string(f.Name())])
		}
	}
	field := (&agentpb.Field{}).ProtoReflect().Descriptor().Fields()
	for name, want := range map[string]protowire.Number{
		"name": nameMember, "text": protowire.Number(TextValue), "number": protowire.Number(NumberValue),
		"flag": protowire.Number(FlagValue), "duration": protowire.Number(DurationValue),
		"json": protowire.Number(JSONValue), "real": protowire.Number(RealValue),
	} {
		if f := field.ByName(protoreflect.Name(name)); f == nil || f.Number() != want {
			t.Errorf("Field.%s is %v, and has number %d here", name, f, want)
		}
	}
	if field.Len() != int(RealValue) {
		t.Errorf("a field has %d members, and %d are known here", field.Len(), RealValue)
	}
}

// ofAllKinds returns an event that has a field of every kind.
func ofAllKinds(t testing.TB) []byte {
	return marshal(t, &agentpb.Event{
		Seq: 812345, Time: 1763724000123456789, Mono: 91234567890, Kind: agentpb.Kind_EXIT, Step: 77, Pod: 12, Span: 400123,
		Error: "no such image", Duration: 5,
		Fields: []*agentpb.Field{
			{Name: "text", Value: &agentpb.Field_Text{Text: "web"}},
			{Name: "empty", Value: &agentpb.Field_Text{}},
			{Name: "number", Value: &agentpb.Field_Number{Number: -3}},
			{Name: "flag", Value: &agentpb.Field_Flag{Flag: true}},
			{Name: "no", Value: &agentpb.Field_Flag{}},
			{Name: "duration", Value: &agentpb.Field_Duration{Duration: 1.5e9}},
			{Name: "json", Value: &agentpb.Field_Json{Json: `["a"]`}},
			{Name: "real", Value: &agentpb.Field_Real{Real: 0.5}},
			{Name: "nothing"},
			{Value: &agentpb.Field_Text{Text: "no name"}},
			{Name: "text", Value: &agentpb.Field_Text{Text: "again"}},
		},
	})
}

func TestLookup(t *testing.T) {
	raw := ofAllKinds(t)
	for name, want := range map[string]Value{
		"text": {Kind: TextValue, Text: []byte("web")}, "empty": {Kind: TextValue, Text: []byte{}},
		"number": {Kind: NumberValue, Num: -3}, "flag": {Kind: FlagValue, Num: 1}, "no": {Kind: FlagValue},
		"duration": {Kind: DurationValue, Num: 1.5e9}, "json": {Kind: JSONValue, Text: []byte(`["a"]`)},
		"real": {Kind: RealValue, Num: int64(math.Float64bits(0.5))}, "": {Kind: TextValue, Text: []byte("no name")},
		"nothing": {}, "none": {}, "tex": {}, "texts": {},
	} {
		if got := Lookup(raw, name); !sameValue(got, want) {
			t.Errorf("%q is %+v, want %+v", name, got, want)
		}
	}
	if Lookup(nil, "text").Found() || Lookup(raw[:len(raw)/4], "real").Found() {
		t.Error("a field is found that is not there")
	}
}

// TestFieldAsItMayCome: members of a field may come in any order, and some may not be known.
func TestFieldAsItMayCome(t *testing.T) {
	name := protowire.AppendString(protowire.AppendTag(nil, nameMember, protowire.BytesType), "a")
	one := protowire.AppendVarint(protowire.AppendTag(nil, protowire.Number(NumberValue), protowire.VarintType), 1)
	two := protowire.AppendVarint(protowire.AppendTag(nil, protowire.Number(NumberValue), protowire.VarintType), 2)
	newer := protowire.AppendFixed32(protowire.AppendTag(nil, 99, protowire.Fixed32Type), 1)
	odd := protowire.AppendString(protowire.AppendTag(nil, protowire.Number(NumberValue), protowire.BytesType), "x")
	for what, c := range map[string]struct {
		field []byte
		want  Value
	}{
		"in order":           {slices.Concat(name, one), Value{Kind: NumberValue, Num: 1}},
		"name last":          {slices.Concat(one, name), Value{Kind: NumberValue, Num: 1}},
		"two values":         {slices.Concat(name, one, two), Value{Kind: NumberValue, Num: 2}},
		"unknown member":     {slices.Concat(name, newer, one), Value{Kind: NumberValue, Num: 1}},
		"of another type":    {slices.Concat(name, odd), Value{}},
		"cut in its value":   {slices.Concat(name, one[:1]), Value{}},
		"no name":            {one, Value{}},
		"name is a number":   {slices.Concat([]byte{nameMember << 3, 1}, one), Value{}},
		"length beyond":      {slices.Concat(name, []byte{byte(TextValue)<<3 | 2, 9, 'x'}), Value{}},
		"member number zero": {slices.Concat(name, []byte{0, 1}, one), Value{}},
	} {
		raw := protowire.AppendBytes(protowire.AppendTag(nil, fieldsMember, protowire.BytesType), c.field)
		if got := Lookup(raw, "a"); !sameValue(got, c.want) {
			t.Errorf("%s: %+v, want %+v", what, got, c.want)
		}
	}
}

func TestValues(t *testing.T) {
	raw := ofAllKinds(t)
	if s := Lookup(raw, "json").String(); s != `["a"]` {
		t.Errorf("a document is %q", s)
	}
	if !Lookup(raw, "flag").Flag() || Lookup(raw, "no").Flag() || Lookup(raw, "number").Flag() {
		t.Error("a flag is not what it was")
	}
	if n, ok := Lookup(raw, "number").Number(); n != -3 || !ok {
		t.Errorf("a number is %d, %v", n, ok)
	}
	if d, ok := Lookup(raw, "duration").Duration(); d != 1500*time.Millisecond || !ok {
		t.Errorf("a duration is %v, %v", d, ok)
	}
	if r, ok := Lookup(raw, "real").Real(); r != 0.5 || !ok {
		t.Errorf("a real is %v, %v", r, ok)
	}
	for _, name := range []string{"text", "none"} {
		v := Lookup(raw, name)
		_, number := v.Number()
		_, duration := v.Duration()
		if _, real := v.Real(); number || duration || real || v.Flag() {
			t.Errorf("%s is taken for a number: %+v", name, v)
		}
	}
}

func TestEncodedFields(t *testing.T) {
	raw := ofAllKinds(t)
	var e agentpb.Event
	if err := proto.Unmarshal(raw, &e); err != nil {
		t.Fatal(err)
	}
	sameFields(t, raw, &e)
	for range EncodedFields(raw) {
		break // the loop may be left early
	}
}

func TestReadingFieldsAllocates(t *testing.T) {
	raw := ofAllKinds(t)
	if n := testing.AllocsPerRun(100, func() { Lookup(raw, "real") }); n != 0 {
		t.Errorf("Lookup: %v allocations", n)
	}
	if n := testing.AllocsPerRun(100, func() {
		for f := range EncodedFields(raw) {
			ReadField(f)
		}
	}); n != 0 {
		t.Errorf("EncodedFields: %v allocations", n)
	}
}

// FuzzFields: the fields of whatever proto.Unmarshal can read are read here to the same values. Of other bytes nothing
// is read that is not in them.
func FuzzFields(f *testing.F) {
	f.Add(ofAllKinds(f))
	for _, raw := range samples(f) {
		f.Add(raw)
		f.Add(raw[:len(raw)/2])
	}
	f.Add([]byte{0x5a, 0xff})
	f.Fuzz(func(t *testing.T, raw []byte) {
		for field := range EncodedFields(raw) {
			name, v := ReadField(field)
			if len(name)+len(v.Text) > len(field) {
				t.Errorf("%x: more is read of a field than it has", raw)
			}
			Lookup(raw, string(name))
		}
		var e agentpb.Event
		if proto.Unmarshal(raw, &e) == nil {
			sameFields(t, raw, &e)
		}
	})
}

// sameFields compares the fields that are read from raw with those of e.
func sameFields(t *testing.T, raw []byte, e *agentpb.Event) {
	t.Helper()
	var got []*agentpb.Field
	for field := range EncodedFields(raw) {
		name, v := ReadField(field)
		got = append(got, v.message(string(name)))
	}
	if !proto.Equal(&agentpb.Event{Fields: got}, &agentpb.Event{Fields: plain(e.Fields)}) {
		t.Errorf("%x: the fields are %v, want %v", raw, got, e.Fields)
	}
	// Canonical bytes have no name twice in one field.
	canonical := marshal(t, &agentpb.Event{Fields: got})
	for _, f := range got {
		first := f // or the first of that name that has a value
		if i := slices.IndexFunc(got, func(g *agentpb.Field) bool { return g.Name == f.Name && g.Value != nil }); i >= 0 {
			first = got[i]
		}
		if v := Lookup(canonical, f.Name); !proto.Equal(v.message(f.Name), first) {
			t.Errorf("%x: %q is %+v, want %v", raw, f.Name, v, first)
		}
	}
}

// plain returns fields without their unknown members.
func plain(fields []*agentpb.Field) (out []*agentpb.Field) {
	for _, f := range fields {
		out = append(out, &agentpb.Field{Name: f.Name, Value: f.Value})
	}
	return out
}

// message returns the field as the generated code has it.
func (v Value) message(name string) *agentpb.Field {
	f := &agentpb.Field{Name: name}
	switch v.Kind {
	case TextValue:
		f.Value = &agentpb.Field_Text{Text: v.String()}
	case NumberValue:
		f.Value = &agentpb.Field_Number{Number: v.Num}
	case FlagValue:
		f.Value = &agentpb.Field_Flag{Flag: v.Flag()}
	case DurationValue:
		f.Value = &agentpb.Field_Duration{Duration: v.Num}
	case JSONValue:
		f.Value = &agentpb.Field_Json{Json: v.String()}
	case RealValue:
		real, _ := v.Real()
		f.Value = &agentpb.Field_Real{Real: real}
	}
	return f
}

func sameValue(a, b Value) bool {
	return a.Kind == b.Kind && a.Num == b.Num && bytes.Equal(a.Text, b.Text)
}

func marshal(t testing.TB, m proto.Message) []byte {
	t.Helper()
	raw, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func BenchmarkLookup(b *testing.B) {
	raw := ofAllKinds(b)
	b.ReportAllocs()
	for range b.N {
		if !Lookup(raw, "real").Found() {
			b.Fatal("it is not found")
		}
	}
}
