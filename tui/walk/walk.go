// Package walk takes a person along a guided walk: it waits for the walk's stops,
// has pods held there, does to the cluster what the walk does, and takes back what
// it has set up. It draws nothing and knows no keys; what it needs of the screen
// is a Desk.
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

// Run is what one run of a walk does at the API server and on the node. It
// changes and deletes only what it made itself.
type Run interface {
	// ID is the value of tours.Label that all the run makes has.
	ID() string
	// Take gives a walk names that nobody has. It changes nothing.
	Take(ctx context.Context, t *tours.Tour, node string) (*tours.Tour, cluster.Found, error)
	// Clear deletes what Take found of other runs of walks.
	Clear(ctx context.Context) error
	Do(ctx context.Context, a *tours.Action) error
	// Others names the pods that are on the nodes and not of this run.
	Others(ctx context.Context) ([]string, error)
	// Mine reports whether the run made this pod.
	Mine(p *probes.Pod) bool
	// Made names what the run made and has not deleted.
	Made() []string
	// Undo deletes what the run made, and is content with what is gone.
	Undo(ctx context.Context) error
}

// Desk is the screen at which a walk is taken.
type Desk interface {
	Now() time.Time
	// Text gives a text in the reader's language.
	Text(t probes.Text) string
	// Textf is Text with values.
	Textf(t probes.Text, args ...any) string
	// Notice says what came of a key.
	Notice(text string)
	// Ask puts a question on top of the screen.
	Ask(d *ask.Dialog)
	// Act does something at the agent or the cluster, and then says so.
	Act(done string, do func(context.Context, session.Control) error) tea.Cmd
	// Holds are those that the agent last reported.
	Holds() []*agentpb.HoldInfo
	// AtHold and AtEvent show where the walk has come to.
	AtHold(h *agentpb.HoldInfo)
	AtEvent(e *probes.Event)
	// Finished remembers that the walk of that name was finished.
	Finished(name string) tea.Cmd
}

// Place is where a walk is taken.
type Place struct {
	Desk    Desk
	Run     Run
	Control session.Control
	Info    *agentpb.InfoResponse
	// Pods decodes events, with the pods that the screen knows.
	Pods *wire.Decoder
}

// phase is how far a walk is with its stop.
type phase int

const (
	// phaseIntro: the walk is introduced, nothing has been done.
	phaseIntro phase = iota
	// phaseGoing: the stop is waited for.
	phaseGoing
	// phaseHere: the stop is reached, or it is an action and can be done.
	phaseHere
	// phaseOver: the last stop is behind.
	phaseOver
)

// Walk is a guided walk that is on: which stop it is at, what has been seen of
// what it waits for, and what it has set up and made.
type Walk struct {
	Place
	ctx context.Context
	// written is the walk with the names that it is written with; tour is the one
	// that is walked, with names that nobody else has.
	written, tour *tours.Tour
	stops         []*tours.Stop
	at            int
	phase         phase
	// since is when the waiting began.
	since time.Time

	// seen are the events of the walk's steps, oldest first; after is the
	// sequence number of the event that the last stop was.
	seen   []probes.Event
	after  uint64
	wanted map[string]bool

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
	// ended: the walk is over, or another one is on.
	ended bool
}

// Begin introduces a walk. A stop at which the node would have to stand still is
// watched where that is not allowed.
func Begin(ctx context.Context, t *tours.Tour, at Place) (*Walk, tea.Cmd) {
	w := &Walk{Place: at, ctx: ctx, written: t, wanted: map[string]bool{}, pointFor: -1}
	w.take(t)
	if !t.Needs.Recorded {
		return w, nil
	}
	w.busy = true
	return w, func() tea.Msg { return Msg{w, w.recorded()} }
}

// recorded reads what there was before the walk began.
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

// take makes t the walk that is walked.
func (w *Walk) take(t *tours.Tour) {
	w.tour, w.stops = t, nil
	for i := range t.Stops {
		if s := &t.Stops[i]; s.In(RuntimeOf(w.Info)) {
			w.stops = append(w.stops, s)
			w.wanted[s.Step] = true
		}
	}
}

// makes reports whether the walk makes anything.
func (w *Walk) makes() bool {
	return slices.ContainsFunc(w.stops, func(s *tours.Stop) bool { return s.Act != nil })
}

// mine reports whether an event or a hold is the walk's: about the node, or about
// a pod that the walk made.
func (w *Walk) mine(p *probes.Pod) bool { return p == nil || w.Run.Mine(p) }

// command is the action at a stop, as a person would type it.
func (w *Walk) command(s *tours.Stop) string {
	for i := range w.tour.Stops {
		if &w.tour.Stops[i] == s {
			return s.Act.Command("DIR", w.tour.File(i))
		}
	}
	return ""
}

// RuntimeOf is what runs the pods of an agent's node. Only the simulated lab is
// a node for one person alone.
func RuntimeOf(info *agentpb.InfoResponse) tours.Runtime {
	if info.GetLab() {
		return tours.Sim
	}
	return tours.Containerd
}

// Ended reports whether the walk is over, and left.
func (w *Walk) Ended() bool { return w.ended }

// Abandon leaves the walk as it is: its agent is gone, or another walk is on. What
// it was setting up just now is taken back.
func (w *Walk) Abandon() { w.ended = true }

// text gives a text in the reader's language.
func (w *Walk) text(t probes.Text) string { return w.Desk.Text(t) }

// textf is text with values.
func (w *Walk) textf(t probes.Text, args ...any) string { return w.Desk.Textf(t, args...) }

// callTime is how long the agent and the API server may take to answer what they
// know.
const callTime = 10 * time.Second

// within bounds a call that does not wait for a pod.
func (w *Walk) within() (context.Context, context.CancelFunc) {
	return context.WithTimeout(w.ctx, callTime)
}
