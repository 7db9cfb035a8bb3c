// Package tracetest gives tests recorded traces as they are. For measurements it makes long traces of many pods out of
// a recorded one: the events are a real node's, only there are more of them.
package tracetest

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/trace"
)

// Crowd plays a recording several times at once. Each replica has pods of its own, and plays the recording again for
// the same pods when it is over. The replicas begin at different places, so that every part of a pod's life happens at
// any moment.
type Crowd struct {
	Info     *agentpb.InfoResponse
	events   []*agentpb.Event
	pods     map[uint32]*agentpb.Pod
	length   int64 // nanoseconds
	replicas []*replica
	begin    time.Time
	pace     float64
	last     int64 // when the last event was, in the recording's time
	seq      uint64
	// podStep is the distance between the pod numbers of two replicas, spanStep that between the span numbers of two
	// rounds. rounds counts the rounds.
	podStep, spanStep uint64
	rounds            uint64

	holding held
}

// replica plays the recording with pods of its own.
type replica struct {
	suffix      string
	next        int
	shift       int64
	pods, spans uint64 // added to the recording's numbers
	sent        map[uint32]bool
}

// NewCrowd reads the recording at path. Pod web is web0, web1 and so on. The first event is at begin, and time
// goes pace times as fast as it was recorded.
func NewCrowd(path string, replicas int, begin time.Time, pace float64) (*Crowd, error) {
	info, batches, err := Read(path)
	if err != nil {
		return nil, err
	}
	c := &Crowd{Info: info, pods: map[uint32]*agentpb.Pod{}, begin: begin, pace: pace}
	for _, b := range batches {
		if err := c.addBatch(b); err != nil {
			return nil, err
		}
	}
	if len(c.events) == 0 || c.length == 0 {
		return nil, fmt.Errorf("read recording %s: it has no events", path)
	}
	for i := range replicas {
		c.addReplica(i, replicas)
	}
	return c, nil
}

// addBatch adds a batch of the recording. The recording's clock begins with its first event.
func (c *Crowd) addBatch(b *agentpb.Batch) error {
	for _, p := range b.Pods {
		c.pods[p.Id] = p
		c.podStep = max(c.podStep, uint64(p.Id))
	}
	for _, raw := range b.Events {
		e := &agentpb.Event{}
		if err := proto.Unmarshal(raw, e); err != nil {
			return fmt.Errorf("read event of recording: %w", err)
		}
		c.events = append(c.events, e)
		c.spanStep = max(c.spanStep, e.Span)
		c.length = e.Mono - c.events[0].Mono
	}
	return nil
}

// addReplica adds the i-th of n replicas, and lets it begin at its place.
func (c *Crowd) addReplica(i, n int) {
	t := &replica{suffix: strconv.Itoa(i), next: i * len(c.events) / n, pods: uint64(i) * c.podStep, sent: map[uint32]bool{}}
	t.shift = -c.timeOf(t.next)
	c.beginRound(t)
	c.replicas = append(c.replicas, t)
}

// timeOf returns when an event was recorded, in nanoseconds since the first one.
func (c *Crowd) timeOf(i int) int64 { return c.events[i].Mono - c.events[0].Mono }

// beginRound begins a round of t, with new spans.
func (c *Crowd) beginRound(t *replica) {
	t.spans = c.rounds * c.spanStep
	c.rounds++
}

// Batch returns the next n events.
func (c *Crowd) Batch(n int) (*agentpb.Batch, error) {
	b := &agentpb.Batch{}
	for len(b.Events) < n {
		t, at := c.nextReplica()
		e := c.events[t.next]
		if !c.isHeld(t, e) {
			if err := c.publish(b, t, e, at); err != nil {
				return nil, err
			}
		}
		if t.next++; t.next == len(c.events) {
			t.next, t.shift = 0, t.shift+c.length
			c.beginRound(t)
		}
	}
	return b, nil
}

// publish adds an event to b. If the event's pod is to be held there, it adds the HOLD event too.
func (c *Crowd) publish(b *agentpb.Batch, t *replica, e *agentpb.Event, at int64) error {
	if e.Pod != 0 && !t.sent[e.Pod] {
		t.sent[e.Pod] = true
		b.Pods = append(b.Pods, t.pod(c.pods[e.Pod]))
	}
	made := []*agentpb.Event{c.event(t, e, at)}
	if c.holding.wants(c.Info, e) {
		made = append(made, c.hold(t, e, at))
	}
	for _, one := range made {
		raw, err := proto.Marshal(one)
		if err != nil {
			return fmt.Errorf("encode event: %w", err)
		}
		b.Events = append(b.Events, raw)
	}
	return nil
}

// nextReplica returns the replica that has the next event, and when that is.
func (c *Crowd) nextReplica() (first *replica, at int64) {
	for _, t := range c.replicas {
		if when := t.shift + c.timeOf(t.next); first == nil || when < at {
			first, at = t, when
		}
	}
	return first, at
}

// pod returns a pod of the recording as one of t's own.
func (t *replica) pod(p *agentpb.Pod) *agentpb.Pod {
	return &agentpb.Pod{Id: p.GetId() + uint32(t.pods), Namespace: p.GetNamespace(), Name: p.GetName() + t.suffix, Uid: p.GetUid() + t.suffix}
}

// Pods returns all pods that there will be in the end.
func (c *Crowd) Pods() (all []*agentpb.Pod) {
	for _, t := range c.replicas {
		for _, p := range c.pods {
			all = append(all, t.pod(p))
		}
	}
	return all
}

func (c *Crowd) event(t *replica, e *agentpb.Event, at int64) *agentpb.Event {
	c.seq++
	c.last = max(c.last, at)
	out := &agentpb.Event{
		Seq: c.seq, Time: c.begin.UnixNano() + c.paced(at), Mono: 1 + c.paced(at), Kind: e.Kind, Step: e.Step, Sync: e.Sync,
		Goroutine: e.Goroutine, Fields: e.Fields, Error: e.Error, Duration: c.paced(e.Duration),
	}
	if e.Pod != 0 {
		out.Pod = e.Pod + uint32(t.pods)
	}
	if e.Span != 0 {
		out.Span = e.Span + t.spans
	}
	if e.Parent != 0 {
		out.Parent = e.Parent + t.spans
	}
	return out
}

// Length returns the time from the first event that was played to the last.
func (c *Crowd) Length() time.Duration { return time.Duration(c.paced(c.last)) }

// paced returns a duration of the recording at the pace of the crowd.
func (c *Crowd) paced(d int64) int64 { return int64(float64(d) / c.pace) }

// Write writes so many events to a trace file, in blocks like those of a recording. It returns the file's size in
// bytes.
func (c *Crowd) Write(path string, events int) (int64, error) {
	w, err := trace.Create(path, &trace.Header{Podstep: "v0", Began: c.begin, Info: c.Info})
	if err != nil {
		return 0, err
	}
	const block = 3000
	for n := 0; n < events; n += block {
		b, err := c.Batch(min(block, events-n))
		if err != nil {
			return 0, errors.Join(err, w.Close())
		}
		if err := errors.Join(w.Add(b), w.Flush()); err != nil {
			return 0, errors.Join(err, w.Close())
		}
	}
	return w.Size(), w.Close()
}
