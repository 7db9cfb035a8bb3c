package agent

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/journal"
	"github.com/podstep/podstep/agent/values"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/hook"
)

// Seen is a call of a step that a probe outside of the kubelet sees, as it
// begins.
type Seen struct {
	Step string
	// At is when the call began.
	At time.Time
	// Values are what woven code passes at the step's entry: the pod, if the step says where it is, then its fields. A
	// value that the probe cannot read is nil. The last values may be missing.
	Values []any
	// UID is the uid of the pod, for a step whose values do not name it. It may be empty.
	UID string
	// Parent is the call in which this one happens, as the same probe sees it.
	// nil: in none, or it is not known.
	Parent *Call
	// Line is the line in the function of Parent's step at which this call was made, on the same goroutine; zero: it is
	// not known.
	Line uint32
	// Goroutine is the number by which the probe tells goroutines apart; zero: it cannot. Then the step says whether
	// the call is on the goroutine of a pod's worker.
	Goroutine uint64
	// Worker: the probe knows that the goroutine is that of a pod's worker.
	Worker bool
}

// Call is a call that a probe outside of the kubelet sees. Begin returns nil for a step that the probe does not see,
// and for a call that is part of no story. All methods of a nil Call do nothing.
type Call struct {
	agent *Agent
	span  *span
	// stops: the call has ended, and may be stopped at its exit. err is its error, as text.
	stops bool
	err   string
}

// Begin notes that a call has begun. It never waits. A call that another probe
// has seen already is the same call, seen twice: its story has it once.
func (p *Probe) Begin(seen Seen) *Call {
	a := p.agent
	step := a.stepNamed(seen.Step)
	if step == nil || !step.reach(p.index).sees() {
		return nil
	}
	s := newSpan(step)
	s.probe = p.index
	s.late, s.wall, s.start = step.late && p.can.Load().Knows.Nesting, seen.At.UnixNano(), int64(seen.At.Sub(a.started))
	a.outsideGoroutine(s, &seen)
	s.line = seen.Line
	var t taker
	t.atEnter(a, s)
	t.takeAll(seen.Values)
	s.checkEarly(t.wire)
	t.save()
	a.enterPods(s, &t)
	if of := a.pods.Known(seen.UID); of != nil && s.one.pod == nil && s.many == nil {
		s.one.pod, s.one.id = of, a.spanIDs.Add(1)
	}
	if s.one.id == 0 && s.many == nil {
		return nil
	}
	if s.worker == nil && s.role == a.worker && (seen.Goroutine == 0 || seen.Worker) {
		// Without a goroutine the probe offers a hold only at calls that workers make.
		s.worker = s.only()
	}
	if step.means == probes.RoleWorker {
		s.worker = s.only()
	}
	if step.seers.shared.Load() && a.sights.match(s) {
		a.putSight(s, enter, &ending{wall: s.wall, mono: s.start}, s.fields())
		return &Call{agent: a, span: s}
	}
	a.beginCall(s)
	return &Call{agent: a, span: s}
}

// beginCall begins a call that no other probe has seen: it starts the call's timers and publishes its enter.
func (a *Agent) beginCall(s *span) {
	p := s.only()
	if p != nil && s.step.means == probes.RoleTurn {
		p.State.sync.Add(1)
	}
	a.startTimers(s)
	if s.late {
		return
	}
	if s.many != nil {
		for _, ps := range s.parts() {
			a.putEnter(s, ps)
		}
		a.followMany(s)
		a.snapMany(s, s.parts(), enter, "")
		return
	}
	a.putEnter(s, &s.one)
	if p == nil {
		return
	}
	a.follow(s, p)
	a.snap(crossing{s, &s.one, enter, ""})
}

// outsideGoroutine finds out whose goroutine makes a call that is seen from outside. If the probe tells goroutines
// apart, that is proven in the same way as for a call that the hook sees.
func (a *Agent) outsideGoroutine(s *span, seen *Seen) {
	var parent *span
	if seen.Parent != nil {
		parent = seen.Parent.span
	}
	if seen.Goroutine != 0 {
		a.findGoroutine(s, parent, uintptr(seen.Goroutine))
		if seen.Worker && !s.step.Root && !parent.encloses(s) {
			s.role, s.proven = a.worker, true
		}
		return
	}
	s.parent, s.role, s.proven = parent, s.step.role, true
	if a.roles.names[s.role] == roleKill {
		// Inside the kubelet, the worker differs from the goroutine that it starts to kill a container. Seen from
		// outside, one follows the other.
		s.role = a.worker
	}
}

// Armed reports whether anything is armed that may hold a pod.
func (p *Probe) Armed() bool { return p.agent.holds.Armed() > 0 }

// OnArmed makes the agent call f when something is armed, and when nothing is armed any more. forget ends that. The
// goroutine that arms waits until f returns. When nothing is armed any more, f must not wait for anybody.
func (p *Probe) OnArmed(f func()) (forget func()) { return p.agent.holds.OnArmed(f) }

// Looker returns what a debugger knows of a held goroutine. The goroutine is given by its number.
type Looker func(ctx context.Context, goroutine uint64, req *agentpb.LookRequest) (*agentpb.LookResponse, error)

// Debugger answers questions about goroutines that are held at a probe's calls, and holds them at lines of the
// kubelet's code.
type Debugger struct {
	Look Looker
	// Find looks for a place in the code, in Delve's syntax. Find and Step are nil if the debugger holds no pod at
	// lines.
	Find func(ctx context.Context, at string) ([]Found, error)
	// Step makes the debugger hold a held goroutine again, at a line, after it is let go. Forget takes that back.
	Step   func(ctx context.Context, goroutine uint64, mode agentpb.StepMode) error
	Forget func(goroutine uint64)
}

