package tui

import (
	"slices"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/screen"
	"github.com/podstep/podstep/tui/session"
	"github.com/podstep/podstep/tui/tours"
)

// phase is how far a walk is with its stop.
type phase int

const (
	// walkIntro: the walk is introduced, nothing has been done.
	walkIntro phase = iota
	// walkGoing: the stop is waited for.
	walkGoing
	// walkHere: the stop is reached, or it is an action and can be done.
	walkHere
	// walkOver: the last stop is behind.
	walkOver
)

// walk is a guided walk that is on: which stop it is at, what has been seen of
// what it waits for, and what it has set up and made.
type walk struct {
	// written is the walk with the names that it is written with; tour is the one
	// that is walked, with names that nobody else has.
	written, tour *tours.Tour
	// run does what the walk does to the cluster.
	run   WalkRun
	stops []*tours.Stop
	at    int
	phase phase
	// since is when the waiting began.
	since time.Time

	// seen are the events of the walk's steps, oldest first; after is the
	// sequence number of the event that the last stop was.
	seen   []probes.Event
	after  uint64
	wanted map[string]bool
	decode *wire.Decoder
	steps  []*agentpb.Step

	// point is the breakpoint that is set for the stop pointFor; zero if none is.
	point    uint32
	pointFor int
	// held is the hold at this stop, if the pod is held here.
	held *agentpb.HoldInfo
	// busy: a call to the agent or the cluster is under way.
	busy   bool
	answer bool
	err    string
	// asked: the person wants the node short of something, pods of others or not.
	asked bool
}

// maxSeen bounds what a walk remembers: its own steps only, of a few minutes.
const maxSeen = 1 << 15

// newWalk prepares a walk on a node. A stop at which the node would have to
// stand still is watched where that is not allowed.
func newWalk(t *tours.Tour, run WalkRun, info *agentpb.InfoResponse, pods *wire.Decoder) *walk {
	w := &walk{written: t, run: run, wanted: map[string]bool{}, decode: pods, steps: info.GetSteps(), pointFor: -1}
	w.take(t, info)
	return w
}

// take makes t the walk that is walked.
func (w *walk) take(t *tours.Tour, info *agentpb.InfoResponse) {
	w.tour, w.stops = t, nil
	for i := range t.Stops {
		if s := &t.Stops[i]; s.In(runtimeOf(info)) {
			w.stops = append(w.stops, s)
			w.wanted[s.Step] = true
		}
	}
}

// makes reports whether the walk makes anything.
func (w *walk) makes() bool {
	return slices.ContainsFunc(w.stops, func(s *tours.Stop) bool { return s.Act != nil })
}

// mine reports whether an event or a hold is the walk's: about the node, or about
// a pod that the walk made.
func (w *walk) mine(p *probes.Pod) bool { return p == nil || w.run.Mine(p) }

// command is the action at a stop, as a person would type it.
func (w *walk) command(s *tours.Stop) string {
	for i := range w.tour.Stops {
		if &w.tour.Stops[i] == s {
			return s.Act.Command("DIR", w.tour.File(i))
		}
	}
	return ""
}

// runtimeOf is what runs the pods of an agent's node. Only the simulated lab is
// a node for one person alone.
func runtimeOf(info *agentpb.InfoResponse) tours.Runtime {
	if info.GetLab() {
		return tours.Sim
	}
	return tours.Containerd
}

// holds reports whether a pod is to be held at a stop.
func (w *walk) holds(s *tours.Stop) bool {
	if s.Act != nil || s.Hold == "" {
		return false
	}
	i := slices.IndexFunc(w.steps, func(p *agentpb.Step) bool { return p.GetName() == s.Step })
	if i < 0 || !w.steps[i].GetSeen() {
		return false
	}
	rule := w.steps[i].GetHoldEnter()
	if s.On == probes.Exit {
		rule = w.steps[i].GetHoldExit()
	}
	return rule != "no" && rule != ""
}

// nextHold is the hold stop whose place is to be set before the walk goes on to
// stop from: the first one, over watched stops, but not over an action.
func (w *walk) nextHold(from int) int {
	for i := from; i < len(w.stops); i++ {
		switch s := w.stops[i]; {
		case s.Act != nil:
			return -1
		case w.holds(s):
			return i
		}
	}
	return -1
}

