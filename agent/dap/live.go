package dap

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/google/go-dap"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/client"
	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/probes/words"
)

const (
	// answerIn is how long an agent may take for an answer that needs no pod.
	answerIn = 5 * time.Second
	// pollEvery is how often podstep asks for what an agent does not stream.
	pollEvery = 2 * time.Second
)

// live is a target that is served by an agent. All that it holds and arms ends with its connection.
type live struct {
	s    *session
	c    *client.Client
	args *attachArguments
	// lab is the node of launchLab, and create makes its pod; nil: the node is no lab of this session.
	lab    Lab
	create func()
	ctx    context.Context
	end    context.CancelFunc

	st         *story
	ps         *points
	pods       map[int]*pod
	log        logger
	caughtUp   chan struct{}
	shows      bool // the editor is ready for stops
	caught     bool
	lostEvents bool // some events of holds may have been lost
}

// newLive attaches to the agent at a place. It returns when it knows the pods.
func newLive(ctx context.Context, s *session, sel *agentpb.PodSelector, a *attachArguments, place client.Place) (*live, error) {
	c, err := client.Reach(ctx, place)
	if err != nil {
		return nil, err
	}
	l := &live{s: s, c: c, args: a, ps: newPoints(c.About(), sel), pods: map[int]*pod{}, caughtUp: make(chan struct{})}
	l.ctx, l.end = context.WithCancel(ctx)
	if l.st, err = newStory(c.About(), sel, storyLimit); err != nil {
		l.close()
		return nil, err
	}
	if sel.IsNamed() {
		_ = c.WatchClosely(l.ctx, sel) // without it the stack has fewer frames
	}
	w, err := c.Watch(l.ctx, &agentpb.WatchRequest{Pods: sel, History: true, Node: true})
	if err != nil {
		l.close()
		return nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- l.follow(w) }()
	select {
	case <-l.caughtUp:
	case err := <-ended:
		l.close()
		return nil, err
	case <-ctx.Done():
		l.close()
		return nil, ctx.Err()
	}
	if err := l.meet(); err != nil {
		l.close()
		return nil, err
	}
	go func() { l.lost(<-ended) }()
	go l.poll()
	return l, nil
}

// meet learns the pods that the agent has no events of any more.
func (l *live) meet() error {
	ctx, cancel := context.WithTimeout(l.ctx, answerIn)
	defer cancel()
	answer, err := l.c.Pods(ctx, &agentpb.PodsRequest{Pods: l.ps.of})
	if err != nil {
		return err
	}
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	for _, p := range answer.GetPods() {
		place := l.st.h.Learn(p.GetPod())
		l.st.lives.Adopt(place, p)
		l.comes(place)
	}
	about := l.c.About()
	l.s.output(console, "podstep is attached to the kubelet %s on node %s, for %s", about.GetKubeletVersion(), about.GetNode(), l.ps.of.Written())
	if len(l.threads()) == 0 {
		l.s.output(console, "no such pod is on the node yet; when one comes it is a thread, and breakpoints hold it")
	}
	if about.GetReadOnly() {
		l.s.output(important, "this agent is read-only: it holds no pod")
	}
	return nil
}

func (l *live) story() *story   { return l.st }
func (l *live) points() *points { return l.ps }

// look returns the agent's debugger, if the configuration asks for the goroutine's frames.
func (l *live) look() looker {
	if !l.args.GoFrames {
		return nil
	}
	return l.lookAt
}

func (l *live) lookAt(ctx context.Context, req *agentpb.LookRequest) (*agentpb.LookResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, answerIn)
	defer cancel()
	return l.c.Look(ctx, req)
}

// close ends the connection, and with it all that was held and armed through it.
func (l *live) close() {
	l.end()
	_ = l.c.Close()
	if l.lab != nil {
		l.lab.Close()
	}
}

// follow takes the events, until the stream ends.
func (l *live) follow(w *client.Watch) error {
	for {
		b, err := w.NextRaw()
		if errors.Is(err, io.EOF) {
			return fmt.Errorf("the agent has ended")
		}
		if err != nil {
			return err
		}
		l.take(b)
	}
}

