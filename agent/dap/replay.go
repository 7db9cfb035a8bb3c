package dap

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/google/go-dap"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/agent/trace"
	"github.com/podstep/podstep/probes"
)

// replayLimit bounds the events of a recording that are kept, in bytes.
const replayLimit = history.DefaultLimit

// replay is a target that is a recording. Each pod has a place of its own in it, at which it is stopped.
type replay struct {
	s    *session
	st   *story
	ps   *points
	pods map[int]*cursor
	// atEnd: the replay begins at the end of the recording.
	atEnd bool
	shows bool
}

// cursor is where a pod of a recording is.
type cursor struct {
	stop stop
	pos  int // of the event at which it is stopped
}

// newReplay reads a recording.
func newReplay(ctx context.Context, s *session, sel *agentpb.PodSelector, a *launchArguments, request int) (*replay, error) {
	r, err := s.opts.Open(ctx, a.Trace...)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	p := &replay{s: s, ps: newPoints(r.Header().Info, sel), pods: map[int]*cursor{}, atEnd: a.StopAt == "end"}
	for _, step := range probes.MustLoad().Steps {
		p.ps.enter[step.Name] = true
	}
	if p.st, err = newStory(r.Header().Info, sel, replayLimit); err != nil {
		return nil, err
	}
	if err := p.read(ctx, r, strings.Join(a.Trace, ", "), request); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for place := 1; place < p.st.h.Pods(); place++ {
		if all := p.events(place); p.st.name(place) != "" && len(all) > 0 {
			at := all[0]
			if p.atEnd {
				at = all[len(all)-1]
			}
			p.pods[place] = p.cursorAt(at)
		}
	}
	if len(p.pods) == 0 {
		return nil, fmt.Errorf("%s has no pod %s", strings.Join(a.Trace, ", "), sel.Written())
	}
	return p, nil
}

// readSome is how many batches are read between two reports of the progress.
const readSome = 256

// read reads all of a recording. What cannot be read ends it, and is reported.
func (p *replay) read(ctx context.Context, r trace.Recording, name string, request int) error {
	id := "read " + strconv.Itoa(request)
	progress := p.s.client.SupportsProgressReporting
	if progress {
		p.s.out.put(&dap.ProgressStartEvent{Event: event("progressStart"), Body: dap.ProgressStartEventBody{ProgressId: id, Title: lines("podstep reads " + name), RequestId: request}})
		defer func() {
			p.s.out.put(&dap.ProgressEndEvent{Event: event("progressEnd"), Body: dap.ProgressEndEventBody{ProgressId: id}})
		}()
	}
	for n := 1; ctx.Err() == nil; n++ {
		b, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			p.s.output(important, "%s: %v; what was read until there is shown", name, err)
			break
		}
		p.st.add(b, nil)
		if progress && n%readSome == 0 {
			p.s.out.put(&dap.ProgressUpdateEvent{Event: event("progressUpdate"), Body: dap.ProgressUpdateEventBody{ProgressId: id, Message: fmt.Sprintf("%d events", p.st.h.End())}})
		}
	}
	if first := p.st.h.First(); first > 0 && ctx.Err() == nil {
		p.s.output(important, "%s is larger than podstep keeps: the first %d events are left out", name, first)
	}
	return ctx.Err()
}

func (p *replay) story() *story   { return p.st }
func (p *replay) points() *points { return p.ps }
func (p *replay) look() looker    { return nil }
func (p *replay) close()          {}
func (p *replay) disarm(*point)   {}

// arm finds where a breakpoint acts.
func (p *replay) arm(point *point) {
	if point.data != nil {
		p.armData(point.data)
		point.verified = true
		return
	}
	point.verified = p.known(point)
}

// known reports whether a breakpoint is at a step. If it is not, the breakpoint gets the reason.
func (p *replay) known(point *point) bool {
	steps := probes.MustLoad().Steps
	for i := range steps {
		if point.comesTo(&steps[i]) {
			if point.at != "" {
				point.message = "stops a pod at the beginning of " + steps[i].Name
			}
			return true
		}
	}
	point.fail(fmt.Errorf("no step is named %q; podstep steps lists them", strings.Join(point.patterns, ", ")))
	return false
}

func (p *replay) threads() []dap.Thread {
	out := []dap.Thread{}
	for place := 1; place < p.st.h.Pods(); place++ {
		if c := p.pods[place]; c != nil {
			out = append(out, p.st.thread(place, c.stop.at))
		}
	}
	return out
}

func (p *replay) stop(place int) *stop {
	if c := p.pods[place]; c != nil {
		return &c.stop
	}
	return nil
}

// configured shows the pods where they begin. In a recording nothing lives, so all of them are stopped.
func (p *replay) configured() {
	if p.shows {
		return
	}
	p.shows = true
	description := "the recording of this pod begins here"
	if p.atEnd {
		description = "the recording of this pod ends here"
	}
	for _, t := range p.threads() {
		p.s.stopped(dap.StoppedEventBody{Reason: "entry", Description: description, ThreadId: t.Id, AllThreadsStopped: true})
		return
	}
}

func (p *replay) pause(place int) (func(), error) {
	return nil, fmt.Errorf("%s is stopped already: a recording moves only when it is asked to", p.st.name(place))
}

// events are the positions of a pod's events that are kept.
func (p *replay) events(place int) []int {
	return p.st.h.Pod(place).Events.All
}

// cursorAt returns the cursor of a pod that is stopped at an event.
func (p *replay) cursorAt(pos int) *cursor {
	c := &cursor{pos: pos, stop: stop{at: pos + 1, span: history.None}}
	head, ok := p.st.h.Header(pos)
	if !ok {
		return c
	}
	c.stop.span = p.st.h.SpanOf(pos, &head)
	switch head.Kind {
	case agentpb.Kind_ENTER:
		c.stop.on = "enter"
	case agentpb.Kind_EXIT:
		c.stop.on = "exit"
		c.stop.err = string(head.ErrorText)
	}
	return c
}
