package tui

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/screen"
	"github.com/podstep/podstep/tui/tours"
)

// Gatherer finds out what other sources than its story say of a pod. It takes a few seconds at most, and changes
// nothing.
type Gatherer interface {
	Pod(context.Context, evidence.Name) *evidence.Snapshot
	// Unscheduled returns the pods that have no node, each with its object alone.
	Unscheduled(context.Context) ([]*evidence.Snapshot, error)
}

// How often podstep asks about the selected pod: while its causes are shown, and while the pod is in trouble. It
// does not ask about a pod that does well.
const (
	askShown   = 3 * time.Second
	askTrouble = 10 * time.Second
)

// asking keeps when podstep asked what, so that it does not ask too often.
type asking struct {
	uid   string    // of the pod that was asked about last
	began time.Time // when that was
	goes  bool      // a question is on its way
	// restarts is how often its containers had been started again then, and noticed is when that was seen to have changed.
	restarts int
	noticed  time.Time

	nodeless nodeless
}

// askForNodeless asks for the pods that have no node, while the agent is there.
func (m *Model) askForNodeless() tea.Cmd {
	if !m.linked {
		return nil
	}
	return m.asking.nodeless.askForPods(m.ctx, m.opts.Gather, m.clock.now())
}

// gatheredMsg brings what was found out about a pod.
type gatheredMsg struct {
	uid      string
	snapshot *evidence.Snapshot
}

// gather asks about the selected pod, if it is in trouble or its causes are shown, and if it is time.
func (m *Model) gather() tea.Cmd {
	pod, ok := m.selected()
	if !ok || m.opts.Gather == nil || !m.linked || m.asking.goes {
		return nil
	}
	now := m.clock.now()
	if m.asking.uid == pod.UID && now.Sub(m.asking.began) < m.askEvery() && !m.restarted(now) {
		return nil
	}
	if m.askEvery() == 0 {
		return nil
	}
	m.asking.uid, m.asking.began, m.asking.goes = pod.UID, now, true
	m.asking.restarts, m.asking.noticed = m.state.SelectedRestarts(), time.Time{}
	m.state.SetAsking(pod.UID)
	ctx, ask := m.ctx, m.opts.Gather
	return func() tea.Msg {
		return gatheredMsg{pod.UID, ask.Pod(ctx, evidence.Name{Namespace: pod.Namespace, Name: pod.Name})}
	}
}

// askRestarted is how long after a container was started again podstep asks about the pod: until then the kubelet has told
// the API server.
const askRestarted = 1500 * time.Millisecond

// restarted reports whether a container of the selected pod was started again since podstep asked, so that cause and list
// would count differently.
func (m *Model) restarted(now time.Time) bool {
	switch {
	case m.state.SelectedRestarts() == m.asking.restarts:
		m.asking.noticed = time.Time{}
		return false
	case m.asking.noticed.IsZero():
		m.asking.noticed = now
	}
	return now.Sub(m.asking.noticed) >= askRestarted
}

// askEvery returns how often to ask about the selected pod; 0: not at all.
func (m *Model) askEvery() time.Duration {
	switch {
	case m.main() == screen.MainWhy:
		return askShown
	case m.screen().Why.Mark == life.Stuck, m.screen().Why.Mark == life.Retrying, m.screen().Why.Mark == life.Waiting:
		return askTrouble
	}
	return 0
}

func (m *Model) takeGathered(msg gatheredMsg) {
	m.asking.goes = false
	m.state.SetAsking("")
	m.state.SetSnapshot(msg.uid, msg.snapshot)
}

// causeWalk starts the walk that explains the selected cause's part of the pipeline.
func (m *Model) causeWalk() tea.Cmd {
	all, err := tours.Load()
	if err != nil {
		m.fail(err)
		return nil
	}
	if t := tours.Find(all, m.state.SelectedWalk()); t != nil {
		return m.startWalk(t)
	}
	m.notice(m.text(words.Text("no walk explains what is selected", "没有导览讲解所选内容")))
	return nil
}
