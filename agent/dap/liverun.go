package dap

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/go-dap"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/reason"
)

// tooSoon is how soon after a pod's stop no person can have let it go.
const tooSoon = 500 * time.Millisecond

// modes are the ways of stepping, by step and by line.
var modes = map[move][2]agentpb.StepMode{
	moveOver: {agentpb.StepMode_OVER, agentpb.StepMode_LINE_OVER},
	moveInto: {agentpb.StepMode_INTO, agentpb.StepMode_LINE_INTO},
	moveOut:  {agentpb.StepMode_OUT, agentpb.StepMode_LINE_OUT},
}

// move lets one held pod go on, until something holds it or to the next place.
func (l *live) move(place int, m moving) (after func(), err error) {
	p := l.pod(place)
	name := l.st.name(place)
	how := m.how
	mode, steps := modes[how]
	switch {
	case how == moveBack || how == moveBackOn:
		return nil, fmt.Errorf("a living pod does not go back; launch a recording of it to do that")
	case len(p.stops) == 0 && how == moveOn && p.asked != nil:
		return l.takeBack(p), nil
	case len(p.stops) == 0:
		return nil, fmt.Errorf("%s is not held; pause holds it at its next step", name)
	case !steps:
		if err := l.mayLet(p); err != nil {
			return nil, err
		}
		return l.let(p)
	case p.asked != nil:
		return nil, fmt.Errorf("a step of %s is under way already", name)
	}
	req := &agentpb.StepRequest{Pods: l.st.only(place), Mode: mode[0], Lease: l.args.Lease.proto(), Wait: l.args.Wait.proto(), WhileConnected: true}
	if m.byLine {
		req.Mode = mode[1]
	}
	if m.to != nil {
		req.Until = m.to.step
	}
	asked := l.newAsk(p, forStep)
	p.shown = false
	l.s.refs.drop(place)
	return func() {
		go l.wait(p, asked, func() (*agentpb.HoldInfo, error) { return l.c.Step(asked.ctx, req) })
	}, nil
}

// mayLet refuses what nvim-dap sends by itself: a continue of a second pod right after its stop.
func (l *live) mayLet(p *pod) error {
	if since := time.Since(p.at); p.second && since < tooSoon {
		return fmt.Errorf("%s stays held: its continue came %d ms after its stop, while another pod is stopped, as nvim-dap sends it by itself; send it again to let the pod go",
			l.st.name(p.place), since.Milliseconds())
	}
	return nil
}

// The causes of holds, as their events have them.
const (
	forStep  = "step"
	forPause = "hold"
	forDelay = "delay," // and the breakpoint
)

// ask is a step or a pause that is under way. cancel takes it back.
type ask struct {
	why    string // the cause of the hold that it leads to
	ctx    context.Context
	cancel context.CancelFunc
	before <-chan struct{} // closed when the one that was taken back before it has ended; nil: there was none
	ended  chan struct{}   // closed when the agent has answered, or the session has sent it the cancellation
}

// newAsk begins a step or a pause of a pod.
func (l *live) newAsk(p *pod, why string) *ask {
	a := &ask{why: why, ended: make(chan struct{}), before: p.takenBack}
	a.ctx, a.cancel = context.WithCancel(l.ctx)
	p.asked, p.takenBack = a, nil
	return a
}

// request asks the agent for it, when the agent knows that the one before it is given up.
func (a *ask) request(do func() (*agentpb.HoldInfo, error)) (*agentpb.HoldInfo, error) {
	if a.before != nil {
		<-a.before
	}
	defer close(a.ended)
	return do()
}

// takeBack gives up the step or the pause that is under way.
func (p *pod) takeBack() {
	p.asked.cancel()
	p.asked, p.takenBack = nil, p.asked.ended
}

// stoppedBy ends the step or the pause that is under way: the pod is held. If another hold came first, the agent would hold
// the pod once more, later, and until then take no other step. A step goes on through a delay, as it does at the agent.
func (p *pod) stoppedBy(h *liveStop) {
	switch {
	case p.asked == nil || p.asked.why == forStep && strings.HasPrefix(h.why, forDelay):
	case p.asked.why == h.why:
		p.asked = nil // a cancellation would let the pod go
	default:
		p.takeBack()
	}
}

