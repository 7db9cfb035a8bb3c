package journal

import (
	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/values"
	"github.com/podstep/podstep/agent/wire"
)

// Event is an event on its way to the recorder. It becomes an agentpb.Event.
type Event struct {
	Seq      uint64
	Wall     int64
	Mono     int64
	Kind     agentpb.Kind
	Step     uint32 // id plus one; 0 is none
	Pod      *Pod
	Span     uint64
	Parent   uint64
	Sync     uint32
	Role     uint8
	Probe    uint8 // index plus one of the probe that saw it; 0: the step's first probe
	Fields   []wire.Field
	Wire     values.Fields // more fields
	Err      string
	Duration int64
	Line     uint32 // of the caller, in the function of Parent's step; 0: not known
}

// reportsState reports whether the event says how a probe fares. Every watcher gets such an event, whatever else it
// wants: it may explain why the watcher does not see something.
func (e *Event) reportsState() bool {
	return e.Kind == agentpb.Kind_NOTE && e.Probe != 0 && e.Step == 0
}

// appendTo appends the event in wire form.
func (e *Event) appendTo(b []byte) []byte {
	h := wire.Header{
		Seq: e.Seq, Time: e.Wall, Mono: e.Mono, Kind: e.Kind, Step: e.Step, Span: e.Span, Parent: e.Parent,
		Sync: e.Sync, Goroutine: uint32(e.Role),
	}
	if e.Pod != nil {
		h.Pod = e.Pod.ID
	}
	b = h.AppendHead(b)
	for i := range e.Fields {
		b = e.Fields[i].AppendTo(b)
	}
	b = append(b, e.Wire...)
	return wire.AppendTail(b, e.Err, e.Duration, uint32(e.Probe), e.Line)
}
