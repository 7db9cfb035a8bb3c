package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/journal"
	"github.com/podstep/podstep/agent/pods"
	"github.com/podstep/podstep/agent/server"
	"github.com/podstep/podstep/agent/wire/eventtest"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/hook"
)

// rig is an agent, with a kubelet that the test plays: calls go through the hook, as woven code's do.
type rig struct {
	t *testing.T
	*Agent
	svc *service
	c   *probes.Catalogue
	// calls are goroutines that make calls of a pretended kubelet. The rig waits for them after it has closed the agent: one
	// that outlived its test would report to the agent of the next test.
	calls *sync.WaitGroup
}

func newRig(t *testing.T, opts Options) *rig {
	t.Helper()
	c := probes.MustLoad()
	if opts.Probes == nil {
		opts.Probes = seesAll()
	}
	a, err := New(c, opts)
	if err != nil {
		t.Fatal(err)
	}
	a.Attach()
	var calls sync.WaitGroup
	t.Cleanup(calls.Wait)
	t.Cleanup(a.Close)
	return &rig{t, a, &service{agent: a}, c, &calls}
}

// seesAll returns a probe that sees every step, and can hold it and make it fail, but holds none of the steps in
// noHold.
func seesAll(noHold ...string) []probes.Abilities {
	can := probes.Abilities{Probe: "woven", Knows: probes.Knows{Turns: true, Nesting: true, Workers: true}, Steps: map[string]probes.Ability{}}
	for _, s := range probes.MustLoad().Steps {
		x := probes.Everything()
		if slices.Contains(noHold, s.Name) {
			x.HoldEnter, x.HoldExit, x.NoHold = false, false, unheld.With("step", s.Name)
		}
		can.Steps[s.Name] = x
	}
	return []probes.Abilities{can}
}

// seesCalls returns a probe that sees all that seesAll sees, but no turns.
func seesCalls() []probes.Abilities {
	all := seesAll()
	all[0].Knows = probes.Knows{Reports: true}
	return all
}

var unheld = probes.NewReason("test.unheld", probes.Text{En: "not at {step}", Zh: "不在 {step}"})

// Begin begins a call that the rig's probe sees from outside.
func (r *rig) Begin(seen Seen) *Call { return r.probes[0].Begin(seen) }

// Stopping asks the rig's probe.
func (r *rig) Stopping(step string) bool { return r.probes[0].Stopping(step) }

// addBreakpoint adds a breakpoint that does not depend on a connection.
func (r *rig) addBreakpoint(spec *agentpb.AddBreakpointRequest) (*agentpb.Breakpoint, error) {
	return r.Agent.addBreakpoint(context.Background(), spec, context.Background(), server.Asker{})
}

// call does what woven code of a step does around body.
func (r *rig) call(step string, in, out []any, body func() error) (err error) {
	s := r.c.Step(step)
	if s == nil {
		r.t.Errorf("no step %q", step)
		return nil
	}
	p, fault := hook.Enter(s.ID, hook.List(in...))
	if p != nil || fault != nil {
		defer hook.Leave(p, func() error { return err }, hook.List(out...))
		if fault != nil {
			return fault
		}
	}
	if body != nil {
		err = body()
	}
	return err
}

// sync makes one turn of a pod's worker, on the calling goroutine.
func (r *rig) sync(p *v1.Pod, body func() error) error {
	return r.call("worker.loop", []any{p.UID}, nil, func() error {
		return r.call("worker.turn", nil, nil, func() error {
			return r.call("sync.pod", []any{p, "create"}, []any{false}, body)
		})
	})
}

// startContainer makes a turn of a pod's worker that starts a container. The channel is closed when the turn is over.
func (r *rig) startContainer(p *v1.Pod) (done chan struct{}) {
	done = make(chan struct{})
	go func() {
		defer close(done)
		_ = r.sync(p, func() error {
			_ = r.call("sync.genstatus", []any{p}, nil, nil)
			return r.call("rt.sync", []any{p}, nil, func() error {
				return r.call("cri.StartContainer", []any{"c1"}, nil, nil)
			})
		})
	}()
	return done
}

