package dap

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/go-dap"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/reason"
	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes/words"
)

// pod is what a session knows of the holds of a pod.
type pod struct {
	place  int
	listed bool
	// stops are its holds, the oldest first. A pod may be held on several goroutines.
	stops []*liveStop
	// shown: the editor takes the pod for stopped. at is since when.
	shown bool
	at    time.Time
	// second: another pod was stopped when this one was, and the editor was given another reason, so that it does not
	// let the pod go by itself.
	second bool
	// asked is the step or the pause of this session that is under way; nil: there is none.
	asked *ask
	// takenBack is closed when the agent knows of the latest one that was taken back; nil: there is none.
	takenBack <-chan struct{}
}

// liveStop is a hold.
type liveStop struct {
	stop
	seq uint64
	why string
}

// held takes the event of a hold's beginning.
func (l *live) held(r *history.Record) {
	if l.st.name(r.Pod) == "" {
		return
	}
	h := &liveStop{seq: r.Header.Seq, why: r.Field("why").String()}
	h.stop = stop{at: r.Pos + 1, span: r.Span, held: wire.Hold(r.Raw), begun: time.Unix(0, r.Header.Time)}
	h.on = h.held.GetOn()
	h.held.Place = placeOf(r)
	if c := l.st.h.Call(r.Span, r.Pos+1); c.Span != nil {
		h.err = c.Err
	}
	p := l.pod(r.Pod)
	p.stoppedBy(h)
	p.stops = append(p.stops, h)
	if p.shown {
		l.s.output(console, "%s is held %s too, on another goroutine", l.st.name(r.Pod), l.where(h))
		return
	}
	l.show(p)
}

// placeOf returns the line at which the event of a hold has the pod; nil: at the beginning or end of a call.
func placeOf(r *history.Record) *agentpb.StackFrame {
	at := strings.LastIndexByte(r.Field("line").String(), ':')
	if at < 0 {
		return nil
	}
	file := r.Field("line").String()
	line, err := strconv.Atoi(file[at+1:])
	if err != nil {
		return nil
	}
	return &agentpb.StackFrame{Function: r.Field("function").String(), File: file[:at], Line: int32(line)}
}

// show reports to the editor that a pod is stopped, if it is ready for that.
func (l *live) show(p *pod) {
	if !l.shows || len(p.stops) == 0 {
		return
	}
	first := p.stops[0]
	body := l.stopped(p, first)
	name := l.st.name(p.place)
	text := fmt.Sprintf("%s is held %s (%s); it goes on by itself in %s, because of %s", name, l.where(first), words.Clean(first.why), words.Clock(first.left()), endText(first.held))
	front := l.front(p)
	p.second = front != nil && l.s.resumesSecond()
	// A person looks at the other pod, unless they have just moved this one.
	body.PreserveFocusHint = front != nil && body.Reason != "step"
	if p.second {
		body.Reason = "pause"
		text += fmt.Sprintf(". nvim-dap lets a second stopped thread go by itself; podstep shows this one as paused, and brings it to the front when %s goes on", l.st.name(front.place))
	}
	p.shown, p.at = true, time.Now()
	l.s.output(console, "%s", text)
	l.s.stopped(body)
}

// front returns another pod that the editor takes for stopped, and not as a second one; nil: there is none.
func (l *live) front(p *pod) *pod {
	for place := 1; place < l.st.h.Pods(); place++ {
		if o := l.pods[place]; o != nil && o != p && o.shown && !o.second && len(o.stops) > 0 {
			return o
		}
	}
	return nil
}

// stopped returns the event of a hold.
func (l *live) stopped(p *pod, h *liveStop) dap.StoppedEventBody {
	body := dap.StoppedEventBody{Reason: "pause", ThreadId: p.place, Text: h.err}
	number := ""
	switch cause, rest, _ := strings.Cut(h.why, " "); cause {
	case forStep:
		body.Reason = "step"
	case "breakpoint":
		body.Reason, number = "breakpoint", rest
	case forDelay:
		number = strings.TrimPrefix(rest, "breakpoint ")
	}
	if id, err := strconv.ParseUint(number, 10, 32); err == nil {
		if own := l.ps.ofAgent(uint32(id)); own != nil {
			body.Reason, body.HitBreakpointIds = own.reason, []int{own.id}
		}
	}
	body.Description = words.Clean(fmt.Sprintf("held %s; goes on by itself in %s (%s)", l.where(h), words.Clock(h.left()), h.held.GetEndsBy()))
	return body
}

