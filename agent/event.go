package agent

import (
	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/values"
	"github.com/podstep/podstep/agent/wire"
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
	probe    uint8 // index plus one of the probe that saw it; 0: the step's first probe
	fields   []field
	wire     fieldBytes // more fields
	err      string
	duration int64
	line     uint32 // of the caller, in the function of parent's step; 0: not known
}

// field is a named value of a step.
type field = wire.Field

// fieldBytes are fields in wire form.
type fieldBytes = values.Fields

func text(name, v string) field         { return wire.Text(name, v) }
func number(name string, v int64) field { return wire.Number(name, v) }
func flag(name string, v bool) field    { return wire.Flag(name, v) }

// appendTo appends the event in wire form.
func (e *event) appendTo(b []byte) []byte {
	h := wire.Header{
		Seq: e.seq, Time: e.wall, Mono: e.mono, Kind: e.kind, Step: e.step, Span: e.span, Parent: e.parent,
		Sync: e.sync, Goroutine: uint32(e.role),
	}
	if e.pod != nil {
		h.Pod = e.pod.ID
	}
	b = h.AppendHead(b)
	for i := range e.fields {
		b = e.fields[i].AppendTo(b)
	}
	b = append(b, e.wire...)
	return wire.AppendTail(b, e.err, e.duration, uint32(e.probe), e.line)
}