func newPod(ns, name string) *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name, UID: types.UID("uid-" + ns + "-" + name), ResourceVersion: "1"}}
}

// events waits until everything so far is in the recorder, and returns a pod's story.
func (r *rig) events(pod string) []*agentpb.Event {
	r.t.Helper()
	r.settle()
	return r.history(&agentpb.WatchRequest{Pods: &agentpb.PodSelector{Name: pod}})
}

// history returns the events that a request selects of those that the agent has kept.
func (r *rig) history(req *agentpb.WatchRequest) (out []*agentpb.Event) {
	r.t.Helper()
	req.OnlyHistory = true
	w := r.watcher(req)
	defer w.Close()
	for b := w.History(); b != nil; b = w.History() {
		out = append(out, r.decoded(b)...)
	}
	return out
}

// watcher adds a watcher.
func (r *rig) watcher(req *agentpb.WatchRequest) *journal.Watcher {
	r.t.Helper()
	w, err := r.watch(req)
	if err != nil {
		r.t.Fatal(err)
	}
	return w
}

// next waits for the next events of a watcher.
func (r *rig) next(w *journal.Watcher) []*agentpb.Event {
	r.t.Helper()
	b, err := w.Next(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	return r.decoded(b)
}

func (r *rig) decoded(b *agentpb.Batch) (out []*agentpb.Event) {
	r.t.Helper()
	for _, raw := range b.GetEvents() {
		out = append(out, eventtest.Decode(r.t, raw))
	}
	return out
}

// settle waits until the journal has handed on what it was given.
func (r *rig) settle() {
	r.t.Helper()
	w := r.watcher(&agentpb.WatchRequest{Node: true})
	defer w.Close()
	r.journal.Put(journal.Event{Kind: agentpb.Kind_NOTE, Err: "settle"})
	for {
		if slices.ContainsFunc(r.next(w), func(e *agentpb.Event) bool { return e.Error == "settle" }) {
			return
		}
	}
}

// nodeEvents returns the node's story.
func (r *rig) nodeEvents() []*agentpb.Event {
	r.t.Helper()
	r.settle()
	return r.history(&agentpb.WatchRequest{Node: true})
}

func (r *rig) name(e *agentpb.Event) string {
	if e.Step == 0 {
		return e.Kind.String()
	}
	return fmt.Sprintf("%s %s", e.Kind, r.c.Steps[e.Step-1].Name)
}

func (r *rig) names(events []*agentpb.Event) (out []string) {
	for _, e := range events {
		out = append(out, r.name(e))
	}
	return out
}

func wantNames(t *testing.T, got, want []string) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("story:\n%q\nwant:\n%q", got, want)
	}
}

func TestStoryNests(t *testing.T) {
	r := newRig(t, Options{})
	p := newPod("default", "web")
	err := r.sync(p, func() error {
		return r.call("rt.sync", []any{p}, nil, func() error {
			return r.call("cri.StartContainer", []any{"c1"}, nil, func() error { return errors.New("no such container") })
		})
	})
	if err == nil {
		t.Fatal("the error of the kubelet's own function is lost")
	}
	events := r.events("web")
	wantNames(t, r.names(events), []string{
		"ENTER worker.loop", "ENTER worker.turn", "ENTER sync.pod", "ENTER rt.sync", "ENTER cri.StartContainer",
		"EXIT cri.StartContainer", "EXIT rt.sync", "EXIT sync.pod", "EXIT worker.turn", "EXIT worker.loop",
	})
	for i := 1; i < 5; i++ {
		if events[i].Parent != events[i-1].Span {
			t.Errorf("%s is in span %d, want %d", r.name(events[i]), events[i].Parent, events[i-1].Span)
		}
	}
	if e := events[5]; e.Error != "no such container" || e.Duration <= 0 || e.Sync != 1 {
		t.Errorf("exit of the call: %v", e)
	}
}

