//go:build node

package soak

import (
	"context"
	"sync"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/client"
	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/probes"
)

const (
	// slack is how much later than by its lease or budget a hold may end, on a machine that is too busy.
	slack = 15 * time.Second
)

// observer takes every event of the agent, from the first to the last.
type observer struct {
	s        *soak
	canaries *canaries

	// Only the following goroutine uses these, until it has ended.
	standing map[holdKey]standing
	events   int
	last     uint64           // number of the last event
	drops    map[string]int64 // how many events the agent reports lost, by kind
	reasons  map[string]int   // how many holds ended, by reason
	faults   map[string]int   // how many faults struck, by step
	// These are made from the events as clients make them, to be compared with the agent's answers.
	h        *history.History
	lives    *life.Lives
	asked    time.Time // when the agent was asked last
	verdicts map[string]int
	held     []time.Duration
	over     []time.Duration // by how much holds were longer than lease or budget
}

// holdKey identifies a hold: a call may be about several pods.
type holdKey struct {
	span uint64
	pod  probes.Pod
	on   string
}

type standing struct {
	step  string
	since time.Time
	most  time.Duration
	rec   *record
}

func newObserver(s *soak) *observer {
	h := history.New(s.agent.About(), probes.MustLoad())
	h.SetLimit(8 << 20)
	h.SetCallLimit(512)
	return &observer{
		h: h, lives: life.New(h), verdicts: map[string]int{},
		s: s, standing: map[holdKey]standing{}, drops: map[string]int64{}, reasons: map[string]int{}, faults: map[string]int{},
		canaries: &canaries{s: s, found: map[string]int{}, looked: map[string]int64{}},
	}
}

// follow takes the events that it has not had yet. It returns a function that ends this.
func (o *observer) follow() (stop func()) {
	ctx, cancel := context.WithCancel(o.s.ctx)
	c, err := client.Dial(ctx, o.s.l.State.Agent)
	if err != nil {
		o.s.t.Fatal(err)
	}
	w, err := c.Watch(ctx, &agentpb.WatchRequest{History: true, Node: true})
	if err != nil {
		o.s.t.Fatal(err)
	}
	o.h.SetInfo(c.About()) // events that it has had already come again
	var wait sync.WaitGroup
	wait.Go(func() {
		defer c.Close()
		for {
			b, err := w.Next()
			if err != nil {
				if ctx.Err() == nil {
					o.s.errorf("the watch on events ended early: %v", err)
				}
				return
			}
			o.batch(b)
		}
	})
	return func() {
		cancel()
		wait.Wait()
	}
}

func (o *observer) batch(b client.Batch) {
	for _, raw := range b.Raw.Events {
		o.canaries.scan("an event", raw)
	}
	first := o.h.First()
	o.h.Add(b.Raw, o.lives.Apply)
	if now := o.h.First(); now != first {
		o.lives.Forget(now)
	}
	if time.Since(o.asked) > askEvery {
		o.ask()
	}
	for _, e := range b.Events {
		if e.Seq == 0 || e.Seq > o.last {
			o.see(e)
		}
		o.last = max(o.last, e.Seq)
	}
}

// askEvery is how often the agent's answers are compared with a client's.
const askEvery = 2 * time.Second

// ask compares the agent's answers about pods with what the events show here. A pod that has later events on the way
// is left out.
func (o *observer) ask() {
	o.asked = time.Now()
	began := o.now()
	pods, err := o.s.agent.Pods(o.s.ctx, &agentpb.PodsRequest{})
	if err != nil || len(o.drops) > 0 {
		return
	}
	for _, st := range pods.Pods {
		i, ok := o.h.PodOf(st.GetPod().GetUid())
		if !ok {
			continue
		}
		last := o.h.Pod(i).Events.Last()
		if last == nil {
			continue
		}
		if head, ok := o.h.Header(*last); !ok || head.Seq != st.GetSeq() {
			continue
		}
		p := o.lives.Now().Pod(i)
		early, _ := o.lives.State(p, began)
		late, _ := o.lives.State(p, o.now())
		o.verdicts[st.GetState()]++
		if s := st.GetState(); s != early.String() && s != late.String() {
			o.s.errorf("pod %s is %s by the agent, and %v by its events", st.GetPod().GetName(), s, late)
		}
	}
}

// now returns the session time.
func (o *observer) now() int64 { return time.Now().UnixNano() - o.h.Origin() }

func (o *observer) see(e probes.Event) {
	o.events++
	switch e.Kind {
	case probes.Drop:
		for kind, n := range e.Fields {
			if n, ok := n.(int64); ok {
				o.drops[kind] += n
			}
		}
	case probes.Held:
		o.hold(e)
	case probes.Released:
		o.release(e)
	case probes.Fault:
		o.fault(e)
	}
}

func (o *observer) record(e probes.Event) *record {
	if e.Pod == nil {
		o.s.errorf("%s of %s is of no pod", e.Kind, e.Step)
		return nil
	}
	rec := o.s.pods.get(e.Pod.Name)
	if rec == nil {
		o.s.errorf("%s of %s is of pod %s, which is nobody's", e.Kind, e.Step, e.Pod.Name)
	}
	return rec
}

func (o *observer) hold(e probes.Event) {
	rec := o.record(e)
	if rec == nil {
		return
	}
	on, _ := e.Fields["on"].(string)
	if o.s.sides.held(side{e.Step, on}, e.Goroutine) == "" {
		o.s.errorf("pod %s is held at %s of %s, where none may be", rec.name, on, e.Step)
	}
	if e.Fields["node"] == true {
		o.s.errorf("while pod %s is held at %s of %s, the node stands still", rec.name, on, e.Step)
	}
	most := duration(e, "lease")
	if b := duration(e, "budget"); b > 0 {
		most = min(most, b)
	}
	o.standing[holdKey{e.Span, *e.Pod, on}] = standing{e.Step, e.Time, most, rec}
	o.s.pods.held(rec, 1)
}

// duration returns a field that is a duration.
func duration(e probes.Event, field string) time.Duration {
	text, _ := e.Fields[field].(string)
	d, _ := time.ParseDuration(text)
	return d
}

func (o *observer) release(e probes.Event) {
	rec := o.record(e)
	if rec == nil {
		return
	}
	on, _ := e.Fields["on"].(string)
	reason, _ := e.Fields["reason"].(string)
	o.reasons[reason]++
	key := holdKey{e.Span, *e.Pod, on}
	h, ok := o.standing[key]
	if !ok {
		if len(o.drops) == 0 {
			o.s.errorf("pod %s is released at %s of %s, and was not held", rec.name, on, e.Step)
		}
		return
	}
	delete(o.standing, key)
	o.s.pods.held(rec, -1)
	took := time.Duration(e.DurationNs)
	o.held = append(o.held, took)
	if over := took - h.most; over > 0 {
		o.over = append(o.over, over)
		if over > slack {
			o.s.errorf("pod %s was held at %s of %s for %v, and should have been for %v at most: %s", rec.name, on, e.Step, took, h.most, reason)
		}
	}
}

func (o *observer) fault(e probes.Event) {
	rec := o.record(e)
	if rec == nil {
		return
	}
	o.faults[e.Step]++
	o.s.pods.change(rec, func() { rec.faults, rec.touched = rec.faults+1, time.Now() })
	if !rec.faulty {
		o.s.errorf("a fault is injected into pod %s at %s, which is not labelled for it", rec.name, e.Step)
	}
}
