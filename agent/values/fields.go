// Package values makes fields of the values that the kubelet's functions have in
// hand, as events have them: encoded at once, short, and without secrets.
package values

import (
	"bytes"

	"google.golang.org/protobuf/proto"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
)

// Fields are fields in wire form, as they are in an event: a part of an event
// that wire.Lookup reads as it reads a whole one.
type Fields []byte

// Names are the names of fields, ready to be written.
func Names(fields []probes.Field) []wire.Name {
	out := make([]wire.Name, len(fields))
	for i, f := range fields {
		out[i] = wire.NewName(f.Name)
	}
	return out
}

// Protos are the fields as messages.
func (w Fields) Protos() []*agentpb.Field {
	e := &agentpb.Event{}
	if proto.Unmarshal(w, e) != nil {
		return nil // it was written here
	}
	return e.Fields
}

// Take appends the field that a value makes, if it makes one.
func (w Fields) Take(n *wire.Name, v any) Fields {
	switch v := v.(type) {
	case string:
		return n.AppendText(w, Text(v))
	case bool:
		if v {
			return n.AppendNumber(w, wire.FlagValue, 1)
		}
		return n.AppendNumber(w, wire.FlagValue, 0)
	case int:
		return n.AppendNumber(w, wire.NumberValue, int64(v))
	}
	f, ok := fieldOf(n.String(), v)
	if !ok {
		return w
	}
	return f.AppendTo(w)
}

// Differ reports whether fields that both have, and that are plain values, are not
// the same. Documents may be written in several ways.
func (w Fields) Differ(other Fields) bool {
	for f := range wire.EncodedFields(w) {
		name, v := wire.ReadField(f)
		if !v.Found() || v.Kind == wire.JSONValue {
			continue
		}
		theirs := wire.Lookup(other, string(name))
		if theirs.Kind == v.Kind && (theirs.Num != v.Num || !bytes.Equal(theirs.Text, v.Text)) {
			return true
		}
	}
	return false
}
