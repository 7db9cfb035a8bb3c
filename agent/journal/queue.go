package journal

import (
	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/values"
)

const (
	// maxQueueBytes bounds the fields in the queue.
	maxQueueBytes = 16 << 20
	// keptQueue and keptQueueBytes bound the room that is kept after a burst.
	keptQueue      = 1 << 12
	keptQueueBytes = 512 << 10
)

// queue has events on their way from the kubelet's goroutines to the agent's
// own. The fields of all of them are in one piece of memory, so that an event
// costs no allocation.
type queue struct {
	events []queued
	fields values.Fields
}

// queued is an event in the queue, without its fields.
type queued struct {
	seq          uint64
	wall, mono   int64
	span, parent uint64
	duration     int64
	pod          *Pod
	err          string
	fieldsEnd    uint32 // where its fields end in queue.fields; they begin where those of the event before end
	step, sync   uint32
	line         uint32
	kind         uint8
	role, probe  uint8
}

func (q *queue) len() int { return len(q.events) }

// add copies an event, with its fields and more.
func (q *queue) add(e *Event, more values.Fields) {
	for i := range e.Fields {
		q.fields = e.Fields[i].AppendTo(q.fields)
	}
	q.fields = append(q.fields, more...)
	// The event is written in place, since copying it as a whole costs more while the garbage collector runs. reset has
	// left zeros there.
	n := len(q.events)
	if n == cap(q.events) {
		q.events = append(q.events, queued{})
	}
	q.events = q.events[:n+1]
	of := &q.events[n]
	of.seq, of.wall, of.mono = e.Seq, e.Wall, e.Mono
	of.span, of.parent, of.duration = e.Span, e.Parent, e.Duration
	of.fieldsEnd, of.step, of.sync = uint32(len(q.fields)), e.Step, e.Sync
	of.kind, of.role, of.probe, of.line = uint8(e.Kind), e.Role, e.Probe, e.Line
	of.pod = e.Pod
	if e.Err != "" {
		of.err = e.Err
	}
}

// event returns the event at a place. It is valid until the queue is reset.
func (q *queue) event(i int) Event {
	from, of := uint32(0), &q.events[i]
	if i > 0 {
		from = q.events[i-1].fieldsEnd
	}
	return Event{
		Seq: of.seq, Wall: of.wall, Mono: of.mono, Kind: agentpb.Kind(of.kind), Step: of.step, Pod: of.pod, Span: of.span, Parent: of.parent,
		Sync: of.sync, Role: of.role, Probe: of.probe, Wire: q.fields[from:of.fieldsEnd:of.fieldsEnd], Err: of.err, Duration: of.duration,
		Line: of.line,
	}
}

// reset empties the queue. It keeps some room, but no pointer of an event.
func (q *queue) reset() {
	clear(q.events)
	q.events, q.fields = q.events[:0], q.fields[:0]
	if cap(q.events) > keptQueue {
		q.events = nil
	}
	if cap(q.fields) > keptQueueBytes {
		q.fields = nil
	}
}

// chunk allocates memory for many small pieces at once. The memory is free again when none of its pieces is needed any
// more.
type chunk struct {
	size int // how much memory is allocated at once, in bytes
	free []byte
}

// copy returns a copy of b.
func (c *chunk) copy(b []byte) []byte {
	if len(b) > cap(c.free)-len(c.free) {
		if len(b) > c.size/8 {
			return append(make([]byte, 0, len(b)), b...)
		}
		c.free = make([]byte, 0, c.size)
	}
	n := len(c.free)
	c.free = append(c.free, b...)
	return c.free[n:len(c.free):len(c.free)]
}
