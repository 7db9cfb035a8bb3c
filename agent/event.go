package agent

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/podstep/podstep/agent/agentpb"
)

// event is an event on its way to the recorder. It becomes an agentpb.Event.
type event struct {
	seq      uint64
	wall     int64
	mono     int64
	kind     agentpb.Kind
	step     uint32 // id plus one; 0 is none
	pod      *pod
	span     uint64
	parent   uint64
	sync     uint32
	role     uint8
	fields   []field
	wire     fieldBytes // more fields
	err      string
	duration int64
}

// field is a named value of a step.
type field struct {
	name string
	kind fieldKind
	text string
	num  int64
	real float64
}

type fieldKind uint8

// The kinds of fields are the numbers of agentpb.Field's members.
const (
	textField     fieldKind = 2
	numberField   fieldKind = 3
	flagField     fieldKind = 4
	durationField fieldKind = 5
	jsonField     fieldKind = 6
	realField     fieldKind = 7
)

func text(name, v string) field         { return field{name: name, kind: textField, text: v} }
func number(name string, v int64) field { return field{name: name, kind: numberField, num: v} }
func flag(name string, v bool) field {
	f := field{name: name, kind: flagField}
	if v {
		f.num = 1
	}
	return f
}

// appendTo appends the event in wire form. It is agentpb.Event's Marshal
// written out: it runs for every event, and a test holds the two together.
func (e *event) appendTo(b []byte) []byte {
	b = appendUint(b, 1, e.seq)
	b = appendUint(b, 2, uint64(e.wall))
	b = appendUint(b, 3, uint64(e.mono))
	b = appendUint(b, 4, uint64(e.kind))
	b = appendUint(b, 5, uint64(e.step))
	if e.pod != nil {
		b = appendUint(b, 6, uint64(e.pod.id))
	}
	b = appendUint(b, 7, e.span)
	b = appendUint(b, 8, e.parent)
	b = appendUint(b, 9, uint64(e.sync))
	b = appendUint(b, 10, uint64(e.role))
	for i := range e.fields {
		b = fieldBytes(b).append(&e.fields[i])
	}
	b = append(b, e.wire...)
	b = appendString(b, 12, e.err)
	return appendUint(b, 13, uint64(e.duration))
}

func appendUint(b []byte, n protowire.Number, v uint64) []byte {
	if v == 0 {
		return b
	}
	return protowire.AppendVarint(protowire.AppendTag(b, n, protowire.VarintType), v)
}

func appendString(b []byte, n protowire.Number, v string) []byte {
	if v == "" {
		return b
	}
	return protowire.AppendString(protowire.AppendTag(b, n, protowire.BytesType), v)
}

// appendTo appends the field. A member of a oneof is written even if it is
// zero.
func (f *field) appendTo(b []byte) []byte {
	b = appendString(b, 1, f.name)
	n := protowire.Number(f.kind)
	switch f.kind {
	case textField, jsonField:
		return protowire.AppendString(protowire.AppendTag(b, n, protowire.BytesType), f.text)
	case realField:
		return protowire.AppendFixed64(protowire.AppendTag(b, n, protowire.Fixed64Type), floatBits(f.real))
	default:
		return protowire.AppendVarint(protowire.AppendTag(b, n, protowire.VarintType), uint64(f.num))
	}
}

func (f *field) size() int {
	n := 0
	if f.name != "" {
		n = 1 + protowire.SizeBytes(len(f.name))
	}
	switch f.kind {
	case textField, jsonField:
		return n + 1 + protowire.SizeBytes(len(f.text))
	case realField:
		return n + 1 + 8
	default:
		return n + 1 + protowire.SizeVarint(uint64(f.num))
	}
}

// proto is the field as a message.
func (f *field) proto() *agentpb.Field {
	p := &agentpb.Field{Name: f.name}
	switch f.kind {
	case textField:
		p.Value = &agentpb.Field_Text{Text: f.text}
	case numberField:
		p.Value = &agentpb.Field_Number{Number: f.num}
	case flagField:
		p.Value = &agentpb.Field_Flag{Flag: f.num != 0}
	case durationField:
		p.Value = &agentpb.Field_Duration{Duration: f.num}
	case jsonField:
		p.Value = &agentpb.Field_Json{Json: f.text}
	case realField:
		p.Value = &agentpb.Field_Real{Real: f.real}
	}
	return p
}