// takeBack ends the wait for a pod's next step, as a person asks for it.
func (l *live) takeBack(p *pod) (after func()) {
	p.takeBack()
	return func() {
		l.s.output(console, "%s goes on freely: the wait for its next step is taken back", l.st.name(p.place))
		l.next(p)
	}
}

// let lets a pod go on for good. The events of that are taken after the request is answered.
func (l *live) let(p *pod) (after func(), err error) {
	if p.takenBack != nil {
		<-p.takenBack
	}
	ctx, cancel := context.WithTimeout(l.ctx, answerIn)
	defer cancel()
	if _, err := l.c.Continue(ctx, &agentpb.ContinueRequest{Pods: l.st.only(p.place)}); err != nil {
		return nil, err
	}
	if p.asked != nil {
		p.takeBack()
	}
	p.shown, p.stops = false, nil
	l.s.refs.drop(p.place)
	return func() { l.next(p) }, nil
}

// asker is the message of what an editor arms, for others who meet the hold.
const asker = "an editor, by podstep dap"

// pause holds a pod at its next step.
func (l *live) pause(place int) (after func(), err error) {
	p := l.pod(place)
	switch {
	case len(p.stops) > 0:
		return nil, fmt.Errorf("%s is held already", l.st.name(place))
	case p.asked != nil:
		return nil, fmt.Errorf("%s is about to be held already, at its next step; continue takes that back", l.st.name(place))
	}
	req := &agentpb.HoldRequest{Pods: l.st.only(place), Lease: l.args.Lease.proto(), Wait: l.args.Wait.proto(), Force: l.args.Force, WhileConnected: true, Message: asker}
	asked := l.newAsk(p, forPause)
	return func() {
		l.s.output(console, "%s will be held at its next step; continue takes that back", l.st.name(place))
		go l.wait(p, asked, func() (*agentpb.HoldInfo, error) { return l.c.Hold(asked.ctx, req) })
	}, nil
}

// wait waits for a step or a pause. The event of the hold reports its success.
func (l *live) wait(p *pod, asked *ask, do func() (*agentpb.HoldInfo, error)) {
	h, err := asked.request(do)
	tookBack := asked.ctx.Err() != nil
	asked.cancel()
	var still *agentpb.ListHoldsResponse
	if err != nil && !tookBack {
		still = l.holds()
	}
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	if err == nil && h.GetSeq() == 0 { // its event was lost
		l.adopt(h)
	}
	if err == nil || p.asked != asked { // a hold that came first, or the person, has ended it
		return
	}
	p.asked = nil
	l.s.output(important, "%s", textOf(err))
	if len(p.stops) > 0 && !p.shown && isListed(p.stops[0], still) { // the step was refused
		l.show(p)
		return
	}
	l.next(p)
}

// holds asks the agent which pods are held; nil: it has not answered.
func (l *live) holds() *agentpb.ListHoldsResponse {
	ctx, cancel := context.WithTimeout(l.ctx, answerIn)
	defer cancel()
	answer, err := l.c.ListHolds(ctx, &agentpb.ListHoldsRequest{})
	if err != nil {
		return nil // the stream of events ends too, and has the error
	}
	return answer
}

// isListed reports whether the agent lists a hold.
func isListed(h *liveStop, answer *agentpb.ListHoldsResponse) bool {
	return slices.ContainsFunc(answer.GetHolds(), func(o *agentpb.HoldInfo) bool { return o.GetSeq() == h.seq })
}

// arm sets a breakpoint at the agent.
func (l *live) arm(p *point) {
	switch {
	case p.data != nil:
		l.armData(p)
		return
	case p.log != "":
		l.armLog(p)
		return
	}
	if p.rule.undecided != "" {
		p.fail(fmt.Errorf("the agent cannot decide %q before it holds a pod: a condition of a breakpoint is made of ns=NAME, pod=NAME, pod~GLOB, kind=enter, kind=exit, err, and slow>5s; a logpoint takes any filter", p.rule.undecided))
		return
	}
	var why error
	if p.at != "" && p.rule.on == agentpb.On_ON_ENTER && p.rule.slower == 0 {
		if b, err := l.add(p, "", p.at); err == nil {
			if places := b.GetPlaces(); len(places) > 0 {
				p.line = int(places[0].GetLine())
			}
			p.verified, p.message = true, "holds a pod at this line, by the agent's debugger"
			return
		} else if code := reason.CodeOf(err); code != agentpb.Problem_NO_LINES {
			why = err
		}
	}
	var refused []*agentpb.Refused
	for _, pattern := range p.patterns {
		b, err := l.add(p, pattern, "")
		if err != nil {
			why = err
			continue
		}
		refused = append(refused, b.GetRefused()...)
	}
	if len(p.agent) == 0 {
		p.fail(why)
		return
	}
	p.verified = true
	p.message = armedText(p, refused)
}

