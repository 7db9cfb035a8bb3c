// Package values turns the values that the kubelet's functions have in hand into the fields of events: encoded at once,
// short, and without secrets.
package values

import (
	"bytes"

	"google.golang.org/protobuf/proto"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
)

// Fields are fields in wire form: a part of an event, which wire.Lookup reads as it reads a whole event.
type Fields []byte

// Names returns the names of fields, encoded.
func Names(fields []probes.Field) []wire.Name {
	out := make([]wire.Name, len(fields))
	for i, f := range fields {
		out[i] = wire.NewName(f.Name)
	}
	return out
}

// Protos returns the fields as messages.
func (w Fields) Protos() []*agentpb.Field {
	e := &agentpb.Event{}
	if proto.Unmarshal(w, e) != nil {
		return nil // does not happen: this package wrote it
	}
	return e.Fields
}

// Only returns the fields of these names; nil: all.
func (w Fields) Only(names map[string]bool) (out Fields) {
	if names == nil {
		return w
	}
	for f := range wire.EncodedFields(w) {
		if name, _ := wire.ReadField(f); names[string(name)] {
			out = wire.AppendField(out, f)
		}
	}
	return out
}

// Take appends the field of a value, if the value makes one.
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

// Differ reports whether a field that both have differs. Only plain values count: a document may be written in several
// ways.
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
