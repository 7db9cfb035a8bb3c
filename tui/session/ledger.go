package session

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/reason"
	"github.com/podstep/podstep/agent/wire"
)

// Ledger is a Control that remembers what was held and armed through it. At the end it undoes all of that, and
// nothing of others.
type Ledger struct {
	Control

	mu     sync.Mutex
	pods   map[string]bool // uids
	points map[uint32]bool
	// ended is set once Release has begun. A breakpoint that is set after that would stay.
	ended bool
}

// WithLedger returns s with a ledger through which it acts. The ledger is nil for a session that has nothing to act
// on.
func WithLedger(s Session) (Session, *Ledger) {
	c := s.Control()
	if c == nil {
		return s, nil
	}
	l := &Ledger{Control: c, pods: map[string]bool{}, points: map[uint32]bool{}}
	return kept{s, l}, l
}

// kept is a session that acts through a ledger.
type kept struct {
	Session
	ledger *Ledger
}

func (k kept) Control() Control { return k.ledger }

// errEnded is returned for actions on pods while the program ends.
var errEnded = reason.New("podstep is ending", "podstep 正在退出")

func (l *Ledger) open() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return errEnded
	}
	return nil
}

func (l *Ledger) noteHold(h *agentpb.HoldInfo) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pods[h.GetPod().GetUid()] = true
}

func (l *Ledger) Hold(ctx context.Context, req *agentpb.HoldRequest) (*agentpb.HoldInfo, error) {
	return l.holds(func() (*agentpb.HoldInfo, error) { return l.Control.Hold(ctx, req) })
}

func (l *Ledger) Step(ctx context.Context, req *agentpb.StepRequest) (*agentpb.HoldInfo, error) {
	return l.holds(func() (*agentpb.HoldInfo, error) { return l.Control.Step(ctx, req) })
}

func (l *Ledger) holds(do func() (*agentpb.HoldInfo, error)) (*agentpb.HoldInfo, error) {
	if err := l.open(); err != nil {
		return nil, err
	}
	h, err := do()
	if err == nil {
		l.noteHold(h)
	}
	return h, err
}

func (l *Ledger) AddBreakpoint(ctx context.Context, req *agentpb.AddBreakpointRequest) (*agentpb.Breakpoint, error) {
	if err := l.open(); err != nil {
		return nil, err
	}
	b, err := l.Control.AddBreakpoint(ctx, req)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	l.points[b.Id] = true
	ended := l.ended
	l.mu.Unlock()
	if ended {
		// The answer came after Release: nobody else would remove the breakpoint.
		return nil, errors.Join(errEnded, l.Control.RemoveBreakpoint(context.WithoutCancel(ctx), b.Id))
	}
	return b, nil
}

// Mine reports whether a hold was made through this ledger.
func (l *Ledger) Mine(h *agentpb.HoldInfo) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.pods[h.GetPod().GetUid()] {
		return true
	}
	for id := range l.points {
		if OfBreakpoint(h, id) {
			return true
		}
	}
	return false
}

// Only returns a selector of one pod and no other. It uses all that is known of the pod, because an empty uid alone
// would select all pods.
func Only(p *agentpb.Pod) *agentpb.PodSelector {
	return &agentpb.PodSelector{Namespace: p.GetNamespace(), Name: p.GetName(), Uid: p.GetUid()}
}

// OfBreakpoint reports whether the breakpoint of that number made the hold.
func OfBreakpoint(h *agentpb.HoldInfo, id uint32) bool {
	return id != 0 && h.GetBreakpoint() == id
}

// Release removes the breakpoints and lets the pods go. It returns the names of the pods that were held. It may be
// called more than once.
func (l *Ledger) Release(ctx context.Context) (released []string, err error) {
	l.mu.Lock()
	l.ended = true
	points := make([]uint32, 0, len(l.points))
	for id := range l.points {
		points = append(points, id)
	}
	touched := len(points) + len(l.pods)
	l.mu.Unlock()
	if touched == 0 {
		return nil, nil
	}
	var errs []error
	// Breakpoints first: a pod that is let go must not run into the next one.
	here, err := l.Control.Breakpoints(ctx)
	if ctx.Err() != nil {
		return nil, err // no agent answers; the end of the connection lets all pods go
	}
	errs = append(errs, err)
	for _, b := range here {
		if slices.Contains(points, b.Id) {
			errs = append(errs, l.Control.RemoveBreakpoint(ctx, b.Id))
		}
	}
	held, err := l.Control.Holds(ctx)
	errs = append(errs, err)
	for _, h := range held {
		if !l.Mine(h) {
			continue
		}
		_, err := l.Control.Continue(ctx, &agentpb.ContinueRequest{Pods: Only(h.GetPod())})
		errs = append(errs, err)
		released = append(released, wire.PodOf(h.GetPod()).NamespacedName())
	}
	return released, errors.Join(errs...)
}

// Forget is called when another agent is there: the holds of the former agent are gone with it.
func (l *Ledger) Forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.pods)
	clear(l.points)
}
