package logstory

import (
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/wire"
)

// events makes events of calls, as an agent sends them.
type events struct {
	survey *survey
	pods   *pods
	roles  map[string]uint32 // the goroutines of steps, by their names

	seq, spans uint64
	mono       int64
	out        [][]byte
}

func (e *events) begin(c *Call, at time.Time, fields []wire.Field) {
	e.put(agentpb.Kind_ENTER, c, at, fields, "", 0)
}

func (e *events) end(c *Call, at time.Time, results []wire.Field, err string, took time.Duration) {
	e.put(agentpb.Kind_EXIT, c, at, results, err, took)
}

// put makes an event.
func (e *events) put(kind agentpb.Kind, c *Call, at time.Time, fields []wire.Field, err string, took time.Duration) {
	e.seq++
	e.mono = max(e.mono, int64(at.Sub(e.survey.first))+1)
	h := wire.Header{
		Seq: e.seq, Time: at.UnixNano(), Mono: e.mono, Kind: kind, Step: uint32(c.Step.ID) + 1, Pod: c.pod.id, Span: e.span(c), Parent: e.span(c.Parent),
		Sync: c.pod.turns, Goroutine: e.roles[c.Step.Goroutine],
	}
	raw := h.AppendHead(nil)
	for i := range fields {
		raw = fields[i].AppendTo(raw)
	}
	e.out = append(e.out, wire.AppendTail(raw, err, max(0, int64(took)), 0, 0))
}

// span returns the number of a call; 0 for none.
func (e *events) span(c *Call) uint64 {
	if c == nil {
		return 0
	}
	if c.State == nil {
		e.spans++
		c.State = e.spans
	}
	return c.State.(uint64)
}

// batch returns the events that were made since it was last called.
func (e *events) batch() *agentpb.Batch {
	b := &agentpb.Batch{Events: e.out}
	for _, p := range e.pods.fresh {
		b.Pods = append(b.Pods, &agentpb.Pod{Id: p.id, Namespace: p.namespace, Name: p.name, Uid: p.uid})
	}
	e.pods.fresh, e.out = nil, nil
	return b
}
