package attach

import (
	"context"
	"sync"
	"time"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/uprobe"
	"github.com/podstep/podstep/probes/uprobe/holdproc"
	"github.com/podstep/podstep/probes/uprobe/park"
)

const (
	// lease is how long the kernel holds a goroutine that nobody renews: a podstep that
	// hangs or dies has its pods go on after that, at the latest.
	lease = 10 * time.Second
	// renewEvery is how often a hold is renewed that somebody still wants.
	renewEvery = 3 * time.Second
	// meetWithin bounds how long the two halves of a stop wait for each other: what the
	// program in the kernel reports of the call, and what the hold process does. Of two stops
	// of a thread at a place the first may have no second half: its signal was lost.
	meetWithin = time.Second
	// lookEvery is how often it is looked again what is wanted, while anything is armed.
	lookEvery = 100 * time.Millisecond
	// armWithin is how long who arms something waits for the kubelet to be ready for it, and
	// answerWithin how long the hold process may take, on a machine that is busy.
	armWithin, answerWithin = 10 * time.Second, 20 * time.Second
)

// looker sees the steps inside of the kubelet, and chooses who is to be stopped there.
type looker interface {
	Points() []uprobe.Point
	Functions(step string) []string
	// Arm and Want are those of uprobe.Probe.
	Arm(steps map[string]uprobe.Armed) error
	Want(uids []string, goroutines []uint64) error
}

// stopper is the process that holds goroutines which the looker has chosen.
type stopper interface {
	Arm(ctx context.Context, places []holdproc.Place) (refused map[uint64]park.RefusedError, err error)
	Disarm(context.Context) (holdproc.Stats, error)
	LetGo(hold uint64)
	Renew(hold uint64, lease time.Duration)
	Close()
	Done() <-chan struct{}
	Err() error
}

// holder holds pods inside of the kubelet, where the agent wants them held. It has the
// looker choose the threads that come to such places, and the stopper hold their goroutines;
// then it asks the agent.
type holder struct {
	host   *Host
	probe  looker
	start  func(context.Context, holdproc.Handler) (stopper, error)
	within time.Duration // in which the two halves of a stop meet
	points []uprobe.Point
	rules  map[string]rule // by step

	last   arming             // of run alone
	kick   chan chan struct{} // who sends gets an answer when all is armed
	forget func()

	meetings meetings

	mu      sync.Mutex
	client  stopper             // the one there is, or was last
	holds   map[uint64]*meeting // by the hold process's number
	workers map[string]uint64   // goroutines of pods' workers, by uid
	armed   bool
	broken  error
}

// newHolder starts a stopper, of which the two halves of a stop meet within some time. Nothing of
// the kubelet is touched until something is armed.
func newHolder(ctx context.Context, h *Host, c *probes.Catalogue, p looker, within time.Duration, start func(context.Context, holdproc.Handler) (stopper, error)) (*holder, error) {
	out := &holder{
		host: h, probe: p, within: within, rules: rules(c, p.Functions), kick: make(chan chan struct{}),
		holds: map[uint64]*meeting{}, workers: map[string]uint64{}, start: start,
	}
	for _, at := range p.Points() {
		if len(out.rules[at.Step.Name].within) > 0 { // otherwise nothing shows whose goroutine it is
			out.points = append(out.points, at)
		}
	}
	var err error
	if out.client, err = out.begin(ctx); err != nil {
		return nil, err
	}
	h.Go(out.run)
	out.forget = h.OnArmed(out.changed)
	return out, nil
}

func (h *holder) begin(ctx context.Context) (stopper, error) {
	return h.start(ctx, holdproc.Handler{Held: h.held, Refused: h.refused, Ended: h.ended, Failed: h.note, Lost: h.host.Agent.Lost})
}

// run arms what is wanted, until the probe is to stop.
func (h *holder) run() {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		var done chan struct{}
		select {
		case <-h.host.Context().Done():
			return
		case <-h.process().Done():
			h.note(h.process().Err())
			if err := h.restart(); err != nil {
				return
			}
		case done = <-h.kick:
		case <-tick.C:
			if !h.isArmed() {
				continue
			}
		}
		h.note(h.arm())
		if done != nil {
			close(done)
		}
	}
}

// process is the stopper that there is, or was last.
func (h *holder) process() stopper {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.client
}

// restart starts another hold process when the one there was has ended, until the probe is
// to stop. Who was held goes on by itself.
func (h *holder) restart() error {
	for wait := restartSoon; ; wait = min(2*wait, restartLate) {
		select {
		case <-h.host.Context().Done():
			return h.host.Context().Err()
		case <-time.After(wait):
		}
		ctx, cancel := context.WithTimeout(h.host.Context(), answerWithin)
		c, err := h.begin(ctx)
		cancel()
		if err != nil {
			h.note(err)
			continue
		}
		h.mu.Lock()
		h.client = c
		for id, m := range h.holds {
			delete(h.holds, id)
			close(m.ended)
		}
		h.mu.Unlock()
		return nil
	}
}

func (h *holder) isArmed() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.armed
}

// note notes that nothing can be held, or, with nil, that it can again.
func (h *holder) note(err error) {
	h.mu.Lock()
	before := h.broken
	h.broken = err
	h.mu.Unlock()
	switch {
	case h.host.Context().Err() != nil: // it is ending
	case err != nil && before == nil:
		h.host.Note("podstep cannot hold pods inside the kubelet", err)
	case err == nil && before != nil:
		h.host.Note("podstep can hold pods inside the kubelet again", nil)
	}
}

// close lets all go on, and ends the hold process.
func (h *holder) close() {
	h.forget()
	_ = h.probe.Arm(nil)
	h.process().Close()
}
