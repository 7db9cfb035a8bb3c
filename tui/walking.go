package tui

import (
	"context"
	"errors"
	"time"

	tea "charm.land/bubbletea/v2"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/reason"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/cluster"
	"github.com/podstep/podstep/tui/screen"
	"github.com/podstep/podstep/tui/session"
	"github.com/podstep/podstep/tui/tours"
)

// walkLease is the lease of a walk's holds: time to read in peace. A timer of
// the kubelet may end it before.
const walkLease = 10 * time.Minute

// tourMsg is what came of something that a walk did.
type tourMsg struct {
	walk *walk
	// point is the breakpoint that was set for stop pointFor.
	point    uint32
	pointFor int
	// done is the action that was done.
	done *tours.Action
	// seen are the recorded events.
	seen []*agentpb.Batch
	err  error
}

// startWalk begins a walk by introducing it.
func (m *Model) startWalk(t *tours.Tour) tea.Cmd {
	m.offered = true
	if why := m.walkOff(t); why != "" {
		m.notice(m.text(t.Title) + ": " + why)
		return nil
	}
	w := newWalk(t, m.opts.Cluster.BeginWalk(t.Name), m.info, m.state.Decoder())
	m.walk = w
	m.state.SetMain(screen.MainStory)
	if !t.Needs.Recorded {
		return nil
	}
	w.busy = true
	control := m.control
	return func() tea.Msg {
		msg := tourMsg{walk: w, pointFor: -1}
		ctx, cancel := m.within()
		defer cancel()
		msg.err = control.History(ctx, func(_ *agentpb.InfoResponse, b *agentpb.Batch) error {
			msg.seen = append(msg.seen, b)
			return nil
		})
		return msg
	}
}

// walkOff reports why a walk cannot be taken here.
func (m *Model) walkOff(t *tours.Tour) string {
	if why := offNoHolds(m); why != (text{}) {
		return m.text(why)
	}
	if !m.state.Knows().Turns {
		return m.text(words.Text("it holds pods inside the kubelet, where an attached podstep cannot; podstep lab has a kubelet for it", "它要把 Pod 停在 kubelet 内部，附加的 podstep 做不到；podstep lab 里有可用的 kubelet"))
	}
	if t.Needs.Runtime == tours.Sim && runtimeOf(m.info) != tours.Sim {
		return m.text(words.Text("it needs the simulated lab: podstep lab", "需要模拟实验环境：podstep lab"))
	}
	return ""
}

// walkNext is the one key by which a walk goes on.
func (m *Model) walkNext() tea.Cmd {
	w := m.walk
	if w.busy {
		return nil
	}
	w.err = ""
	switch w.phase {
	case walkIntro:
		if w.makes() {
			return m.walkTake(false)
		}
		return m.walkTo(0, nil)
	case walkOver:
		return m.endWalk()
	case walkGoing:
		w.since = m.clock.now()
		return nil
	}
	s := w.stops[w.at]
	if s.Act != nil && s.Act.Do == tours.Pressure && !w.asked {
		return m.walkAsk()
	}
	if s.Act != nil {
		return m.walkTo(w.at+1, s.Act)
	}
	if w.at+1 < len(w.stops) && w.stops[w.at+1].Act != nil {
		// An action is shown before it is done; the pod waits meanwhile.
		w.enter(w.at+1, walkHere)
		return nil
	}
	return m.walkTo(w.at+1, nil)
}

// enter makes i the stop.
func (w *walk) enter(i int, p phase) {
	w.at, w.phase, w.answer = i, p, false
}

// walkTo goes on to stop i: the place of the next hold is set, the pod is let
// go, the action is done, and the stop is waited for.
func (m *Model) walkTo(i int, act *tours.Action) tea.Cmd {
	w := m.walk
	if i >= len(w.stops) {
		return m.walkEnd()
	}
	if w.phase == walkIntro && w.stops[i].Act != nil {
		w.enter(i, walkHere)
		w.after = w.lastSeen()
		return nil
	}
	if act == nil {
		w.enter(i, walkGoing)
		w.since = m.clock.now()
	}
	w.busy = true
	job := walkJob{m: m, w: w, control: m.control, act: act, held: w.held, place: w.nextHold(i)}
	job.keep = w.point != 0 && w.pointFor == job.place
	w.held = nil
	return job.run
}