// TestMergeIsReportedLate: only the end of merge says which pods were added, updated or removed. Each of their stories
// then has merge in its place, with the decision. Other pods' stories do not have it.
func TestMergeIsReportedLate(t *testing.T) {
	r := newRig(t, Options{})
	add, same := newPod("default", "add"), newPod("default", "same")
	step := r.c.Step("merge.merge")
	out := make([]any, 0, 5)
	for _, u := range step.Pod.Updates {
		if u.Op == "ADD" {
			out = append(out, []*v1.Pod{add})
		} else {
			out = append(out, []*v1.Pod{})
		}
	}
	_ = r.call("merge.merge", []any{"api"}, out, func() error {
		return r.call("merge.firstseen", []any{add}, nil, nil)
	})
	_ = r.call("merge.firstseen", []any{same}, nil, nil)
	events := r.events("add")
	wantNames(t, r.names(events), []string{"ENTER merge.merge", "ENTER merge.firstseen", "EXIT merge.firstseen", "EXIT merge.merge"})
	if got := events[3].Fields[0]; got.Name != "op" || got.GetText() != "ADD" {
		t.Errorf("merge decided %v, want op ADD", got)
	}
	if events[1].Parent != events[0].Span {
		t.Error("what happened in merge is not in its span")
	}
	wantNames(t, r.names(r.events("same")), []string{"ENTER merge.firstseen", "EXIT merge.firstseen"})
}

// TestListedPods: a source sends all pods of the node each time; only pods that changed get an event.
func TestListedPods(t *testing.T) {
	r := newRig(t, Options{})
	a, b := newPod("default", "a"), newPod("default", "b")
	send := func() { _ = r.call("source.api.send", []any{[]any{a, b}}, nil, nil) }
	send()
	b = b.DeepCopy()
	b.ResourceVersion = "2"
	send()
	if n := len(r.events("a")); n != 2 {
		t.Errorf("a has %d events, want enter and exit of the first list", n)
	}
	if n := len(r.events("b")); n != 4 {
		t.Errorf("b has %d events, want those of both lists", n)
	}
}

// TestRemoved: a pod is listed until its source no longer has it and its worker has ended, and again when its source
// has it again.
func TestRemoved(t *testing.T) {
	r := newRig(t, Options{})
	p := newPod("default", "web")
	state := func() string {
		r.settle()
		if s := r.state(r.pods.Object(p)); s != nil {
			return s.State
		}
		return "not listed"
	}
	source := func(step string) func() {
		return func() { _ = r.call(step, []any{[]*v1.Pod{p}}, nil, nil) }
	}
	for _, c := range []struct {
		after string
		do    func()
		want  string
	}{
		{"its worker ended", func() { _ = r.sync(p, nil) }, "done"},
		{"it was removed", source("loop.remove"), "not listed"},
		{"it was added again", source("loop.add"), "done"},
		{"it was removed again", source("loop.remove"), "not listed"},
	} {
		c.do()
		if got := state(); got != c.want {
			t.Errorf("after %s the pod is %s, want %s", c.after, got, c.want)
		}
		r.sameCounts(c.after)
	}
}

// sameCounts checks that the numbers of pods by state are those of the list of pods.
func (r *rig) sameCounts(after string) {
	r.t.Helper()
	listed, err := r.svc.Pods(r.t.Context(), &agentpb.PodsRequest{})
	if err != nil {
		r.t.Fatal(err)
	}
	counts := r.PodsByState()
	for _, p := range listed.Pods {
		counts[p.State]--
	}
	for state, n := range counts {
		if n != 0 {
			r.t.Errorf("after %s, %d pods more are counted as %s than are listed", after, n, state)
		}
	}
	if len(counts) != 7 {
		r.t.Errorf("after %s, the states are %v", after, counts)
	}
}

