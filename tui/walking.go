package tui

import (
	"context"
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/ask"
	"github.com/podstep/podstep/tui/screen"
	"github.com/podstep/podstep/tui/session"
	"github.com/podstep/podstep/tui/tours"
	"github.com/podstep/podstep/tui/walk"
)

// walkDesk gives a guided walk what it needs of the screen.
type walkDesk struct{ m *Model }

func (d walkDesk) Now() time.Time            { return d.m.clock.now() }
func (d walkDesk) Text(t probes.Text) string { return d.m.text(t) }
func (d walkDesk) Textf(t probes.Text, args ...any) string {
	return d.m.textf(t, args...)
}
func (d walkDesk) Notice(text string)           { d.m.notice(text) }
func (d walkDesk) Ask(q *ask.Dialog)            { d.m.push(q) }
func (d walkDesk) Holds() []*agentpb.HoldInfo   { return d.m.holds }
func (d walkDesk) AtHold(h *agentpb.HoldInfo)   { d.m.aimAtHold(h) }
func (d walkDesk) AtEvent(e *probes.Event)      { d.m.aimAtEvent(e) }
func (d walkDesk) Finished(name string) tea.Cmd { return d.m.finishedWalk(name) }
func (d walkDesk) Act(done string, do func(context.Context, session.Control) error) tea.Cmd {
	return d.m.act(done, do)
}

// startWalk begins a walk by introducing it.
func (m *Model) startWalk(t *tours.Tour) tea.Cmd {
	m.offered = true
	if why := m.walkOff(t); why != "" {
		m.notice(m.text(t.Title) + ": " + why)
		return nil
	}
	m.leaveWalk()
	w, cmd := walk.Begin(m.ctx, t, walk.Place{
		Desk: walkDesk{m}, Run: m.opts.Cluster.BeginWalk(t.Name), Control: m.control, Info: m.info, Pods: m.state.Decoder(),
	})
	m.walk = w
	m.state.SetMain(screen.MainStory)
	return cmd
}

// walkOff says why a walk cannot be taken here; empty if it can.
func (m *Model) walkOff(t *tours.Tour) string {
	if why := offNoHolds(m); why != (text{}) {
		return m.text(why)
	}
	if !m.state.Knows().Turns {
		return m.text(words.Text("it holds pods inside the kubelet, where an attached podstep cannot; podstep lab has a kubelet for it", "它要把 Pod 停在 kubelet 内部，附加的 podstep 做不到；podstep lab 里有可用的 kubelet"))
	}
	if t.Needs.Runtime == tours.Sim && walk.RuntimeOf(m.info) != tours.Sim {
		return m.text(words.Text("it needs the simulated lab: podstep lab", "需要模拟实验环境：podstep lab"))
	}
	if t.Needs.Devices && !m.opts.Cluster.HasDevices() {
		return m.text(words.Text("it needs a lab with devices: podstep lab --devices 1", "需要带设备的实验环境：podstep lab --devices 1"))
	}
	return ""
}

// followWalk handles the walk's key: the walk goes on, and the place that it comes to is selected.
func (m *Model) followWalk() tea.Cmd {
	m.strayed = false
	cmd := m.walk.Next()
	if m.walk.Ended() {
		m.walk = nil
	}
	return cmd
}

// walkLook lets the walk check whether the stop that it waits for has come.
func (m *Model) walkLook() tea.Cmd {
	if m.walk == nil {
		return nil
	}
	cmd := m.walk.Look()
	m.showLook()
	return cmd
}

// readWalk shows the walk's card in full.
func (m *Model) readWalk() tea.Cmd {
	m.push(m.walk.Page())
	return nil
}

// endWalk ends a walk anywhere.
func (m *Model) endWalk() tea.Cmd {
	w := m.walk
	m.walk = nil
	return w.End()
}

// leaveWalk abandons the present walk, if there is one.
func (m *Model) leaveWalk() {
	if m.walk != nil {
		m.walk.Abandon()
		m.walk = nil
	}
}

// endWalkFor ends a walk when another agent is there: its holds are gone.
func (m *Model) endWalkFor(*agentpb.InfoResponse) {
	if m.walk != nil {
		m.leaveWalk()
		m.fail(fmt.Errorf("%s", m.text(words.Text("the walk has ended because the agent has ended", "代理已退出，导览随之结束"))))
	}
}
