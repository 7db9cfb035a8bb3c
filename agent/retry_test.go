package agent

import (
	"context"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/reason"
	"github.com/podstep/podstep/agent/server"
	"github.com/podstep/podstep/probes/hook"
)

// retryRig is a rig whose kubelet syncs pods at once when the agent asks. asked has the uids.
type retryRig struct {
	*rig
	client agentpb.AgentClient
	asked  chan string
	refuse string
}

func newRetryRig(t *testing.T) *retryRig {
	r := &retryRig{rig: newRig(t, Options{InKubelet: true}), asked: make(chan string, 10)}
	r.client, _ = r.serve()()
	var do syncNow = func(uid string) string {
		if r.refuse == "" {
			r.asked <- uid
		}
		return r.refuse
	}
	_ = r.call("boot.klrun", []any{"node", false, do}, nil, nil)
	return r
}

// wasAsked waits until the kubelet is asked to sync a pod. got is where the answer comes.
func (r *retryRig) wasAsked(got <-chan answer) string {
	r.t.Helper()
	select {
	case uid := <-r.asked:
		return uid
	case a := <-got:
		r.t.Fatalf("the answer came before the kubelet was asked: %v, %v", a.RetryResponse, a.error)
		return ""
	}
}

// answer is what a request for a retry came to.
type answer struct {
	*agentpb.RetryResponse
	error
}

// retryOf asks for a retry. The channel has the answer.
func (r *retryRig) retryOf(ctx context.Context, p *v1.Pod) <-chan answer {
	out := make(chan answer, 1)
	go func() {
		got, err := r.client.Retry(ctx, &agentpb.RetryRequest{Pods: sel(p), Message: "mended, Ana"})
		out <- answer{got, err}
	}()
	return out
}

// backOff returns a back-off of a container, and whether it goes on.
func backOff() (end hook.BackOff, goesOn *bool) {
	on := true
	return func() (bool, int64) {
		was := on
		on = false
		return was, int64(160 * time.Second)
	}, &on
}

// work is a turn of a pod's worker, which looks whether containers are in back-off, and the completion of its work.
func (r *retryRig) work(p *v1.Pod, during func(), ends ...hook.BackOff) {
	r.pods.Object(p)
	_ = r.call("worker.turn", []any{p.UID}, nil, func() error {
		during()
		for _, end := range ends {
			_ = r.call("rt.backoff", []any{p, "app", end}, nil, nil)
		}
		return nil
	})
	_ = r.call("worker.cwork", []any{p.UID, false, nil}, nil, nil)
}

func nothing() {}

// notes returns the notes of a pod's story: the step, the fields, and the message.
func (r *retryRig) notes(p *v1.Pod) (out []string) {
	for _, e := range r.events(p.Name) {
		if e.Kind != agentpb.Kind_NOTE {
			continue
		}
		text := r.name(e)
		for _, f := range e.Fields {
			switch f.Name {
			case "uid", "pid":
				text += " " + f.Name
			case "length":
				text += " " + time.Duration(f.GetDuration()).String()
			default:
				text += " " + f.GetText()
			}
		}
		out = append(out, text)
	}
	return out
}