// walkJob is what is done between two stops, in the background. It reads only
// what does not change while it runs.
type walkJob struct {
	m       *Model
	w       *walk
	control session.Control
	act     *tours.Action
	held    *agentpb.HoldInfo
	place   int
	keep    bool
}

// walkTime bounds what is done between two stops: an object may take its grace
// period to go.
const walkTime = time.Minute

func (j walkJob) run() tea.Msg {
	msg := tourMsg{walk: j.w, pointFor: -1}
	ctx, cancel := context.WithTimeout(j.m.ctx, walkTime)
	defer cancel()
	if !j.keep && j.place >= 0 {
		msg.point, msg.err = j.setPlace(ctx, j.w.stops[j.place])
		msg.pointFor = j.place
	}
	if msg.err == nil && j.held != nil {
		_, msg.err = j.control.Continue(ctx, &agentpb.ContinueRequest{Pods: &agentpb.PodSelector{Uid: j.held.GetPod().GetUid()}})
		if reason.CodeOf(msg.err) == agentpb.Problem_NOT_HELD {
			msg.err = nil // its lease was over before
		}
	}
	if msg.err == nil && j.act != nil {
		msg.err = j.w.run.Do(ctx, j.act)
		if msg.err == nil {
			msg.done = j.act
		}
	}
	return msg
}

func (j walkJob) setPlace(ctx context.Context, s *tours.Stop) (uint32, error) {
	on := agentpb.On_ON_ENTER
	switch {
	case s.On == probes.Exit && s.Failed:
		on = agentpb.On_ON_ERROR
	case s.On == probes.Exit:
		on = agentpb.On_ON_EXIT
	}
	pods, err := agentpb.ParsePods(s.Pod)
	if err != nil {
		return 0, err
	}
	// A pod of the same name that somebody else makes lacks the label.
	pods.Labels = map[string]string{tours.Label: j.w.run.ID()}
	b, err := j.control.AddBreakpoint(ctx, &agentpb.AddBreakpointRequest{
		Pods: pods, Step: s.Step, On: on,
		Action: &agentpb.AddBreakpointRequest_Hold{Hold: &agentpb.HoldAction{Lease: durationpb.New(walkLease)}},
	})
	return b.GetId(), err
}

// takeTour goes on when what was done in the background is done.
func (m *Model) takeTour(msg tourMsg) tea.Cmd {
	w := msg.walk
	if w != m.walk {
		return m.undo(msg) // the walk was ended meanwhile
	}
	w.busy = false
	for _, b := range msg.seen {
		w.add(b)
	}
	if msg.point != 0 {
		w.point, w.pointFor = msg.point, msg.pointFor
	}
	if msg.done != nil {
		w.enter(w.at+1, walkGoing)
		w.since = m.clock.now()
	}
	if msg.err != nil && !errors.Is(msg.err, context.Canceled) {
		w.err = m.text(reason.Error(msg.err))
		var taken *cluster.TakenError
		if errors.As(msg.err, &taken) && w.at == 0 {
			w.enter(0, walkIntro) // from here the walk takes another name
			return m.dropPoint()
		}
	}
	return m.walkLook()
}

// walkLook looks whether the stop that is waited for has come.
func (m *Model) walkLook() tea.Cmd {
	w := m.walk
	if w == nil || w.busy || w.phase != walkGoing {
		return nil
	}
	s := w.stops[w.at]
	if s.Act != nil {
		w.enter(w.at, walkHere)
		return nil
	}
	if w.holds(s) {
		return m.walkHold(s)
	}
	e := w.find(s)
	if e == nil {
		return nil
	}
	w.after = e.Seq
	w.enter(w.at, walkHere)
	m.aimAtEvent(e)
	return nil
}

// walkHold looks for the pod among those that are held.
func (m *Model) walkHold(s *tours.Stop) tea.Cmd {
	w := m.walk
	at, pass := w.holdAt(s, m.holds)
	var cmds []tea.Cmd
	for _, h := range pass {
		cmds = append(cmds, m.act("", func(ctx context.Context, c session.Control) error {
			_, err := c.Continue(ctx, &agentpb.ContinueRequest{Pods: &agentpb.PodSelector{Uid: h.GetPod().GetUid()}})
			return err
		}))
	}
	if at == nil {
		return tea.Batch(cmds...)
	}
	w.held = at
	w.after = w.lastSeen()
	w.enter(w.at, walkHere)
	m.aimAtHold(at)
	cmds = append(cmds, m.dropPoint())
	return tea.Batch(cmds...)
}