// TestEarly: a call that may be quiet and that its arguments show not to be is published as it begins.
func TestEarly(t *testing.T) {
	for claims, want := range map[int]int{0: 0, 2: 1} {
		r := newRig(t, Options{})
		p := newPod("default", "web")
		_ = r.sync(p, nil)
		before := len(r.events("web"))
		ptr, _ := hook.Enter(r.c.Step("rt.dra").ID, hook.List(p, claims))
		if got := len(r.events("web")) - before; got != want {
			t.Errorf("with %d claims %d events have come, not %d", claims, got, want)
		}
		hook.Leave(ptr, nil, func(to hook.To) { hook.Quiet(to, claims == 0) })
		if got := len(r.events("web")) - before; got != 2*want {
			t.Errorf("with %d claims %d events have come at the end", claims, got)
		}
	}
}

func TestQuiet(t *testing.T) {
	r := newRig(t, Options{})
	p := newPod("default", "web")
	_ = r.sync(p, nil)
	before := len(r.events("web"))
	s := r.c.Step("merge.check")
	ptr, _ := hook.Enter(s.ID, hook.List(p))
	hook.Leave(ptr, nil, func(to hook.To) { hook.Quiet(to, true) })
	if after := len(r.events("web")); after != before {
		t.Errorf("a quiet call left %d events", after-before)
	}
	_ = r.call("vol.process", []any{p}, nil, nil)
	if after := len(r.events("web")); after != before {
		t.Errorf("an idle call left %d events", after-before)
	}
	_ = r.call("vol.process", []any{p}, nil, func() error {
		return r.call("vol.spec", []any{p, "config"}, nil, nil)
	})
	if after := len(r.events("web")); after != before+4 {
		t.Errorf("a call that did something left %d events, want 4", after-before)
	}
}

// TestLateChild: a goroutine may begin its call after the idle call that started it has ended. A call that has ended
// without an event then gets no enter, because it would get no exit.
func TestLateChild(t *testing.T) {
	r := newRig(t, Options{})
	p := newPod("default", "web")
	s := r.c.Step("vol.process")
	ptr, _ := hook.Enter(s.ID, hook.List(p))
	begin, done := make(chan struct{}), make(chan struct{})
	go func() { // it has this goroutine's labels, and with them its span, from here
		defer close(done)
		<-begin
		_ = r.call("vol.spec", []any{p, "config"}, nil, nil)
	}()
	hook.Leave(ptr, nil, nil)
	close(begin)
	<-done
	events := r.events("web")
	wantNames(t, r.names(events), []string{"ENTER vol.spec", "EXIT vol.spec"})
	for _, e := range events {
		if e.Parent != 0 {
			t.Errorf("%v has parent %d, which has no events", e.Kind, e.Parent)
		}
	}
}

// TestFileComesBack: a file that is removed and comes back is news again.
func TestFileComesBack(t *testing.T) {
	r := newRig(t, Options{})
	p := newPod("default", "static")
	p.ResourceVersion = ""
	send := func() { _ = r.call("source.file.send", []any{[]any{p}}, nil, nil) }
	send()
	send()
	_ = r.call("loop.remove", []any{[]*v1.Pod{p}}, nil, nil)
	send()
	once := []string{"ENTER source.file.send", "EXIT source.file.send"}
	wantNames(t, r.names(r.events("static")), slices.Concat(once, []string{"ENTER loop.remove", "EXIT loop.remove"}, once))
}

// TestIDs: the runtime's ids are known as soon as the call that made the sandbox or container ends.
func TestIDs(t *testing.T) {
	r := newRig(t, Options{})
	p := newPod("default", "web")
	cfg := &runtimeapi.PodSandboxConfig{Metadata: &runtimeapi.PodSandboxMetadata{Name: "web", Namespace: "default", Uid: string(p.UID)}}
	_ = r.call("cri.RunPodSandbox", []any{cfg, cfg, ""}, []any{"sandbox1"}, nil)
	_ = r.call("cri.PodSandboxStatus", []any{"sandbox1", "sandbox1"}, nil, nil)
	wantNames(t, r.names(r.events("web")), []string{
		"ENTER cri.RunPodSandbox", "EXIT cri.RunPodSandbox", "ENTER cri.PodSandboxStatus", "EXIT cri.PodSandboxStatus",
	})
}