// TestRetry: the kubelet is asked to sync the pod, and the back-offs that its worker comes to in that turn are ended. Those of
// another pod, and of later turns, are not.
func TestRetry(t *testing.T) {
	r := newRetryRig(t)
	web, other := newPod("default", "web"), newPod("default", "other")
	r.work(web, nothing)
	r.work(other, nothing)
	got := r.retryOf(t.Context(), web)
	if uid := r.wasAsked(got); uid != string(web.UID) {
		t.Fatalf("the kubelet was asked to sync %s, not %s", uid, web.UID)
	}
	app, appOn := backOff()
	side, sideOn := backOff()
	others, othersOn := backOff()
	r.work(other, nothing, others)
	r.work(web, nothing, app, side)
	a := <-got
	if a.error != nil || a.Ended.GetStep() != "rt.backoff" || a.Ended.GetOf().GetText() != "app" || a.Ended.GetLength().AsDuration() != 160*time.Second || a.Sync != 2 || a.Seq == 0 {
		t.Errorf("the answer is %v, %v", a.RetryResponse, a.error)
	}
	if *appOn || *sideOn || !*othersOn {
		t.Errorf("the back-offs of app, side and the other pod go on: %v, %v, %v; want only the last", *appOn, *sideOn, *othersOn)
	}
	again, againOn := backOff()
	if r.work(web, nothing, again); !*againOn {
		t.Error("a back-off was ended in the turn after the one that was asked for")
	}
	want := []string{
		"NOTE worker.turn retry uid pid mended, Ana", "NOTE rt.backoff back-off-ended uid pid mended, Ana 2m40s", "NOTE rt.backoff back-off-ended uid pid mended, Ana 2m40s",
	}
	if notes := r.notes(web); !slices.Equal(notes, want) {
		t.Errorf("the notes are %q, want %q", notes, want)
	}
	if notes := r.notes(other); len(notes) > 0 {
		t.Errorf("the other pod has the notes %q", notes)
	}
}

// TestRetryNothing: the answer about a pod that is in no back-off comes at the end of the turn.
func TestRetryNothing(t *testing.T) {
	r := newRetryRig(t)
	web := newPod("default", "web")
	r.work(web, nothing)
	got := r.retryOf(t.Context(), web)
	r.wasAsked(got)
	r.work(web, nothing, func() (bool, int64) { return false, 0 })
	if a := <-got; a.error != nil || a.Ended != nil || !a.Over || a.Sync != 2 {
		t.Errorf("the answer is %v, %v", a.RetryResponse, a.error)
	}
	if notes := r.notes(web); !slices.Equal(notes, []string{"NOTE worker.turn retry uid pid mended, Ana"}) {
		t.Errorf("the notes are %q", notes)
	}
}

// TestRetryDuringTurn: a turn that is under way sets the time of the next one as it ends, so the kubelet is asked again. A
// back-off that this turn comes to is ended already, and no other turn is needed.
func TestRetryDuringTurn(t *testing.T) {
	r := newRetryRig(t)
	web := newPod("default", "web")
	var got <-chan answer
	r.work(web, func() {
		got = r.retryOf(t.Context(), web)
		r.wasAsked(got)
	})
	r.wasAsked(got)
	late, lateOn := backOff()
	if r.work(web, nothing, late); *lateOn {
		t.Error("the back-off of the turn that was asked for goes on")
	}
	if a := <-got; a.error != nil || a.Ended == nil || a.Sync != 2 {
		t.Errorf("the answer is %v, %v", a.RetryResponse, a.error)
	}
	end, _ := backOff()
	r.work(web, func() {
		got = r.retryOf(t.Context(), web)
		r.wasAsked(got)
	}, end)
	if a := <-got; a.error != nil || a.Ended == nil || a.Sync != 3 {
		t.Errorf("the answer about the turn under way is %v, %v", a.RetryResponse, a.error)
	}
	next, nextOn := backOff()
	if r.work(web, nothing, next); !*nextOn {
		t.Error("a back-off was ended in the turn after that one too")
	}
}

// TestRetryGivenUp: when nobody waits any more, a turn that has not begun ends no back-off.
func TestRetryGivenUp(t *testing.T) {
	r := newRetryRig(t)
	web := newPod("default", "web")
	r.work(web, nothing)
	ctx, giveUp := context.WithCancel(t.Context())
	got := r.retryOf(ctx, web)
	r.wasAsked(got)
	giveUp()
	if a := <-got; status.Code(a.error) != codes.Canceled {
		t.Fatalf("the answer is %v, %v", a.RetryResponse, a.error)
	}
	for code := agentpb.Problem_RETRY_PENDING; code != agentpb.Problem_RETRY_WAITS; { // until the agent has noticed
		_, err := r.client.Retry(t.Context(), &agentpb.RetryRequest{Pods: sel(web), Wait: durationOf(time.Millisecond)})
		if code = reason.ProblemOf(err).GetCode(); code != agentpb.Problem_RETRY_PENDING && code != agentpb.Problem_RETRY_WAITS {
			t.Fatalf("with a short wait the error is %v", err)
		}
	}
	end, on := backOff()
	if r.work(web, nothing, end); !*on {
		t.Error("a back-off was ended for a client that is gone")
	}
}