// take takes a batch of events.
func (l *live) take(b *agentpb.Batch) {
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	touched := map[int]bool{}
	l.st.add(b, func(r *history.Record) {
		touched[r.Pod] = true
		l.apply(r)
	})
	if b.GetCaughtUp() && !l.caught {
		l.caught = true
		close(l.caughtUp)
	}
	for place := range touched {
		l.comes(place)
	}
	if l.lostEvents && l.caught {
		l.lostEvents = false
		go l.reconcile()
	}
}

// apply takes one event.
func (l *live) apply(r *history.Record) {
	l.changed(r)
	switch r.Header.Kind {
	case agentpb.Kind_HOLD:
		l.comes(r.Pod) // an editor that learns of a thread after its stop takes it for running
		l.held(r)
	case agentpb.Kind_RELEASE:
		l.released(r)
	case agentpb.Kind_DROP:
		l.lostEvents = true
	case agentpb.Kind_ENTER, agentpb.Kind_EXIT:
		if !l.shows || !l.logs() || l.st.name(r.Pod) == "" {
			return
		}
		if e, ok := l.st.h.Event(r.Pos); ok {
			l.s.log(&l.log, l.ps, &e)
		}
	}
}

// logs reports whether there is a logpoint.
func (l *live) logs() bool {
	for _, g := range l.ps.groups {
		for _, p := range g {
			if p.log != "" {
				return true
			}
		}
	}
	return false
}

// comes reports a pod that comes or goes.
func (l *live) comes(place int) {
	if l.st.name(place) == "" || !l.caught {
		return
	}
	p, gone := l.pod(place), l.st.gone(place)
	if p.listed == !gone {
		return
	}
	p.listed = !gone
	if !l.shows {
		return
	}
	reason := "started"
	if gone {
		reason = "exited"
	}
	l.s.out.put(&dap.ThreadEvent{Event: event("thread"), Body: dap.ThreadEventBody{Reason: reason, ThreadId: place}})
}

// pod returns what the session knows of a pod's holds.
func (l *live) pod(place int) *pod {
	p := l.pods[place]
	if p == nil {
		p = &pod{place: place}
		l.pods[place] = p
	}
	return p
}

func (l *live) threads() []dap.Thread {
	out := []dap.Thread{}
	for place := 1; place < l.st.h.Pods(); place++ {
		if p := l.pods[place]; p != nil && (p.listed || len(p.stops) > 0) && l.st.name(place) != "" {
			out = append(out, l.st.thread(place, l.st.h.End()))
		}
	}
	return out
}

// lost ends the session because the agent is gone: no pod is held any more.
func (l *live) lost(err error) {
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	if l.ctx.Err() != nil {
		return // the session ends by itself
	}
	for place := 1; place < l.st.h.Pods(); place++ {
		if p := l.pods[place]; p != nil && len(p.stops) > 0 {
			p.stops = nil
			l.goesOn(p, ": the agent that held it is gone")
		}
	}
	l.s.output(important, "%s; the session is over, and all pods go on", words.Clean(textOf(err)))
	l.s.out.put(&dap.TerminatedEvent{Event: event("terminated")})
	l.s.ended = true
	l.close()
}

// poll asks whether the breakpoints are still there, and whether the agent is. It ends with the session.
func (l *live) poll() {
	t := time.NewTicker(pollEvery)
	defer t.Stop()
	for {
		select {
		case <-t.C:
		case <-l.ctx.Done():
			return
		}
		asked := time.Now()
		answer, err := l.listBreakpoints()
		switch {
		case l.ctx.Err() != nil:
			return
		case errors.Is(err, context.DeadlineExceeded):
			l.lost(fmt.Errorf("the agent has not answered for %s; is its process stopped? pods that it holds go on when it wakes", answerIn))
			return
		case err != nil:
			continue // the stream of events ends with the connection, and has the error
		}
		l.checkPoints(answer, asked)
	}
}

func (l *live) listBreakpoints() (*agentpb.ListBreakpointsResponse, error) {
	ctx, cancel := context.WithTimeout(l.ctx, answerIn)
	defer cancel()
	return l.c.ListBreakpoints(ctx, &agentpb.ListBreakpointsRequest{})
}
