package attach

import (
	"context"
	"sync"
	"time"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/inside"
	"github.com/podstep/podstep/probes/inside/park"
	"github.com/podstep/podstep/probes/uprobe"
	"github.com/podstep/podstep/probes/uprobe/holdproc"
)

const (
	// lease is how long a hold lasts that nobody renews: if podstep hangs or dies, its pods go on after that at the
	// latest.
	lease = 10 * time.Second
	// renewEvery is how often a hold that somebody still wants is renewed.
	renewEvery = 3 * time.Second
	// meetWithin bounds how long the two halves of a stop wait for each other: the report of the program in the
	// kernel, and that of the hold process. The latter never comes if the signal to the thread was lost.
	meetWithin = time.Second
	// lookEvery is how often run looks at what is wanted while anything is armed.
	lookEvery = 100 * time.Millisecond
	// A caller that arms something waits at most armWithin until it is armed. The hold process may take answerWithin
	// for an answer on a busy machine.
	armWithin, answerWithin = 10 * time.Second, 20 * time.Second
)

// looker sees the steps inside the kubelet, and chooses the threads to stop there.
type looker interface {
	Points() []uprobe.Point
	Functions(step string) []string
	// Arm and Want are those of uprobe.Probe.
	Arm(steps map[string]uprobe.Armed) error
	Want(uids []string, goroutines []uint64) error
}

// stopper is the process that holds goroutines which the looker has chosen.
type stopper interface {
	Arm(ctx context.Context, places []inside.Place) (refused map[uint64]park.RefusedError, err error)
	Disarm(context.Context) (holdproc.Stats, error)
	LetGo(hold uint64)
	Renew(hold uint64, lease time.Duration)
	Close()
	Done() <-chan struct{}
	Err() error
}

// holder holds pods inside the kubelet, where the agent wants them held. Its looker chooses the threads that come to
// such places, and its stopper holds their goroutines. Then the holder asks the agent whether the hold is wanted.
type holder struct {
	host   *Host
	probe  looker
	start  func(context.Context, holdproc.Handler) (stopper, error)
	within time.Duration // how long the two halves of a stop wait for each other
	points []uprobe.Point
	rules  map[string]rule // by step

	last        arming // used by run alone
	kick        kick   // of run, which arms what is wanted
	unsubscribe func()

	meetings meetings

	mu      sync.Mutex
	client  stopper             // the present stopper, or the last one
	holds   map[uint64]*meeting // by the hold process's number
	workers map[string]uint64   // goroutines of pods' workers, by uid
	armed   bool
	broken  error
}

// newHolder starts a stopper. Two halves of a stop wait for each other for the time within. Nothing of the kubelet is
// touched until something is armed.
func newHolder(ctx context.Context, h *Host, c *probes.Catalogue, p looker, within time.Duration, start func(context.Context, holdproc.Handler) (stopper, error)) (*holder, error) {
	out := &holder{
		host: h, probe: p, within: within, rules: rules(c, p.Functions), kick: make(kick),
		holds: map[uint64]*meeting{}, workers: map[string]uint64{}, start: start,
	}
	for _, at := range p.Points() {
		if len(out.rules[at.Step.Name].within) > 0 { // otherwise nothing shows of which kind a goroutine is
			out.points = append(out.points, at)
		}
	}
	var err error
	if out.client, err = out.startStopper(ctx); err != nil {
		return nil, err
	}
	return out, nil
}

// begin begins to arm what is wanted, also what was wanted before. The looker must have been started.
func (h *holder) begin() {
	h.unsubscribe = h.host.OnArmed(h.changed)
	h.host.Go(h.run)
	if h.host.Armed() {
		h.host.Go(h.changed)
	}
}

func (h *holder) startStopper(ctx context.Context) (stopper, error) {
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

// process returns the present stopper, or the last one if that has ended.
func (h *holder) process() stopper {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.client
}

// restart starts another hold process after one has ended. It tries until the probe is to stop, and returns an error
// then. Pods that were held go on by themselves.
func (h *holder) restart() error {
	for wait := restartSoon; ; wait = min(2*wait, restartLate) {
		select {
		case <-h.host.Context().Done():
			return h.host.Context().Err()
		case <-time.After(wait):
		}
		ctx, cancel := context.WithTimeout(h.host.Context(), answerWithin)
		c, err := h.startStopper(ctx)
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
	case h.host.Context().Err() != nil || err != nil && h.host.Target().hasEnded(): // it is ending, or the kubelet has
	case err != nil && before == nil:
		h.host.Note("podstep cannot hold pods inside the kubelet", err)
	case err == nil && before != nil:
		h.host.Note("podstep can hold pods inside the kubelet again", nil)
	}
}

// close lets all held pods go on, and ends the hold process.
func (h *holder) close() {
	if h.unsubscribe != nil {
		h.unsubscribe()
		_ = h.probe.Arm(nil)
	}
	h.process().Close()
}