// TestRetryRefused: the reasons for which nothing is tried again.
func TestRetryRefused(t *testing.T) {
	r := newRetryRig(t)
	web := newPod("default", "web")
	r.work(web, nothing)
	check := func(what string, code agentpb.Problem_Code, arg string) {
		t.Helper()
		_, err := r.client.Retry(t.Context(), &agentpb.RetryRequest{Pods: sel(web)})
		p := reason.ProblemOf(err)
		if p.GetCode() != code || arg != "" && p.GetArgs()["reason"] != arg {
			t.Errorf("%s: the error is %v, want %s %s", what, err, code, arg)
		}
	}
	for _, why := range []string{agentpb.RetryTerminating, agentpb.RetryTerminated, agentpb.RetryUnknown} {
		r.refuse = why
		check("kubelet refuses", agentpb.Problem_NOT_RETRIED, why)
	}
	r.refuse = ""
	got := r.retryOf(t.Context(), web)
	r.wasAsked(got)
	check("another asks", agentpb.Problem_RETRY_PENDING, "")
	_ = r.call("worker.loop", []any{web.UID}, nil, nil) // the worker ends
	if a := <-got; reason.ProblemOf(a.error).GetArgs()["reason"] != agentpb.RetryTerminated {
		t.Errorf("when the worker ended the answer was %v, %v", a.RetryResponse, a.error)
	}
	if _, err := r.Agent.addBreakpoint(t.Context(), &agentpb.AddBreakpointRequest{Pods: sel(web), Step: "worker.turn", Times: 1}, t.Context(), server.Asker{}); err != nil {
		t.Fatal(err)
	}
	r.calls.Go(func() {
		_ = r.call("worker.loop", []any{web.UID}, nil, func() error {
			r.work(web, nothing)
			return nil
		})
	})
	h := r.held(web)
	check("held", agentpb.Problem_RETRY_HELD, "")
	h.Release("test")
	r.syncNow.Store(nil)
	check("beside the kubelet", agentpb.Problem_NO_RETRY, "")
	r.opts.ReadOnly = true
	check("read-only", agentpb.Problem_READ_ONLY, "")
}

// TestRetryPanic: a panic of what ends a back-off goes no further.
func TestRetryPanic(t *testing.T) {
	r := newRetryRig(t)
	web := newPod("default", "web")
	r.work(web, nothing)
	was, got := hook.Faults(), r.retryOf(t.Context(), web)
	r.wasAsked(got)
	r.work(web, nothing, func() (bool, int64) { panic("no such map") })
	if a := <-got; a.error != nil || a.Ended != nil || !a.Over {
		t.Errorf("the answer is %v, %v", a.RetryResponse, a.error)
	}
	if n := hook.Faults() - was; n != 1 {
		t.Errorf("%d panics were counted, want 1", n)
	}
}

// oneRetry makes the notes of a retry.
func oneRetry(r *rig) []*agentpb.Event {
	p := newPod("default", "web")
	r.pods.Object(p)
	asked := &retry{ended: make(chan *agentpb.RetryResponse, 1), over: make(chan *agentpb.RetryResponse, 1)}
	r.pods.All()[0].State.retry.Store(asked)
	end, _ := backOff()
	_ = r.sync(p, func() error { return r.call("rt.backoff", []any{p, "app", end}, nil, nil) })
	return r.events(p.Name)
}