// held waits until the pod is held and returns the hold.
func (r *rig) held(p *v1.Pod) *hold {
	r.t.Helper()
	w := r.watcher(&agentpb.WatchRequest{})
	defer w.Close()
	for {
		if h, _ := r.holds.List(&r.pods.UID(string(p.UID)).State.holding); len(h) > 0 {
			return h[0]
		}
		r.next(w)
	}
}

func sel(p *v1.Pod) *agentpb.PodSelector {
	return &agentpb.PodSelector{Namespace: p.Namespace, Name: p.Name}
}

func TestHoldStepContinue(t *testing.T) {
	r := newRig(t, Options{})
	p := newPod("default", "web")
	r.pods.Object(p)
	if _, err := r.addBreakpoint(&agentpb.AddBreakpointRequest{Pods: sel(p), Step: "sync.pod", Times: 1}); err != nil {
		t.Fatal(err)
	}
	done := r.startContainer(p)
	r.held(p)
	// A client can ask everything about a held pod.
	if st, err := r.svc.Pods(t.Context(), &agentpb.PodsRequest{}); err != nil || st.Pods[0].State != "held" || st.Pods[0].Holds[0].Step != "sync.pod" {
		t.Errorf("pods: %v, %v", st, err)
	}
	if hs, err := r.svc.ListHolds(t.Context(), &agentpb.ListHoldsRequest{}); err != nil || len(hs.Holds) != 1 {
		t.Errorf("holds: %v, %v", hs, err)
	}
	for _, c := range []struct {
		mode agentpb.StepMode
		want string
	}{
		{agentpb.StepMode_INTO, "sync.genstatus enter"},
		{agentpb.StepMode_OVER, "rt.sync enter"},
		{agentpb.StepMode_NEXT_CRI, "cri.StartContainer enter"},
		{agentpb.StepMode_OUT, "rt.sync exit"},
	} {
		h, err := r.svc.Step(t.Context(), &agentpb.StepRequest{Pods: sel(p), Mode: c.mode})
		if err != nil {
			t.Fatal(err)
		}
		if got := h.Step + " " + h.On; got != c.want {
			t.Errorf("step %v came to %s, want %s", c.mode, got, c.want)
		}
	}
	if _, err := r.svc.Continue(t.Context(), &agentpb.ContinueRequest{Pods: sel(p)}); err != nil {
		t.Fatal(err)
	}
	<-done
	if _, err := r.svc.Continue(t.Context(), &agentpb.ContinueRequest{Pods: sel(p)}); err == nil {
		t.Error("continue of a pod that is not held is no error")
	}
}

// TestStepMeetsBreakpoint: a step ends where a breakpoint holds its pod, with that hold. Nothing of the step stays armed.
func TestStepMeetsBreakpoint(t *testing.T) {
	r := newRig(t, Options{})
	p := newPod("default", "web")
	r.pods.Object(p)
	r.breakAt(p, "sync.pod", agentpb.On_ON_ENTER)
	r.breakAt(p, "rt.sync", agentpb.On_ON_ENTER)
	done := r.startContainer(p)
	r.held(p)
	h := r.step(p, agentpb.StepMode_UNTIL, "cri.StartContainer")
	if at(h) != "rt.sync enter" || h.Cause != agentpb.Cause_CAUSE_BREAKPOINT {
		t.Errorf("the step ended at %s, held for %v", at(h), h.Cause)
	}
	if w := r.pods.Object(p).State.holding.Pending(); w != nil {
		t.Errorf("still armed: %+v", w)
	}
	if h := r.step(p, agentpb.StepMode_NEXT_CRI, ""); at(h) != "cri.StartContainer enter" || h.Cause != agentpb.Cause_CAUSE_STEP {
		t.Errorf("the next step ended at %s, held for %v", at(h), h.Cause)
	}
	r.releaseAll("continue")
	<-done
	if n := r.holds.Armed(); n != 0 {
		t.Errorf("%d holds are armed at the end", n)
	}
}

