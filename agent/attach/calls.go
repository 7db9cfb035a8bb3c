package attach

import (
	"context"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/podstep/podstep/agent"
	"github.com/podstep/podstep/agent/redact"
	"github.com/podstep/podstep/probes/cri"
	"github.com/podstep/podstep/probes/cri/relay"
	"github.com/podstep/podstep/probes/cri/relayproc"
)

// watcher publishes the kubelet's calls as events of the agent, and stops the calls that somebody wants stopped.
type watcher struct {
	agent     *agent.Agent
	probe     *agent.Probe
	publisher *publisher
	pods      *identities
}

// call is one call of the kubelet that is under way.
type call struct {
	method  *cri.Method
	began   time.Time
	message []byte
	request cri.Request
	uid     string // of the pod that the call is about; empty: not known
	shared  string // why it must not be held, although its method may
	seen    *agent.Call
}

// Wants reports whether a method is a step.
func (w *watcher) Wants(method string) bool { return cri.Lookup(method) != nil }

// Request publishes the begin of a call. Only if somebody wants a pod stopped at
// such calls does it wait until the agent has looked at the call.
func (w *watcher) Request(c *relay.Call, message []byte) func(context.Context) error {
	k := &call{method: cri.Any(c.Method), began: c.Began, message: message}
	c.State = k
	if !w.probe.Stopping(k.method.Step) {
		if !w.publisher.queueBegin(func() { w.begin(k) }, len(message)) {
			c.State = nil // its end is not published either
			w.agent.Lost(1)
		}
		return nil
	}
	return func(ctx context.Context) (fault error) {
		defer w.failed(&fault)
		w.probe.AwaitOthers(ctx)
		if !w.publisher.await(ctx, func() { w.begin(k) }, len(message)) {
			if ctx.Err() == nil {
				w.agent.Lost(1)
			}
			return nil
		}
		if k.shared != "" {
			return nil
		}
		relayproc.Looked(ctx)
		return k.seen.Stop(ctx)
	}
}

// failed recovers a panic of podstep's own, and lets the call go on.
func (w *watcher) failed(fault *error) {
	if r := recover(); r != nil {
		*fault = nil
		w.agent.Note("podstep failed at a call, and passed it on: " + redact.Panic(r))
	}
}

// Passed wakes the publisher.
func (w *watcher) Passed() { w.publisher.awake() }

// End reports how a call ended.
func (w *watcher) End(c *relay.Call, answer []byte, st *status.Status, at time.Time) {
	if k, ok := c.State.(*call); ok {
		w.publisher.queueEnd(func() { w.end(k, answer, st, at) }, len(answer))
	}
}

// begin publishes the begin of a call. It and all functions below run on the publisher's goroutine.
func (w *watcher) begin(k *call) {
	r, err := k.method.Request(k.message)
	k.message = nil
	if err != nil {
		w.agent.Note("a request could not be read: " + err.Error())
		return
	}
	k.request, k.uid = r, w.pods.whose(r)
	k.shared = w.pods.known.Shared(r)
	w.pods.began(r, k.uid)
	k.seen = w.probe.Begin(agent.Seen{Step: k.method.Step, At: k.began, Values: k.method.Enter(r), UID: k.uid})
}

func (w *watcher) end(k *call, answer []byte, st *status.Status, at time.Time) {
	a := w.read(k, answer, st)
	k.seen.End(at, a.Err, k.method.Exit(a))
	w.pods.ended(k.request, a, k.uid)
}

// read decodes an answer, or the error in its place.
func (w *watcher) read(k *call, answer []byte, st *status.Status) cri.Answer {
	switch {
	case st.Code() != codes.OK:
		return k.method.Failed(k.request, st.Code(), st.Message())
	case answer == nil:
		return cri.Answer{} // too large to be kept
	}
	a, err := k.method.Answer(k.request, answer)
	if err != nil {
		w.agent.Note("an answer could not be read: " + err.Error())
	}
	return a
}