// add adds one breakpoint at the agent. It ends with the connection, as do its holds.
func (l *live) add(p *point, step, at string) (*agentpb.Breakpoint, error) {
	ctx, cancel := context.WithTimeout(l.ctx, answerIn)
	defer cancel()
	req := &agentpb.AddBreakpointRequest{
		Pods: p.rule.pods, Step: step, At: at, On: p.rule.on, After: p.rule.hits.after, Times: p.rule.hits.times,
		Force: l.args.Force, WhileConnected: true, Expires: l.c.About().GetLimits().GetExpires(), Message: asker,
		Action: &agentpb.AddBreakpointRequest_Hold{Hold: &agentpb.HoldAction{Lease: l.args.Lease.proto()}},
	}
	if p.rule.slower > 0 {
		req.SlowerThan, req.On = duration(p.rule.slower).proto(), agentpb.On_ON_EXIT
	}
	b, err := l.c.AddBreakpoint(ctx, req)
	if err == nil {
		p.agent = append(p.agent, b.GetId())
	}
	return b, err
}

// armedText describes where a breakpoint acts, if that is not plain from what the editor asked for.
func armedText(p *point, refused []*agentpb.Refused) string {
	text := ""
	if p.at != "" {
		text = "holds a pod at the beginning of " + p.patterns[0] + ", from wherever that is called"
	}
	if n := len(refused); n > 0 {
		if text != "" {
			text += "; "
		}
		text += "not at " + refused[0].GetStep() + ": " + reason.Problem(refused[0].GetProblem()).En
		if n > 1 {
			text += "; and not at " + itoa(n-1) + " more steps"
		}
	}
	return text
}

// armLog checks a logpoint. The agent is not asked for anything: the session looks at the events that come.
func (l *live) armLog(p *point) {
	about := l.c.About()
	for _, st := range about.GetSteps() {
		step := l.st.h.Catalogue().Step(st.GetName())
		if step == nil || !p.comesTo(step) {
			continue
		}
		for _, can := range st.GetAbilities() {
			enter, exit := p.rule.sides()
			if can.GetEntry() && enter || can.GetExit() && exit {
				p.verified, p.message = true, "prints at "+step.Name+", and holds no pod"
				return
			}
		}
	}
	p.fail(fmt.Errorf("no probe of this agent sees %s", p.patterns[0]))
}

// disarm takes a breakpoint back. Pods that it holds stay held: a person looks at them.
func (l *live) disarm(p *point) {
	for _, id := range p.agent {
		ctx, cancel := context.WithTimeout(l.ctx, answerIn)
		_, err := l.c.RemoveBreakpoint(ctx, &agentpb.RemoveBreakpointRequest{Id: id})
		cancel()
		if err != nil && reason.CodeOf(err) != agentpb.Problem_BREAKPOINT_NOT_FOUND {
			l.s.output(important, "a breakpoint stays until the session ends: %s", textOf(err))
		}
	}
	p.agent = nil
}

// checkPoints reports breakpoints that the agent has no more: somebody has removed them, or they have acted as often as
// they should. Those that were set after asked are left alone.
func (l *live) checkPoints(answer *agentpb.ListBreakpointsResponse, asked time.Time) {
	there := map[uint32]bool{}
	for _, b := range answer.GetBreakpoints() {
		there[b.GetId()] = true
	}
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	for _, p := range l.ps.all() {
		if !p.verified || len(p.agent) == 0 || p.set.After(asked) {
			continue
		}
		kept := 0
		for _, id := range p.agent {
			if there[id] {
				kept++
			}
		}
		if kept > 0 {
			continue
		}
		text := "the agent has this breakpoint no more: somebody removed it, or it has expired"
		if p.rule.hits.times > 0 {
			text = "the breakpoint has acted on its hit, and is over"
		}
		p.fail(fmt.Errorf("%s", text))
		l.s.out.put(&dap.BreakpointEvent{Event: event("breakpoint"), Body: dap.BreakpointEventBody{Reason: "changed", Breakpoint: p.shown()}})
	}
}
