package wire

import (
	"iter"
	"math"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// ValueKind is the kind of a field's value. The numbers are those of the members of agentpb.Field.
type ValueKind uint8

// The kinds of values. NoValue stands for a field that is not there, or that a newer agent gave a value of another
// kind.
const (
	NoValue       ValueKind = 0
	TextValue     ValueKind = 2
	NumberValue   ValueKind = 3
	FlagValue     ValueKind = 4
	DurationValue ValueKind = 5
	JSONValue     ValueKind = 6
	RealValue     ValueKind = 7
)

// Value is the value of an event's field, read without decoding the event. The zero Value stands for a field that is
// not there.
type Value struct {
	Kind ValueKind
	// Text is the value of a TextValue or a JSONValue. It is a part of the
	// encoded event, not a copy.
	Text []byte
	// Num is the value of a NumberValue; of a DurationValue, in nanoseconds; of a FlagValue, 0 or not. Of a RealValue
	// it has the bits.
	Num int64
}

// Found reports whether the event has the field.
func (v Value) Found() bool { return v.Kind != NoValue }

// String returns a copy of Text.
func (v Value) String() string { return string(v.Text) }

// Flag returns the value of a FlagValue; false if it is of another kind.
func (v Value) Flag() bool { return v.Kind == FlagValue && v.Num != 0 }

// Number returns the value of a NumberValue, and whether it is one.
func (v Value) Number() (int64, bool) { return v.Num, v.Kind == NumberValue }

// Duration returns the value of a DurationValue, and whether it is one.
func (v Value) Duration() (time.Duration, bool) {
	return time.Duration(v.Num), v.Kind == DurationValue
}

// Real returns the value of a RealValue, and whether it is one.
func (v Value) Real() (float64, bool) {
	return math.Float64frombits(uint64(v.Num)), v.Kind == RealValue
}

// Lookup finds the first field of an encoded event that has that name and a
// value. It does not allocate. Bytes that cannot be read end the search.
func Lookup(raw []byte, name string) Value {
	for field, rest, ok := nextField(raw); ok; field, rest, ok = nextField(rest) {
		if v := readValue(field, name); v.Found() {
			return v
		}
	}
	return Value{}
}

// EncodedFields yields the fields of an encoded event, each as the encoded agentpb.Field that ReadField reads: parts of
// raw, not copies. It ends at bytes that cannot be read.
func EncodedFields(raw []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for field, rest, ok := nextField(raw); ok; field, rest, ok = nextField(rest) {
			if !yield(field) {
				return
			}
		}
	}
}

// nextField returns the first field in the rest of an encoded event, and the bytes after it. ok is false if there is
// none, or if bytes before it cannot be read.
func nextField(raw []byte) (field, rest []byte, ok bool) {
	for i := 0; i < len(raw); {
		tag, n := uvarint(raw[i:])
		if n <= 0 {
			return nil, nil, false
		}
		i += n
		if tag == uint64(fieldTag) {
			field, n = bytesOf(raw[i:])
			if n < 0 {
				return nil, nil, false
			}
			return field, raw[i+n:], true
		}
		if n = sizeOf(raw[i:], tag); n < 0 {
			return nil, nil, false
		}
		i += n
	}
	return nil, nil, false
}

// ReadField reads an encoded agentpb.Field. If the field cannot be read in full, v is the zero Value.
func ReadField(field []byte) (name []byte, v Value) {
	for len(field) > 0 {
		m, rest, ok := next(field)
		if !ok {
			return name, Value{}
		}
		field = rest
		if m.num == nameMember && m.typ == protowire.BytesType {
			name = m.bytes
			continue
		}
		v.setFrom(&m)
	}
	return name, v
}

// readValue returns the value of a field that has that name, and the zero Value for any other field. Nearly all fields
// begin with their name, and few have the one that is looked for.
func readValue(field []byte, name string) Value {
	if len(field) > 1 && field[0] == nameTag && field[1] < 0x80 {
		end := 2 + int(field[1])
		if end > len(field) || string(field[2:end]) != name {
			return Value{}
		}
		return valueOf(field[end:])
	}
	if is, v := ReadField(field); string(is) == name {
		return v
	}
	return Value{}
}

// valueOf reads the members of a field that follow its name.
func valueOf(field []byte) (v Value) {
	for len(field) > 0 {
		m, rest, ok := next(field)
		if !ok {
			return Value{}
		}
		v.setFrom(&m)
		field = rest
	}
	return v
}

// setFrom sets the value from a member, if the member has one. If several have, the last one counts, as in all
// messages.
func (v *Value) setFrom(m *member) {
	switch kind := ValueKind(m.num); {
	case m.num > protowire.Number(RealValue):
	case m.typ == protowire.BytesType && (kind == TextValue || kind == JSONValue):
		*v = Value{Kind: kind, Text: m.bytes}
	case m.typ == protowire.VarintType && (kind == NumberValue || kind == FlagValue || kind == DurationValue),
		m.typ == protowire.Fixed64Type && kind == RealValue:
		*v = Value{Kind: kind, Num: int64(m.uint)}
	}
}
