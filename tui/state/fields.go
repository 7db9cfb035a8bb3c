package state

import "github.com/podstep/podstep/agent/wire"

const (
	fieldNumber   = wire.NumberValue
	fieldFlag     = wire.FlagValue
	fieldDuration = wire.DurationValue
)

// rawField is a field of an event that is looked up without decoding the rest.
// Its bytes are those of the event.
type rawField struct {
	ok   bool
	kind wire.ValueKind
	text []byte
	num  int64
}

func (f rawField) String() string { return string(f.text) }
func (f rawField) flag() bool     { return f.kind == wire.FlagValue && f.num != 0 }

// lookup finds a field of an encoded event by its name.
func lookup(raw []byte, name string) rawField {
	v := wire.Lookup(raw, name)
	return rawField{v.Found(), v.Kind, v.Text, v.Num}
}