// where returns where a pod is held.
func (l *live) where(h *liveStop) string {
	step := "a step"
	if sp := l.st.h.Span(h.span); sp != nil {
		step = words.Clean(l.st.h.Step(sp.Step).Name)
	}
	if at := h.held.GetPlace(); at != nil {
		return "inside " + step + ", at " + words.Clean(at.Written())
	}
	return "at " + words.Clean(h.on) + " of " + step
}

// released takes the event of a hold's end.
func (l *live) released(r *history.Record) {
	p := l.pods[r.Pod]
	if p == nil {
		return
	}
	at := slices.IndexFunc(p.stops, func(h *liveStop) bool { return h.span == r.Span && h.on == r.Field("on").String() })
	if at < 0 {
		return
	}
	h := p.stops[at]
	p.stops = slices.Delete(p.stops, at, at+1)
	e, _ := l.st.h.Event(r.Pos)
	why := reason.Released(e.Fields).En
	if pid, ok := e.Fields["pid"].(int64); ok && p.asked == nil {
		why = fmt.Sprintf("%s, by process %d", why, pid)
	}
	l.goesOn(p, fmt.Sprintf(" from %s: %s", strings.TrimPrefix(l.where(h), "at "), why))
}

// goesOn reports to the editor that a pod goes on, unless it knows. why is the rest of the sentence. If the pod is still held elsewhere, it is shown
// there.
func (l *live) goesOn(p *pod, why string) {
	l.s.refs.drop(p.place)
	if p.shown {
		p.shown = false
		l.s.output(console, "%s goes on%s", l.st.name(p.place), words.Clean(why))
		l.s.continued(p.place)
	}
	if len(p.stops) > 0 {
		l.show(p)
		return
	}
	if p.asked == nil { // else it is about to stop at its next place
		l.next(p)
	}
}

// next brings the first of the pods to the front that were stopped as second ones, if no other is there.
func (l *live) next(than *pod) {
	if l.front(than) != nil {
		return
	}
	for place := 1; place < l.st.h.Pods(); place++ {
		if o := l.pods[place]; o != nil && o != than && o.second && len(o.stops) > 0 {
			l.show(o)
			return
		}
	}
}

// stop returns where a pod is held first.
func (l *live) stop(place int) *stop {
	if p := l.pods[place]; p != nil && len(p.stops) > 0 && (p.shown || p.asked == nil) {
		return &p.stops[0].stop
	}
	return nil
}

// configured reports the pods that are held already.
func (l *live) configured() {
	if l.shows {
		return
	}
	l.shows = true
	if l.create != nil {
		go l.create()
	}
	for place := 1; place < l.st.h.Pods(); place++ {
		if p := l.pods[place]; p != nil {
			l.show(p)
		}
	}
}

// reconcile asks the agent which pods are held, after events were lost.
func (l *live) reconcile() {
	answer := l.holds()
	if answer == nil {
		return
	}
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	for place := 1; place < l.st.h.Pods(); place++ {
		p := l.pods[place]
		if p == nil {
			continue
		}
		had := len(p.stops)
		p.stops = slices.DeleteFunc(p.stops, func(h *liveStop) bool {
			return h.seq <= answer.GetSeq() && !isListed(h, answer)
		})
		if had != len(p.stops) {
			l.goesOn(p, "; the event that has the reason was lost")
		}
	}
	for _, h := range answer.GetHolds() {
		l.adopt(h)
	}
}

// adopt takes a hold whose event was lost.
func (l *live) adopt(h *agentpb.HoldInfo) {
	place := l.st.h.Learn(h.GetPod())
	if l.st.name(place) == "" || h.GetSeq() > l.st.h.Epoch().Seq() {
		return
	}
	p := l.pod(place)
	if slices.ContainsFunc(p.stops, func(o *liveStop) bool { return o.seq == h.GetSeq() }) {
		return
	}
	own := &liveStop{seq: h.GetSeq(), why: reason.Cause(h).En}
	own.stop = stop{at: l.st.h.End(), span: l.st.h.OpenCall(place, h.GetStep()), on: h.GetOn(), held: h, begun: time.Now(), err: h.GetError()}
	p.stoppedBy(own)
	p.stops = append(p.stops, own)
	if !p.shown {
		l.show(p)
	}
}