// Found is a place in the kubelet's code, with the address by which the debugger knows it.
type Found struct {
	Address uint64
	Frame   *agentpb.StackFrame
}

// OnDebug gives the probe a debugger.
func (p *Probe) OnDebug(d *Debugger) { p.debugger.Store(d) }

// Places returns the addresses of the places in the code at which breakpoints hold. Breakpoints at steps have none.
func (p *Probe) Places() map[uint64]bool {
	out := map[uint64]bool{}
	for _, b := range p.agent.points.List() {
		for _, f := range b.Places {
			out[f.Address] = true
		}
	}
	return out
}

// StopInside holds the pod of a call whose goroutine has come to a line inside of the call, if somebody wants that. The
// hold ends when the pod is let go, or when ctx ends.
func (c *Call) StopInside(ctx context.Context, at Found) {
	if c == nil {
		return
	}
	s := c.span
	for s != nil && s.only() == nil {
		s = s.parent
	}
	if s == nil {
		return
	}
	s.caller = ctx
	c.agent.stopInside(s, c.span.goroutine, at)
}

// Standstill makes the context that a probe passes to Stop, StopEnded or StopInside when its hold stops the whole
// kubelet. The context ends at that time.
func Standstill(ctx context.Context, until time.Time) (context.Context, context.CancelFunc) {
	return context.WithDeadline(context.WithValue(ctx, standstill{}, true), until)
}

// standstill is the key of the value that Standstill puts into a context.
type standstill struct{}

// isStandstill reports whether Standstill made the context, which may be nil.
func isStandstill(ctx context.Context) bool { return ctx != nil && ctx.Value(standstill{}) != nil }

// Stop holds the call if somebody wants its pod held here, unless it has ended meanwhile. The hold ends when the pod is let go, or when the caller's
// context ends; its deadline is a timer like any other. Stop returns the error with which the call is to fail, or nil.
// For a call of the CRI the error has a gRPC status.
func (c *Call) Stop(caller context.Context) error {
	if c == nil || c.span.only() == nil || c.span.ended.Load() {
		return nil
	}
	c.span.caller = caller
	return c.agent.stop(c.span, &c.span.one, enter, "")
}

// End notes that the call has ended. The values are those that woven code passes at the step's exit: whether the call
// is quiet, the pod if only the exit names it, then the results. A value that the probe cannot read is nil. The last
// values may be missing.
func (c *Call) End(at time.Time, err error, values []any) {
	if c == nil {
		return
	}
	a, s := c.agent, c.span
	s.ended.Store(true)
	end := ending{how: hook.Returned, err: outcome(hook.Returned, err), wall: at.UnixNano(), mono: int64(at.Sub(a.started))}
	var t taker
	t.atExit(a, s, end.how)
	if s.same != nil {
		t.takeAll(values[min(1, len(values)):])
		a.putSight(s, exit, &end, t.wire)
		a.learnID(s.one.pod, &t)
		return
	}
	a.sights.ended(s, end.mono)
	a.endTimers(s)
	if s.endIdle(end) || len(values) > 0 && values[0] == true && t.Quiet(true) {
		return
	}
	t.takeAll(values[min(1, len(values)):])
	if a.putExit(s, end, &t) && t.keep() {
		a.snap(crossing{s, &s.one, exit, end.err})
		c.stops, c.err = true, end.err
	}
}

// StopEnded is Stop for a call that has ended but has not returned to its caller yet. It makes no call fail.
func (c *Call) StopEnded(caller context.Context) {
	if c == nil || !c.stops {
		return
	}
	c.span.caller = caller
	_ = c.agent.stop(c.span, &c.span.one, exit, c.err)
}

// putSight puts a note into the story: one more probe has seen a call begin or end. The note is in the span of the
// probe that saw the call first.
func (a *Agent) putSight(s *span, side int, at *ending, shown fieldBytes) {
	p := s.one.pod
	a.journal.PutWire(&journal.Event{
		Kind: agentpb.Kind_NOTE, Wall: at.wall, Mono: at.mono, Step: uint32(s.step.ID) + 1, Pod: &p.State.journal, Span: s.one.id,
		Parent: a.parentID(s, p), Sync: p.State.sync.Load(), Role: s.role, Probe: s.probe + 1, Err: at.err, Duration: at.mono - s.start,
		Fields: []field{text(fieldSeen, sideNames[side])},
	}, shown)
}

// stepNamed finds a step of the catalogue.
func (a *Agent) stepNamed(name string) *stepInfo {
	i, ok := a.byName[name]
	if !ok {
		return nil
	}
	return &a.steps[i]
}

// Object learns what an object states about its pod.
func (a *Agent) Object(o *v1.Pod) { a.pods.Object(o) }

// Sandbox learns what the configuration of a pod's sandbox states about the pod. ids are the pod's sandboxes and
// containers.
func (a *Agent) Sandbox(c *runtimeapi.PodSandboxConfig, ids ...string) {
	p := a.pods.Sandbox(c)
	if p == nil {
		return
	}
	for _, id := range ids {
		a.pods.Learn(id, p)
	}
}

// Owner returns the uid of the pod that a sandbox or container belongs to; empty if no probe has reported it.
func (a *Agent) Owner(id string) types.UID {
	if p := a.pods.CRI(id); p != nil {
		return types.UID(p.UID)
	}
	return ""
}

// Lost counts calls that a probe saw and had no room to report.
func (a *Agent) Lost(calls int) { a.journal.Lose(calls) }

// Note puts a text into the node's story, e.g. that the runtime was restarted.
func (a *Agent) Note(note string) {
	a.journal.Put(journal.Event{Kind: agentpb.Kind_NOTE, Fields: []field{text("text", values.Text(note))}})
}