// add remembers the events that a stop may be about. Their pods are known: the
// state has taken the batch, or a later one.
func (w *walk) add(b *agentpb.Batch) {
	for _, raw := range b.GetEvents() {
		h, err := wire.ReadHeader(raw)
		if err != nil || h.Step == 0 || int(h.Step) > len(w.steps) || !w.wanted[w.steps[h.Step-1].GetName()] {
			continue
		}
		w.seen = append(w.seen, w.decode.Event(raw))
	}
	if over := len(w.seen) - maxSeen; over > 0 {
		w.seen = slices.Delete(w.seen, 0, over)
	}
}

// find is the first event after the last stop's that is stop s.
func (w *walk) find(s *tours.Stop) *probes.Event {
	for i := range w.seen {
		if e := &w.seen[i]; e.Seq > w.after && s.Matches(e) && w.mine(e.Pod) {
			return e
		}
	}
	return nil
}

// holdAt is the hold among those there are that is at stop s; other holds at the
// walk's own breakpoint are passed by.
func (w *walk) holdAt(s *tours.Stop, holds []*agentpb.HoldInfo) (at *agentpb.HoldInfo, pass []*agentpb.HoldInfo) {
	for _, h := range holds {
		if h.GetStep() != s.Step || h.GetOn() != string(s.On) || !session.OfBreakpoint(h, w.point) {
			continue
		}
		pod := wire.PodOf(h.GetPod())
		if at == nil && s.OfPod(&pod) && w.mine(&pod) && s.HasFields(wire.Fields(h.GetFields())) && (!s.Failed || h.GetError() != "") {
			at = h
			continue
		}
		pass = append(pass, h)
	}
	return at, pass
}

// lastSeen is the sequence number up to which everything is behind the walk once
// a pod is held.
func (w *walk) lastSeen() uint64 {
	if len(w.seen) == 0 {
		return w.after
	}
	return max(w.after, w.seen[len(w.seen)-1].Seq)
}

// card is the walk as the screen shows it.
func (w *walk) card(m *Model) *screen.TourCard {
	c := &screen.TourCard{Title: m.text(w.tour.Title), Stop: w.at + 1, Stops: len(w.stops)}
	switch {
	case w.phase == walkIntro:
		c.Stop = 0
		c.Text = m.text(w.tour.Text)
		c.Wait = m.text(words.Text("n begins · x ends the walk", "n 开始 · x 结束导览"))
		if w.busy {
			c.Wait = m.text(words.Text("one moment · x ends the walk", "请稍候 · x 结束导览"))
		}
	case w.phase == walkOver:
		c.Stop = len(w.stops)
		c.Text = m.text(w.tour.Ending)
		c.Wait = m.text(words.Text("n ends the walk", "n 结束导览"))
	case w.phase == walkGoing:
		w.cardGoing(m, c)
	default:
		w.cardHere(m, c)
	}
	if w.err != "" {
		c.Wait = w.err + " · " + c.Wait
	}
	return c
}

func (w *walk) cardGoing(m *Model, c *screen.TourCard) {
	s := w.stops[w.at]
	c.Text = m.text(s.Title)
	c.Wait = m.textf(words.Text("waiting for %s", "等待 %s"), s.Step)
	if m.clock.now().Sub(w.since) > s.Within {
		c.Wait = m.textf(words.Text("%s has not come in %s; wait on, or x ends the walk", "%s 在 %s 内还没有到来；继续等待，或按 x 结束导览"), s.Step, s.Within)
	}
}

func (w *walk) cardHere(m *Model, c *screen.TourCard) {
	s := w.stops[w.at]
	c.Heading = m.text(s.Title)
	c.Text = m.text(s.Text)
	if q := s.Question; q != nil {
		c.Question = m.text(q.Text)
		if w.answer {
			c.Answer = m.text(q.Answer)
		}
	}
	switch {
	case w.busy:
		c.Wait = m.text(words.Text("one moment", "请稍候"))
	case s.Act != nil:
		c.Wait = m.textf(words.Text("n does it: %s", "按 n 执行：%s"), w.command(s))
	case w.at+1 == len(w.stops):
		c.Wait = m.text(words.Text("n goes on to the end", "n 到结尾"))
	default:
		c.Wait = m.text(words.Text("n goes on", "n 继续"))
	}
	if c.Question != "" && !w.answer {
		c.Wait += m.text(words.Text(" · a answers", " · a 看答案"))
	}
}
