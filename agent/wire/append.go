package wire

import (
	"encoding/binary"
	"math"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// An event is appended in three parts, in the order of its members:
// Header.AppendHead, then fields, then AppendTail.

// AppendHead appends the members of an encoded event that come before its
// fields: all but the error, the duration and the probe.
func (h *Header) AppendHead(b []byte) []byte {
	b = appendUint(b, seqMember, h.Seq)
	b = appendUint(b, timeMember, uint64(h.Time))
	b = appendUint(b, monoMember, uint64(h.Mono))
	b = appendUint(b, kindMember, uint64(h.Kind))
	b = appendUint(b, stepMember, uint64(h.Step))
	b = appendUint(b, podMember, uint64(h.Pod))
	b = appendUint(b, spanMember, h.Span)
	b = appendUint(b, parentMember, h.Parent)
	b = appendUint(b, syncMember, uint64(h.Sync))
	return appendUint(b, goroutineMember, uint64(h.Goroutine))
}

// AppendTail appends the members of an encoded event that come after its
// fields: the error, which is valid UTF-8, the duration in nanoseconds, the
// number of the probe, and the line of the caller.
func AppendTail[T string | []byte](b []byte, err T, duration int64, probe, line uint32) []byte {
	if len(err) > 0 {
		b = append(b, errorMember<<3|byte(protowire.BytesType))
		b = append(protowire.AppendVarint(b, uint64(len(err))), err...)
	}
	b = appendUint(b, durationMember, uint64(duration))
	b = appendUint(b, probeMember, uint64(probe))
	return appendUint(b, lineMember, uint64(line))
}

// AppendField appends an encoded agentpb.Field, as EncodedFields yields it, to an encoded event.
func AppendField(b, field []byte) []byte {
	return protowire.AppendBytes(append(b, fieldTag), field)
}

// MaxSize returns the most bytes that an event with these encoded fields and this error takes, whatever its numbers
// are.
func MaxSize(fields [][]byte, err []byte) int {
	const numbers = (lineMember - 2) * (1 + binary.MaxVarintLen64)
	n := numbers + 1 + protowire.SizeBytes(len(err))
	for _, f := range fields {
		n += 1 + protowire.SizeBytes(len(f))
	}
	return n
}

// Field is a field to be appended to an event. Text, Number, Flag, Duration,
// JSON and Real make one.
type Field struct {
	Name string
	Kind ValueKind
	Text string // of a TextValue or a JSONValue; valid UTF-8
	Num  int64  // of the other kinds, as in Value
}

// Text makes a field that is a text. It must be valid UTF-8.
func Text(name, v string) Field { return Field{Name: name, Kind: TextValue, Text: v} }

// Number makes a field that is a number.
func Number(name string, v int64) Field { return Field{Name: name, Kind: NumberValue, Num: v} }

// Flag makes a field that is true or false.
func Flag(name string, v bool) Field {
	f := Field{Name: name, Kind: FlagValue}
	if v {
		f.Num = 1
	}
	return f
}

// Duration makes a field that is a duration.
func Duration(name string, v time.Duration) Field {
	return Field{Name: name, Kind: DurationValue, Num: int64(v)}
}

// JSON makes a field that is a document. It must be valid UTF-8.
func JSON(name, v string) Field { return Field{Name: name, Kind: JSONValue, Text: v} }

// Real makes a field that is a number with a fraction.
func Real(name string, v float64) Field {
	return Field{Name: name, Kind: RealValue, Num: int64(math.Float64bits(v))}
}

// AppendTo appends the field to an encoded event. A value of zero is written, too, since it is the member of a oneof.
func (f *Field) AppendTo(b []byte) []byte {
	b = protowire.AppendVarint(append(b, fieldTag), uint64(f.size()))
	if f.Name != "" {
		b = protowire.AppendString(append(b, nameTag), f.Name)
	}
	switch f.Kind {
	case TextValue, JSONValue:
		return protowire.AppendString(append(b, f.Kind.tag(protowire.BytesType)), f.Text)
	case RealValue:
		return protowire.AppendFixed64(append(b, f.Kind.tag(protowire.Fixed64Type)), uint64(f.Num))
	default:
		return protowire.AppendVarint(append(b, f.Kind.tag(protowire.VarintType)), uint64(f.Num))
	}
}

func (f *Field) size() int {
	n := 0
	if f.Name != "" {
		n = 1 + protowire.SizeBytes(len(f.Name))
	}
	switch f.Kind {
	case TextValue, JSONValue:
		return n + 1 + protowire.SizeBytes(len(f.Text))
	case RealValue:
		return n + 1 + protowire.SizeFixed64()
	default:
		return n + 1 + protowire.SizeVarint(uint64(f.Num))
	}
}

// Name is a field's name, encoded once for all events that have the field.
type Name struct {
	name    string
	encoded []byte
}

// NewName encodes a name.
func NewName(name string) Name {
	if name == "" {
		return Name{}
	}
	return Name{name, protowire.AppendString([]byte{nameTag}, name)}
}

func (n *Name) String() string { return n.name }

// AppendText appends a text field to an encoded event. The text must be valid
// UTF-8.
func (n *Name) AppendText(b []byte, v string) []byte {
	b = protowire.AppendVarint(append(b, fieldTag), uint64(len(n.encoded)+1+protowire.SizeBytes(len(v))))
	b = append(append(b, n.encoded...), TextValue.tag(protowire.BytesType))
	return protowire.AppendString(b, v)
}

// AppendNumber appends a field that is a number, a flag or a duration to an
// encoded event.
func (n *Name) AppendNumber(b []byte, kind ValueKind, v int64) []byte {
	b = protowire.AppendVarint(append(b, fieldTag), uint64(len(n.encoded)+1+protowire.SizeVarint(uint64(v))))
	b = append(append(b, n.encoded...), kind.tag(protowire.VarintType))
	return protowire.AppendVarint(b, uint64(v))
}

// The tags of Event.fields and Field.name. All members have numbers below 16, so a tag takes one byte.
const (
	fieldTag = fieldsMember<<3 | byte(protowire.BytesType)
	nameTag  = nameMember<<3 | byte(protowire.BytesType)
)

func (k ValueKind) tag(t protowire.Type) byte { return byte(k)<<3 | byte(t) }

// appendUint appends a member that is a number, unless it is zero.
func appendUint(b []byte, number byte, v uint64) []byte {
	if v == 0 {
		return b
	}
	return protowire.AppendVarint(append(b, number<<3|byte(protowire.VarintType)), v)
}
