// Package walk takes a person along a guided walk. It waits for the walk's stops, holds pods there, does the walk's
// actions to the cluster, and takes back what it has set up. It draws nothing and knows no keys. A Desk gives it
// what it needs of the screen.
package walk

import (
	"context"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/tui/ask"
	"github.com/podstep/podstep/tui/cluster"
	"github.com/podstep/podstep/tui/session"
	"github.com/podstep/podstep/tui/tours"
)

// Run acts for one run of a walk, at the API server and on the node. It changes and deletes only what it made
// itself.
type Run interface {
	// ID returns the value of tours.Label on all that the run makes.
	ID() string
	// Take gives a walk names that nobody has. It changes nothing.
	Take(ctx context.Context, t *tours.Tour, node string) (*tours.Tour, cluster.Found, error)
	// Clear deletes what Take found of other runs of walks.
	Clear(ctx context.Context) error
	Do(ctx context.Context, a *tours.Action) error
	// Others names the pods on the nodes that this run did not make.
	Others(ctx context.Context) ([]string, error)
	// Mine reports whether the run made this pod.
	Mine(p *probes.Pod) bool
	// Made names what the run made and has not deleted.
	Made() []string
	// Undo deletes what the run made. Things that are gone already are no error.
	Undo(ctx context.Context) error
}

// Desk is the screen at which a walk is taken.
type Desk interface {
	Now() time.Time
	// Text returns a text in the reader's language.
	Text(t probes.Text) string
	// Textf is Text with values.
	Textf(t probes.Text, args ...any) string
	// Notice shows what a key did.
	Notice(text string)
	// Ask puts a question on top of the screen.
	Ask(d *ask.Dialog)
	// Act does something at the agent or the cluster, and then shows done.
	Act(done string, do func(context.Context, session.Control) error) tea.Cmd
	// Holds returns the holds that the agent last reported.
	Holds() []*agentpb.HoldInfo
	// AtHold and AtEvent show the place that the walk has come to.
	AtHold(h *agentpb.HoldInfo)
	AtEvent(e *probes.Event)
	// Finished remembers that the walk of that name was finished.
	Finished(name string) tea.Cmd
}

// Place is the screen and the session in which a walk is taken.
type Place struct {
	Desk    Desk
	Run     Run
	Control session.Control
	Info    *agentpb.InfoResponse
	// Pods decodes events, with the pods that the screen knows.
	Pods *wire.Decoder
}

// phase says how far a walk is with its stop.
type phase int

const (
	// phaseIntro: the walk is introduced, nothing has been done.
	phaseIntro phase = iota
	// phaseGoing: the walk waits for the stop.
	phaseGoing
	// phaseHere: the stop is reached, or is an action that can be done.
	phaseHere
	// phaseOver: the last stop is behind.
	phaseOver
)

// Walk is a guided walk under way. It knows its stop, the events that have been seen, and what it has set up and
// made.
type Walk struct {
	Place
	ctx context.Context
	// written is the walk with the names in its file. tour is the same walk with names that nobody else has.
	written, tour *tours.Tour
	stops         []*tours.Stop
	at            int
	phase         phase
	// since is the time when the waiting began.
	since time.Time

	// seen are the events of the walk's steps, oldest first. after is the sequence number of the last stop's event.
	seen   []probes.Event
	after  uint64
	wanted map[string]bool

	// point is the breakpoint that is set for the stop with the index pointFor; zero if none is.
	point    uint32
	pointFor int
	// held is the hold at this stop, if the pod is held here.
	held *agentpb.HoldInfo
	// busy: a call to the agent or the cluster is under way.
	busy   bool
	answer bool
	err    string
	// asked: the person wants the shortage, even if pods of others are on the node.
	asked bool
	// ended: the walk is over, or another one is on.
	ended bool
}

// Begin introduces a walk. A stop that would make the node stand still is only watched where that is not allowed.
func Begin(ctx context.Context, t *tours.Tour, at Place) (*Walk, tea.Cmd) {
	w := &Walk{Place: at, ctx: ctx, written: t, wanted: map[string]bool{}, pointFor: -1}
	w.setTour(t)
	if !t.Needs.Recorded {
		return w, nil
	}
	w.busy = true
	return w, func() tea.Msg { return Msg{w, w.recorded()} }
}

// recorded reads the events from before the walk began.
func (w *Walk) recorded() (out outcome) {
	out.pointFor = -1
	ctx, cancel := w.within()
	defer cancel()
	out.err = w.Control.History(ctx, func(_ *agentpb.InfoResponse, b *agentpb.Batch) error {
		out.seen = append(out.seen, b)
		return nil
	})
	return out
}

// setTour makes t the tour that is walked.
func (w *Walk) setTour(t *tours.Tour) {
	w.tour, w.stops = t, nil
	for i := range t.Stops {
		if s := &t.Stops[i]; s.In(RuntimeOf(w.Info)) {
			w.stops = append(w.stops, s)
			w.wanted[s.Step] = true
		}
	}
}

// makesObjects reports whether the walk makes anything.
func (w *Walk) makesObjects() bool {
	return slices.ContainsFunc(w.stops, func(s *tours.Stop) bool { return s.Act != nil })
}

// mine reports whether an event or a hold belongs to the walk: it is about the node, or about a pod that the walk
// made.
func (w *Walk) mine(p *probes.Pod) bool { return p == nil || w.Run.Mine(p) }

// command returns the action at a stop as a person would type it.
func (w *Walk) command(s *tours.Stop) string {
	for i := range w.tour.Stops {
		if &w.tour.Stops[i] == s {
			return s.Act.Command("DIR", w.tour.File(i))
		}
	}
	return ""
}

// RuntimeOf returns the runtime of an agent's node. Only the simulated lab is a node for one person alone.
func RuntimeOf(info *agentpb.InfoResponse) tours.Runtime {
	if info.GetLab() {
		return tours.Sim
	}
	return tours.Containerd
}

// Ended reports whether the walk has ended and was left.
func (w *Walk) Ended() bool { return w.ended }

// Abandon leaves the walk as it is: its agent is gone, or another walk has begun. What the walk is just setting up
// is taken back when it is done.
func (w *Walk) Abandon() { w.ended = true }

// text returns a text in the reader's language.
func (w *Walk) text(t probes.Text) string { return w.Desk.Text(t) }

// textf formats a text in the reader's language.
func (w *Walk) textf(t probes.Text, args ...any) string { return w.Desk.Textf(t, args...) }

// callTime is how long the agent and the API server may take to answer without waiting for a pod.
const callTime = 10 * time.Second

// within returns a context for a call that does not wait for a pod.
func (w *Walk) within() (context.Context, context.CancelFunc) {
	return context.WithTimeout(w.ctx, callTime)
}

// Here returns the stop that the walk is at; nil: it is on its way.
func (w *Walk) Here() *tours.Stop {
	if w.ended || w.phase != phaseHere {
		return nil
	}
	return w.stops[w.at]
}