// TestRelease: whatever ends a hold, the pod goes on, and the event says why.
func TestRelease(t *testing.T) {
	for name, c := range map[string]struct {
		lease  time.Duration
		end    func(r *rig, p *v1.Pod)
		reason string
	}{
		"lease":    {time.Millisecond, func(*rig, *v1.Pod) {}, agentpb.ReleaseLease},
		"continue": {time.Hour, func(r *rig, _ *v1.Pod) { r.releaseAll("continue") }, "continue"},
		"kill": {time.Hour, func(r *rig, p *v1.Pod) {
			s := r.c.Step("worker.update")
			in := []any{p}
			for _, f := range s.Fields {
				in = append(in, any(f.Name == fieldWaitsKill))
			}
			_ = r.call("worker.update", in, nil, nil)
		}, agentpb.ReleasePodKilled},
		"shutdown": {time.Hour, func(r *rig, p *v1.Pod) {
			s := r.c.OfRole(probes.RoleShutdown)[0]
			in := []any{[]*v1.Pod{p}}
			for range s.Fields {
				in = append(in, nil)
			}
			_ = r.call(s.Name, in, nil, nil)
		}, agentpb.ReleaseNodeShutdown},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, Options{})
			p := newPod("default", "web")
			lease := &agentpb.AddBreakpointRequest_Hold{Hold: &agentpb.HoldAction{Lease: durationOf(c.lease)}}
			if _, err := r.addBreakpoint(&agentpb.AddBreakpointRequest{Step: "sync.pod", Action: lease}); err != nil {
				t.Fatal(err)
			}
			done := make(chan struct{})
			go func() {
				defer close(done)
				_ = r.sync(p, nil)
			}()
			if c.lease == time.Hour {
				r.held(p)
				c.end(r, p)
			}
			<-done
			for _, e := range r.events("web") {
				if e.Kind == agentpb.Kind_RELEASE {
					if got := e.Fields[1].GetText(); got != c.reason {
						t.Errorf("released because %q, want %q", got, c.reason)
					}
					return
				}
			}
			t.Error("no release event")
		})
	}
}

// TestBudget: a hold inside a step with a timer ends before the timer does.
func TestBudget(t *testing.T) {
	r := newRig(t, Options{})
	p := newPod("default", "web")
	grace := int64(5)
	p.Spec.TerminationGracePeriodSeconds = &grace
	r.pods.Object(p)
	if _, err := r.addBreakpoint(&agentpb.AddBreakpointRequest{Step: "rt.poststart", Action: &agentpb.AddBreakpointRequest_Hold{Hold: &agentpb.HoldAction{Lease: durationOf(time.Hour)}}}); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = r.sync(p, func() error {
			return r.call("rt.prestop", []any{p}, nil, func() error { return r.call("rt.poststart", []any{p}, nil, nil) })
		})
	}()
	h := r.held(p)
	if h.Budget == nil || h.Budget.Timer != "grace" {
		t.Errorf("budget %+v, want the grace period", h.Budget)
	}
	<-done
}

func TestFaults(t *testing.T) {
	r := newRig(t, Options{})
	p := newPod("default", "web")
	if _, err := r.addBreakpoint(&agentpb.AddBreakpointRequest{Pods: sel(p), Step: "cri.StartContainer", Action: &agentpb.AddBreakpointRequest_Fail{Fail: "NotFound: no such container"}}); err != nil {
		t.Fatal(err)
	}
	start := func() error {
		return r.sync(p, func() error { return r.call("cri.StartContainer", []any{"c"}, nil, nil) })
	}
	if err := start(); status.Code(err) != codes.NotFound || status.Convert(err).Message() != "no such container (injected by podstep)" {
		t.Errorf("err = %v, want the fault, as the runtime would give it", err)
	}
	if err := start(); err != nil {
		t.Errorf("the fault did not undo itself: %v", err)
	}
	if n := len(r.points.List()); n != 0 || r.holds.Armed() != 0 {
		t.Errorf("%d breakpoints are left, armed %d", n, r.holds.Armed())
	}
}

