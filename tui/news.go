package tui

import (
	"context"
	"errors"
	"math"
	"slices"

	tea "charm.land/bubbletea/v2"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/screen"
	"github.com/podstep/podstep/tui/session"
)

// takeNews passes news to the state, and asks for the next news.
func (m *Model) takeNews(msg newsMsg) tea.Cmd {
	if msg.err != nil {
		if !errors.Is(msg.err, context.Canceled) {
			m.fail(msg.err)
		}
		return nil
	}
	n := msg.news
	var cmds []tea.Cmd
	m.state.Tick(m.clock.now())
	if n.Info != nil {
		m.meetAgent(n.Info)
	}
	if n.Link != nil {
		if m.linked && n.Link.Why != nil {
			m.fail(n.Link.Why)
		}
		m.link = *n.Link
		m.linked = n.Link.Link == screen.LinkLive
		m.showLink()
		if !m.linked {
			m.holds, m.breaks = nil, nil
			m.state.SetHolds(nil, m.clock.now())
			m.state.SetBreakpoints(nil, m.clock.now())
		}
	}
	for _, b := range n.Batches {
		m.state.Add(b)
		if m.walk != nil {
			m.walk.Add(b)
		}
	}
	if n.CaughtUp {
		m.state.Loaded()
	}
	if n.Renewed != nil {
		m.info = n.Renewed
		m.state.SetInfo(n.Renewed)
	}
	m.caughtUp = m.caughtUp || n.CaughtUp
	m.goToPod()
	if n.Poll != nil {
		m.takePoll(n.Poll)
	}
	if n.Holds != nil {
		m.takeHolds(n.Holds)
	}
	if n.Fault != nil {
		m.fail(n.Fault)
	}
	if m.replay != nil {
		m.replay.grew(m)
	}
	if n.CaughtUp {
		cmds = append(cmds, m.readBookmarks())
	}
	cmds = append(cmds, m.walkLook(), m.offerTour(), m.nextNews())
	return tea.Batch(cmds...)
}

// goToPod selects the pod to begin with as soon as it is known.
func (m *Model) goToPod() {
	if p := m.opts.Pod; p != nil && m.caughtUp && m.state.SelectPodNamed(p.Namespace, p.Name) {
		m.opts.Pod = nil
		m.state.SetFocus(screen.PaneMain)
	}
}

// meetAgent takes over from another agent, or from none.
func (m *Model) meetAgent(info *agentpb.InfoResponse) {
	if !wire.SameAgent(m.info, info) {
		m.holds, m.breaks = nil, nil
		if l, ok := m.control.(*session.Ledger); ok {
			l.Forget()
		}
	}
	m.info = info
	m.state.SetInfo(info)
	m.caughtUp = false
	m.endWalkFor(info)
}

func (m *Model) takePoll(p *session.Poll) {
	m.breaks = p.Breaks
	m.state.SetPods(p.Pods)
	m.state.SetBreakpoints(p.Breaks, p.At)
	m.state.SetDropped(p.Dropped)
}

func (m *Model) takeHolds(h *session.Holds) {
	m.newlyHeld(h.List)
	m.holds = h.List
	m.state.SetHolds(h.List, h.At)
}

// newlyHeld reports that a pod has come to one of the person's breakpoints, if it is not the pod that they look at.
// The selection stays: the next key must not act on another pod than the keys before.
func (m *Model) newlyHeld(holds []*agentpb.HoldInfo) {
	l, ok := m.control.(*session.Ledger)
	if !ok || m.shownNotice != nil || m.walk != nil {
		return
	}
	before := lastOf(m.holds).GetId()
	if h := lastOf(holds); h.GetId() > before && l.Mine(h) && h.GetPod().GetUid() != m.selectedUID() {
		m.notice(m.textf(words.Text("%s is held; {key:move.held} goes there", "%s 已停住；按 {key:move.held} 前往"), podName(h.GetPod())))
	}
}

