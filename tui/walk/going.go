package walk

import (
	"context"
	"errors"
	"time"

	tea "charm.land/bubbletea/v2"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/reason"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/tui/cluster"
	"github.com/podstep/podstep/tui/session"
	"github.com/podstep/podstep/tui/tours"
)

// holdLease is the lease of a walk's holds: time enough to read. A timer of the kubelet may end a hold before.
const holdLease = 10 * time.Minute

// Msg brings the result of something that a walk did.
type Msg struct {
	of   *Walk
	what any // outcome, named or crowd
}

// outcome is the result of what was done between two stops.
type outcome struct {
	// point is the breakpoint that was set for the stop with the index pointFor.
	point    uint32
	pointFor int
	// done is the action that was done.
	done *tours.Action
	// seen are the recorded events.
	seen []*agentpb.Batch
	err  error
}

// Take continues the walk when something in the background is done.
func (m Msg) Take() tea.Cmd {
	switch what := m.what.(type) {
	case outcome:
		return m.of.takeOutcome(what)
	case named:
		return m.of.takeNames(what)
	case crowd:
		return m.of.takeOthers(what)
	}
	return nil
}

// Next goes on with the walk. It is called for the one key of walks.
func (w *Walk) Next() tea.Cmd {
	if w.busy {
		return nil
	}
	w.err = ""
	switch w.phase {
	case phaseIntro:
		if w.makesObjects() {
			return w.findNames(false)
		}
		return w.goTo(0, nil)
	case phaseOver:
		return w.End()
	case phaseGoing:
		w.since = w.Desk.Now()
		return nil
	}
	s := w.stops[w.at]
	if s.Act != nil && s.Act.Do == tours.Pressure && !w.asked {
		return w.findOthers()
	}
	if s.Act != nil {
		return w.goTo(w.at+1, s.Act)
	}
	if w.at+1 < len(w.stops) && w.stops[w.at+1].Act != nil {
		// An action is shown before it is done; the pod waits meanwhile.
		w.enter(w.at+1, phaseHere)
		return nil
	}
	return w.goTo(w.at+1, nil)
}

// enter makes i the present stop.
func (w *Walk) enter(i int, p phase) {
	w.at, w.phase, w.answer = i, p, false
}

// goTo goes on to stop i: it sets the place of the next hold, lets the pod go, does the action, and waits for the
// stop.
func (w *Walk) goTo(i int, act *tours.Action) tea.Cmd {
	if i >= len(w.stops) {
		return w.finish()
	}
	if w.phase == phaseIntro && w.stops[i].Act != nil {
		w.enter(i, phaseHere)
		w.after = w.lastSeen()
		return nil
	}
	if act == nil {
		w.enter(i, phaseGoing)
		w.since = w.Desk.Now()
	}
	w.busy = true
	job := job{w: w, act: act, held: w.held, place: w.nextHold(i)}
	job.keep = w.point != 0 && w.pointFor == job.place
	w.held = nil
	return func() tea.Msg { return Msg{w, job.run()} }
}

// job is done between two stops, in the background. It reads only what does not change while it runs.
type job struct {
	w     *Walk
	act   *tours.Action
	held  *agentpb.HoldInfo
	place int
	keep  bool
}

// jobTime bounds a job: an object may take its grace period to go.
const jobTime = time.Minute

func (j job) run() outcome {
	out := outcome{pointFor: -1}
	ctx, cancel := context.WithTimeout(j.w.ctx, jobTime)
	defer cancel()
	if !j.keep && j.place >= 0 {
		out.point, out.err = j.setPlace(ctx, j.w.stops[j.place])
		out.pointFor = j.place
	}
	if out.err == nil && j.held != nil {
		_, out.err = j.w.Control.Continue(ctx, &agentpb.ContinueRequest{Pods: &agentpb.PodSelector{Uid: j.held.GetPod().GetUid()}})
		if reason.CodeOf(out.err) == agentpb.Problem_NOT_HELD {
			out.err = nil // its lease had ended before
		}
	}
	if out.err == nil && j.act != nil {
		out.err = j.w.Run.Do(ctx, j.act)
		if out.err == nil {
			out.done = j.act
		}
	}
	return out
}

func (j job) setPlace(ctx context.Context, s *tours.Stop) (uint32, error) {
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
	pods.Labels = map[string]string{tours.Label: j.w.Run.ID()}
	b, err := j.w.Control.AddBreakpoint(ctx, &agentpb.AddBreakpointRequest{
		Pods: pods, Step: s.Step, On: on, Message: "a guided walk of podstep",
		Action: &agentpb.AddBreakpointRequest_Hold{Hold: &agentpb.HoldAction{Lease: durationpb.New(holdLease)}},
	})
	return b.GetId(), err
}

func (w *Walk) takeOutcome(out outcome) tea.Cmd {
	if w.ended {
		return w.undo(out) // the walk was ended meanwhile
	}
	w.busy = false
	for _, b := range out.seen {
		w.Add(b)
	}
	if out.point != 0 {
		w.point, w.pointFor = out.point, out.pointFor
	}
	if out.done != nil {
		w.enter(w.at+1, phaseGoing)
		w.since = w.Desk.Now()
	}
	if out.err != nil && !errors.Is(out.err, context.Canceled) {
		w.err = w.text(reason.Error(out.err))
		var taken *cluster.TakenError
		if errors.As(out.err, &taken) && w.at == 0 {
			w.enter(0, phaseIntro) // from here the walk takes another name
			return w.dropPoint()
		}
	}
	return w.Look()
}

// Look checks whether the stop that the walk waits for has come.
func (w *Walk) Look() tea.Cmd {
	if w.busy || w.phase != phaseGoing {
		return nil
	}
	s := w.stops[w.at]
	if s.Act != nil {
		w.enter(w.at, phaseHere)
		return nil
	}
	if w.holdsAt(s) {
		return w.lookForHold(s)
	}
	e := w.findEvent(s)
	if e == nil {
		return nil
	}
	w.after = e.Seq
	w.enter(w.at, phaseHere)
	w.Desk.AtEvent(e)
	return nil
}

// lookForHold looks for the stop's pod among the held pods.
func (w *Walk) lookForHold(s *tours.Stop) tea.Cmd {
	at, pass := w.holdAt(s, w.Desk.Holds())
	var cmds []tea.Cmd
	for _, h := range pass {
		cmds = append(cmds, w.Desk.Act("", func(ctx context.Context, c session.Control) error {
			_, err := c.Continue(ctx, &agentpb.ContinueRequest{Pods: &agentpb.PodSelector{Uid: h.GetPod().GetUid()}})
			return err
		}))
	}
	if at == nil {
		return tea.Batch(cmds...)
	}
	w.held = at
	w.after = w.lastSeen()
	w.enter(w.at, phaseHere)
	w.Desk.AtHold(at)
	cmds = append(cmds, w.dropPoint())
	return tea.Batch(cmds...)
}