// TestNotHeld: a hold is refused where other pods would wait, and for pods on which the node depends.
func TestNotHeld(t *testing.T) {
	r := newRig(t, Options{})
	for _, step := range []string{"merge.merge", "loop.add", "admit.can", "status.patch", "no.such.step", "[", "stage:nothing"} {
		if _, err := r.addBreakpoint(&agentpb.AddBreakpointRequest{Step: step}); err == nil {
			t.Errorf("a breakpoint at %q was taken", step)
		}
	}
	p := newPod("kube-system", "apiserver")
	high := int32(pods.SystemCritical)
	p.Spec.Priority = &high
	r.pods.Object(p)
	if _, err := r.svc.Hold(t.Context(), &agentpb.HoldRequest{Pods: sel(p)}); err == nil {
		t.Error("a system-critical pod was to be held without force")
	}
	if _, err := r.addBreakpoint(&agentpb.AddBreakpointRequest{Step: "sync.pod"}); err != nil {
		t.Fatal(err)
	}
	_ = r.sync(p, nil) // would hang if it were held
	// PLEG asks for a sandbox's status too, on its own goroutine.
	if _, err := r.addBreakpoint(&agentpb.AddBreakpointRequest{Step: "cri.*"}); err != nil {
		t.Fatal(err)
	}
	q := newPod("default", "q")
	r.pods.Learn("sandbox1", r.pods.Object(q))
	_ = r.call("pleg.relistpod", []any{q.UID}, nil, func() error {
		return r.call("cri.PodSandboxStatus", []any{"sandbox1", "sandbox1"}, nil, nil)
	})
}

func TestWaitRunsOut(t *testing.T) {
	r := newRig(t, Options{})
	p := newPod("default", "web")
	r.pods.Object(p)
	_, err := r.svc.Hold(t.Context(), &agentpb.HoldRequest{Pods: sel(p), Wait: durationOf(time.Millisecond)})
	if err == nil {
		t.Fatal("the hold of an idle pod came about")
	}
	if r.holds.Armed() != 0 {
		t.Error("something stays armed")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.svc.Hold(ctx, &agentpb.HoldRequest{Pods: sel(p)}); err == nil || r.holds.Armed() != 0 {
		t.Errorf("a client that is gone: %v, armed %d", err, r.holds.Armed())
	}
}

func TestAmbiguous(t *testing.T) {
	r := newRig(t, Options{})
	r.pods.Object(newPod("a", "web"))
	r.pods.Object(newPod("b", "web"))
	if _, err := r.onePod(&agentpb.PodSelector{Name: "web"}); err == nil {
		t.Error("two pods match, and one was chosen")
	}
	if p, err := r.onePod(&agentpb.PodSelector{Namespace: "b", Name: "web"}); err != nil || p.UID != "uid-b-web" {
		t.Errorf("b/web is %v, %v", p, err)
	}
}

// TestTimesInParallel: of calls that come at the same moment, a breakpoint acts on exactly as many as it is set to.
func TestTimesInParallel(t *testing.T) {
	r := newRig(t, Options{})
	p := newPod("default", "web")
	for round := range 200 {
		if _, err := r.addBreakpoint(&agentpb.AddBreakpointRequest{
			Pods: sel(p), Step: "cri.StopContainer", Action: &agentpb.AddBreakpointRequest_Fail{Fail: "boom"}, Times: 1,
		}); err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		var failed atomic.Int32
		for range 4 {
			wg.Go(func() {
				if err := r.sync(p, func() error { return r.call("cri.StopContainer", []any{"c", "c", int64(1)}, nil, nil) }); err != nil {
					failed.Add(1)
				}
			})
		}
		if wg.Wait(); failed.Load() != 1 {
			t.Fatalf("round %d: it acted on %d calls, and was to act on one", round, failed.Load())
		}
	}
}