// showLink keeps the header's words about the connection up to date.
func (m *Model) showLink() {
	switch {
	case m.replay != nil:
		m.state.SetLink(screen.LinkReplay, m.replay.text(m))
	case m.link.Link == screen.LinkReconnecting:
		left := math.Ceil(max(0, m.link.Retry.Sub(m.clock.now()).Seconds()))
		m.state.SetLink(m.link.Link, m.textf(words.Text("reconnecting %.0fs", "重新连接 %.0f 秒"), left))
	case m.linked:
		m.state.SetLink(screen.LinkLive, m.text(words.Text("live", "实时")))
	default:
		m.state.SetLink(screen.LinkConnecting, m.text(words.Text("connecting", "正在连接")))
	}
}

// pending is a pod for which the screen waits.
type pending struct {
	text   string
	cancel context.CancelFunc
}

// heldMsg ends a wait.
type heldMsg struct {
	of   *pending
	hold *agentpb.HoldInfo
	err  error
}

// doneMsg reports the result of a call.
type doneMsg struct {
	text string
	err  error
}

// awaitHold runs do, which ends when a pod is held. Esc gives it up.
func (m *Model) awaitHold(what string, do func(context.Context, session.Control) (*agentpb.HoldInfo, error)) tea.Cmd {
	ctx, cancel := context.WithCancel(m.ctx)
	p := &pending{text: what, cancel: cancel}
	m.pending = p
	m.shownNotice = nil
	control := m.control
	return func() tea.Msg {
		defer cancel()
		h, err := do(ctx, control)
		return heldMsg{p, h, err}
	}
}

func (m *Model) stopWaiting() {
	if m.pending != nil {
		m.pending.cancel()
		m.pending = nil
	}
}

// takeHeld shows where the pod is held now.
func (m *Model) takeHeld(msg heldMsg) tea.Cmd {
	given := m.pending != msg.of
	if !given {
		m.pending = nil
	}
	switch {
	case errors.Is(msg.err, context.Canceled):
		m.notice(m.text(words.Text("no longer waiting", "不再等待")))
	case msg.err != nil:
		m.fail(msg.err)
	default:
		m.arrived(msg.hold)
	}
	return nil
}

// arrived selects the place where a pod is held. The session has delivered the hold's events by now. A person who
// has gone to another pod meanwhile is left there, and so is the selection if the hold has ended already.
func (m *Model) arrived(h *agentpb.HoldInfo) {
	m.shownNotice = nil
	if !m.holdGoesOn(h) {
		return
	}
	if h.GetPod().GetUid() == m.selectedUID() {
		m.goToHold(h)
		return
	}
	m.notice(m.textf(words.Text("%s is held; {key:move.held} goes there", "%s 已停住；按 {key:move.held} 前往"), podName(h.GetPod())))
}

// holdGoesOn reports whether a hold has not ended.
func (m *Model) holdGoesOn(h *agentpb.HoldInfo) bool {
	return slices.ContainsFunc(m.holds, func(o *agentpb.HoldInfo) bool { return o.GetId() == h.GetId() })
}

// act runs do, which need not wait for a pod, and reports its result.
func (m *Model) act(done string, do func(context.Context, session.Control) error) tea.Cmd {
	control := m.control
	m.acts.Add(1)
	return func() tea.Msg {
		defer m.acts.Done()
		ctx, cancel := m.within()
		defer cancel()
		return doneMsg{done, do(ctx, control)}
	}
}

func (m *Model) takeDone(msg doneMsg) tea.Cmd {
	if msg.err != nil {
		m.fail(msg.err)
	} else if msg.text != "" {
		m.notice(msg.text)
	}
	return nil
}

// heldHere returns the hold of the selected pod, or nil.
func (m *Model) heldHere() *agentpb.HoldInfo {
	pod, ok := m.selected()
	if !ok {
		return nil
	}
	for _, h := range m.holds {
		p := h.GetPod()
		if p.GetUid() == pod.UID && p.GetNamespace() == pod.Namespace && p.GetName() == pod.Name {
			return h
		}
	}
	return nil
}

// lastOf returns the hold that began last.
func lastOf(holds []*agentpb.HoldInfo) (last *agentpb.HoldInfo) {
	for _, h := range holds {
		if last == nil || h.GetId() > last.GetId() {
			last = h
		}
	}
	return last
}
