package state

import (
	"google.golang.org/protobuf/encoding/protowire"
)

// Numbers of agentpb.Field's members, and of Event.fields.
const (
	eventFields = 11

	fieldName     = 1
	fieldText     = 2
	fieldNumber   = 3
	fieldFlag     = 4
	fieldDuration = 5
	fieldJSON     = 6
)

// rawField is a field of an event that is looked up without decoding the rest.
// Its bytes are those of the event.
type rawField struct {
	ok   bool
	kind protowire.Number
	text []byte
	num  int64
}

func (f rawField) String() string { return string(f.text) }
func (f rawField) flag() bool     { return f.kind == fieldFlag && f.num != 0 }

// lookup finds a field of an encoded event by its name.
func lookup(raw []byte, name string) rawField {
	for len(raw) > 0 {
		num, typ, n := protowire.ConsumeTag(raw)
		if n < 0 {
			break
		}
		raw = raw[n:]
		if num != eventFields || typ != protowire.BytesType {
			if n = protowire.ConsumeFieldValue(num, typ, raw); n < 0 {
				break
			}
			raw = raw[n:]
			continue
		}
		v, n := protowire.ConsumeBytes(raw)
		if n < 0 {
			break
		}
		raw = raw[n:]
		if f := readField(v, name); f.ok {
			return f
		}
	}
	return rawField{}
}

// readField reads a field if it has that name.
func readField(raw []byte, name string) (f rawField) {
	for len(raw) > 0 {
		num, typ, n := protowire.ConsumeTag(raw)
		if n < 0 {
			return rawField{}
		}
		raw = raw[n:]
		switch typ {
		case protowire.BytesType:
			v, n := protowire.ConsumeBytes(raw)
			if n < 0 || num == fieldName && string(v) != name {
				return rawField{}
			}
			raw = raw[n:]
			f.take(num, v, 0)
		case protowire.VarintType:
			v, n := protowire.ConsumeVarint(raw)
			if n < 0 {
				return rawField{}
			}
			raw = raw[n:]
			f.take(num, nil, int64(v))
		default:
			n := protowire.ConsumeFieldValue(num, typ, raw)
			if n < 0 {
				return rawField{}
			}
			raw = raw[n:]
		}
	}
	return f
}

func (f *rawField) take(num protowire.Number, text []byte, n int64) {
	switch num {
	case fieldName:
		f.ok = true
	case fieldText, fieldJSON:
		f.kind, f.text = num, text
	case fieldNumber, fieldFlag, fieldDuration:
		f.kind, f.num = num, n
	}
}
