package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/mcp"
	"github.com/podstep/podstep/agent/trace"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/cmd/podstep/lines"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/filter"
)

// The bounds of the events in one answer of trace: their bytes, and how many of the last can be asked for.
const (
	maxTraceBytes = 512 << 10
	maxLast       = 1000
)

// Trace answers as podstep trace does, with the events that there are.
func (o *oncall) Trace(ctx context.Context, q mcp.TraceQuestion) (*mcp.Answer, error) {
	a, err := o.trace(ctx, q)
	return a, ofTool(err)
}

func (o *oncall) trace(ctx context.Context, q mcp.TraceQuestion) (*mcp.Answer, error) {
	request, p, err := tracePrinter(&q)
	if err != nil {
		return nil, err
	}
	r, err := o.recording(q.Recording)
	if err != nil {
		return nil, err
	}
	chosen := &chosenEvents{after: q.After, last: q.Last}
	p.Lines = chosen
	a, _ := o.here()
	out := &mcp.Answer{}
	if r != nil {
		err = r.trace(ctx, a, request.Pods, p, out)
	} else {
		err = a.traceAgent(ctx, request, p, out)
	}
	if err != nil {
		return nil, err
	}
	out.Unseen = append(out.Unseen, chosen.left()...)
	if chosen.matched == 0 {
		out.Unseen = append(out.Unseen, fmt.Sprintf("no event of %s is there that all of the arguments choose; pods lists the pods", request.Pods.Written()))
	}
	out.Result = chosen.events
	if chosen.events == nil {
		out.Result = []json.RawMessage{}
	}
	return out, nil
}

// tracePrinter checks a question, and returns what is asked for and what chooses the events.
func tracePrinter(q *mcp.TraceQuestion) (*agentpb.WatchRequest, *lines.Printer, error) {
	if q.Last < 0 || q.Last > maxLast {
		return nil, nil, fmt.Errorf("last is %d, and it is from 1 to %d; leave it out for all", q.Last, maxLast)
	}
	catalogue, err := probes.Load()
	if err != nil {
		return nil, nil, err
	}
	name := podName{q.Namespace}
	sel, err := name.some(q.Pods)
	if err != nil {
		return nil, nil, err
	}
	globs, err := stepGlobs(catalogue, q.Steps)
	if err != nil {
		return nil, nil, err
	}
	f, err := filter.Parse(q.Filter)
	if err != nil {
		return nil, nil, fmt.Errorf("filter %q: %w", q.Filter, err)
	}
	request := &agentpb.WatchRequest{Pods: sel, Steps: globs, History: true, OnlyHistory: true}
	return request, &lines.Printer{Out: io.Discard, Steps: globs, Filter: f}, nil
}

// traceAgent gives a printer the events that the agent remembers.
func (a *app) traceAgent(ctx context.Context, request *agentpb.WatchRequest, p *lines.Printer, out *mcp.Answer) error {
	c, err := a.dialReader(ctx)
	if err != nil {
		return noAgentFor(err)
	}
	defer c.Close()
	out.Evidence, out.Unseen = evidenceOf(agentSource, c.About()), unseenOf(c.About())
	w, err := c.Watch(ctx, request)
	if err != nil {
		return err
	}
	for {
		b, err := w.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		for i := range b.Events {
			if err := p.Add(&b.Events[i]); err != nil {
				return err
			}
		}
	}
}

// trace gives a printer the events of a recording that are of some pods.
func (r *recording) trace(ctx context.Context, a *app, of *agentpb.PodSelector, p *lines.Printer, out *mcp.Answer) error {
	open, err := r.open(ctx, a)
	if err != nil {
		return err
	}
	defer open.Close()
	info := open.Header().Info
	out.Evidence, out.Unseen = evidenceOf(r.called(), info), unseenOf(info)
	decode := wire.NewDecoder(info)
	for ctx.Err() == nil {
		b, err := open.Next()
		var fault *trace.Fault
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.As(err, &fault):
			out.Unseen = append(out.Unseen, "what comes after the place where the recording breaks off: "+fault.Error())
			return nil
		case err != nil:
			return fmt.Errorf("read %s: %w", r.called(), err)
		}
		decode.AddPods(b.Pods)
		for _, raw := range b.Events {
			e := decode.Event(raw)
			out.Evidence.At = e.Time
			if e.Kind != probes.Drop && (e.Pod == nil || !of.Selects(e.Pod.Namespace, e.Pod.Name)) {
				continue
			}
			if err := p.Add(&e); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

// chosenEvents are the events of an answer, each as podstep trace -o json prints it. As lines of a printer, it gives
// nothing back.
type chosenEvents struct {
	after uint64
	last  int // 0: the first that have room

	events  []json.RawMessage
	size    int
	seq     uint64 // of the last of events
	matched int
	line    lines.JSON
}

// Add takes an event, if it has room.
func (c *chosenEvents) Add(e *probes.Event) error {
	if e.Seq <= c.after {
		return nil
	}
	if err := c.line.Add(e); err != nil {
		return err
	}
	text := bytes.TrimSpace(c.line.Flush())
	c.matched++
	full := c.size+len(text) > maxTraceBytes
	if c.last == 0 && (full || len(c.events) < c.matched-1) {
		return nil
	}
	c.events, c.size, c.seq = append(c.events, text), c.size+len(text), e.Seq
	for c.last > 0 && (len(c.events) > c.last || c.size > maxTraceBytes) {
		c.size -= len(c.events[0])
		c.events = c.events[1:]
	}
	return nil
}

// Flush returns nothing: the events are the answer.
func (c *chosenEvents) Flush() []byte { return nil }

// left says which of the events that were asked for had no room.
func (c *chosenEvents) left() []string {
	left := c.matched - len(c.events)
	switch {
	case c.last > 0 && len(c.events) < min(c.last, c.matched):
		return []string{fmt.Sprintf("of the last %d events the first %d: an answer has no room for them; choose fewer by steps or filter", c.last, min(c.last, c.matched)-len(c.events))}
	case c.last == 0 && left > 0:
		return []string{fmt.Sprintf("%d more events that were asked for: ask again with after %d, or choose fewer by steps or filter", left, c.seq)}
	}
	return nil
}
