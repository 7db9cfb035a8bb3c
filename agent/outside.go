package agent

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/hook"
)

// Seen is a call of a step that a probe outside of the kubelet sees, as it
// begins.
type Seen struct {
	Step string
	// At is when the call began.
	At time.Time
	// Values are what woven code gives at the step's entry: the pod, if the step
	// says where it is, then its fields.
	Values []any
	// UID is the pod of a step that says nothing of its pod; it may be empty.
	UID string
}

// Call is a call that a probe outside of the kubelet sees. A nil one is that of
// a step that is not there, or that is about somebody else's pod; all that is
// done with it does nothing.
type Call struct {
	agent *Agent
	span  *span
}

// Begin tells that a call has begun. It never waits.
func (a *Agent) Begin(seen Seen) *Call {
	step := a.stepNamed(seen.Step)
	if step == nil {
		return nil
	}
	s := newSpan(step)
	s.late, s.wall, s.start = false, seen.At.UnixNano(), int64(seen.At.Sub(a.started))
	s.role, s.proven = step.role, true
	if a.roles.names[s.role] == roleKill {
		// Inside, the worker is told from the goroutine that it starts to kill a
		// container. From outside they are one after the other.
		s.role = a.worker
	}
	var t taker
	t.atEnter(a, s)
	t.takeAll(seen.Values)
	t.save()
	a.enterPods(s, &t)
	if p := a.pods.known(seen.UID); p != nil && s.one.pod == nil {
		s.one.pod, s.one.id = p, a.spanIDs.Add(1)
	}
	if s.one.id == 0 {
		return nil
	}
	if s.role == a.worker {
		// The probe offers a hold only at calls that workers make.
		s.worker = s.one.pod
	}
	a.tellEnter(s, &s.one)
	if p := s.one.pod; p != nil {
		a.follow(s, p)
		if s.onWorkerOf(p) {
			p.where.calls.Add(1)
		}
		if step.means == probes.RoleSandbox && !p.where.wanted.Load() {
			// It may have been gone, as far as its sandboxes tell.
			p.where.removed.Store(false)
			p.where.finished.Store(false)
		}
	}
	return &Call{a, s}
}

// Stopping tells whether somebody may want a pod stopped at calls of that step.
// If not, Stop does nothing there.
func (a *Agent) Stopping(step string) bool {
	if a.holds.armed.Load() == 0 {
		return false
	}
	s := a.stepNamed(step)
	return s != nil && a.stopping(s)
}

// Stop holds the call if somebody wants its pod held here, until it is let go
// or the caller's context ends, whose deadline is a timer like any other. It
// returns the error with which the call is to fail, if it is to; one of the CRI
// has a gRPC status.
func (c *Call) Stop(caller context.Context) error {
	if c == nil || c.span.one.pod == nil {
		return nil
	}
	c.span.caller = caller
	return c.agent.stop(c.span, &c.span.one, enter, "")
}

// End tells that the call has ended. The values are those that woven code gives
// at the step's exit: whether the call is quiet, the pod if only the exit tells
// it, then its results.
func (c *Call) End(at time.Time, err error, values []any) {
	if c == nil {
		return
	}
	a, s := c.agent, c.span
	end := ending{how: hook.Returned, err: outcome(hook.Returned, err), wall: at.UnixNano(), mono: int64(at.Sub(a.started))}
	if p := s.one.pod; p != nil && s.onWorkerOf(p) {
		p.where.called(s.step, end)
	}
	var t taker
	t.atExit(a, s, end.how)
	if len(values) > 0 {
		t.takeAll(values[1:])
	}
	a.leave(s, end, &t)
}

// called notes that a call from outside has ended. From there the turns of the
// pod's worker are not seen, and the error of a call stands until the same call
// does well.
func (w *podWhere) called(step *stepInfo, end ending) {
	w.calls.Add(-1)
	w.tell(trouble{step: step, err: end.err}, end.wall)
}

// stepNamed finds a step that this agent's probes see.
func (a *Agent) stepNamed(name string) *stepInfo {
	i, ok := a.byName[name]
	if !ok || !a.opts.Seen[name] {
		return nil
	}
	return &a.steps[i]
}

// Object takes what an object tells of a pod.
func (a *Agent) Object(o *v1.Pod) { a.pods.object(o) }

// Sandbox takes what the configuration of a pod's sandbox tells of the pod, and
// whose the ids of sandboxes and containers are.
func (a *Agent) Sandbox(c *runtimeapi.PodSandboxConfig, ids ...string) {
	p := a.pods.sandbox(c)
	if p == nil {
		return
	}
	for _, id := range ids {
		a.pods.learn(id, p)
	}
}

// Owner is the uid of the pod that a sandbox or container belongs to; empty if
// nobody has told.
func (a *Agent) Owner(id string) types.UID {
	if p := a.pods.criID(id); p != nil {
		return types.UID(p.uid)
	}
	return ""
}

// Gone notes that the runtime has removed the last sandbox of a pod. It is the end
// of a pod of which nobody else tells whether it is here.
func (a *Agent) Gone(uid types.UID) {
	p := a.pods.known(string(uid))
	if p != nil && !p.where.wanted.Load() && p.where.calls.Load() == 0 {
		p.where.here(false)
	}
}

// Lost counts calls that a probe saw and had no room to tell of.
func (a *Agent) Lost(calls int) { a.journal.lose(calls) }

// Note puts a word of the probe's into the node's story, e.g. that the runtime
// was restarted.
func (a *Agent) Note(say string) {
	a.journal.put(event{kind: agentpb.Kind_NOTE, fields: []field{text("text", cleanText(say))}})
}
