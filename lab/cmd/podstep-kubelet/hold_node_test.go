//go:build node

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/client"
	"github.com/podstep/podstep/agent/labtest"
	"github.com/podstep/podstep/probes"
)

const stepLease = 5 * time.Second

// place is one side of a step.
type place struct{ step, on string }

func (p place) String() string { return p.on + " of " + p.step }

// TestHoldEveryStep holds a pod once at every tier-1 step of its way that may be held. The pod has an init container,
// volumes, probes and a hook. Several pods are held at the same time, each at one place after the other, or this
// would take a quarter of an hour. Meanwhile other pods come and go. The test prints how long they took before and during
// the holds.
func TestHoldEveryStep(t *testing.T) {
	t.Parallel()
	l := shared.For(t)
	h := labtest.WatchHealth(t, l)
	const others, normal, held = 4, 8, 8
	c := labtest.StartChurn(t, l, "churn", others)
	creation, deletion := placesOnTheWay(t, l)
	c.Until(t, normal)

	agent := l.Agent()
	var wait sync.WaitGroup
	for i := range held {
		p := heldPod{
			l: l, agent: agent, name: fmt.Sprintf("held-%d", i),
			creation: breakAt(t, l, fmt.Sprintf("held-%d", i), share(creation, i, held)),
			deletion: breakAt(t, l, fmt.Sprintf("held-%d", i), share(deletion, i, held)),
		}
		wait.Go(func() {
			if err := p.run(t); err != nil {
				t.Errorf("pod %s: %v", p.name, err)
			}
		})
	}
	wait.Wait()
	c.Check(t)
	h.End(t)
	if left := strings.TrimSpace(l.Must("break", "ls", "-o", "json")); strings.Contains(left, `"held-`) {
		t.Errorf("breakpoints that were not come to: %s", left)
	}
	t.Logf("%d places held: %v and %v", len(creation)+len(deletion), creation, deletion)
	if len(c.Times[1].Gone) == 0 {
		t.Error("no other pod came and went while pods were held")
	}
	compareTimes(t, "created to Ready", c.Times[0].Ready, c.Times[1].Ready)
	compareTimes(t, "deleted to gone", c.Times[0].Gone, c.Times[1].Gone)
}

// compareTimes logs how long pods took that came and went before the first hold, and during holds.
func compareTimes(t *testing.T, what string, before, during []time.Duration) {
	t.Helper()
	t.Logf("other pods, %s: %v before (%d pods), %v during holds (%d pods)", what, median(before), len(before), median(during), len(during))
}

func share(all []place, i, n int) []place {
	var out []place
	for k := i; k < len(all); k += n {
		out = append(out, all[k])
	}
	return out
}

// placesOnTheWay creates a pod and deletes it, and returns the places at which it may be held: from its creation
// until it is deleted, and from then on.
func placesOnTheWay(t *testing.T, l *labtest.Lab) (creation, deletion []place) {
	t.Helper()
	const name = "pathfinder"
	createWeb(t, l, name)
	l.UntilReady(name)
	first := places(t, l.Story(name))
	l.Delete(name)
	l.UntilEvent(name, "end of its worker", endOf("worker.loop"))
	l.UntilGone(name)
	for _, p := range places(t, l.Story(name)) {
		switch {
		case p == place{"worker.loop", "exit"}, !slices.Contains(first, p):
			deletion = append(deletion, p)
		default:
			creation = append(creation, p)
		}
	}
	for _, need := range []place{{"rt.sandbox", "enter"}, {"cri.RunPodSandbox", "enter"}, {"vol.domount", "enter"}, {"probe.probe", "exit"}} {
		if !slices.Contains(creation, need) {
			t.Errorf("%s is no place where this pod may be held as it is created", need)
		}
	}
	for _, need := range []place{{"rt.prestop", "enter"}, {"term.killpod", "exit"}, {"vol.dounmount", "enter"}} {
		if !slices.Contains(deletion, need) {
			t.Errorf("%s is no place where this pod may be held as it is deleted", need)
		}
	}
	return creation, deletion
}

func endOf(step string) func(probes.Event) bool {
	return func(e probes.Event) bool { return e.Kind == probes.Exit && e.Step == step }
}

// places returns the places in a story at which a hold is allowed, in order.
func places(t *testing.T, story []probes.Event) []place {
	t.Helper()
	var out []place
	for _, e := range story {
		s := probes.MustLoad().Step(e.Step)
		if s == nil || s.Tier != 1 || (e.Kind != probes.Enter && e.Kind != probes.Exit) {
			continue
		}
		rule := s.Hold.Enter
		if e.Kind == probes.Exit {
			rule = s.Hold.Exit
		}
		allowed := rule == probes.HoldYes || rule == probes.HoldOwn || (rule == probes.HoldWorker && e.Goroutine == "worker")
		if p := (place{e.Step, string(e.Kind)}); allowed && !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}

// webPod returns the example of a pod with a bit of everything, under another name. Its containers may take a minute
// to end, so that they can be held meanwhile.
func webPod(t *testing.T, name string) (*corev1.ConfigMap, *corev1.Pod) {
	t.Helper()
	text, err := os.ReadFile(examples + "web.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var config *corev1.ConfigMap
	var pod *corev1.Pod
	for doc := range strings.SplitSeq(string(text), "\n---\n") {
		object, _, err := scheme.Codecs.UniversalDeserializer().Decode([]byte(doc), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		switch o := object.(type) {
		case *corev1.ConfigMap:
			config = o
		case *corev1.Pod:
			pod = o
		}
	}
	grace := int64(60)
	config.Name, pod.Name, pod.Namespace = name, name, "default"
	pod.Spec.TerminationGracePeriodSeconds = &grace
	pod.Spec.Volumes[0].ConfigMap.Name = name
	return config, pod
}

func createWeb(t *testing.T, l *labtest.Lab, name string) {
	t.Helper()
	config, pod := webPod(t, name)
	if _, err := l.Client.CoreV1().ConfigMaps("default").Create(l.Context(), config, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = l.Client.CoreV1().ConfigMaps("default").Delete(context.Background(), name, metav1.DeleteOptions{})
	})
	l.Create(pod)
}

// breakpoints are places, by the reason that a hold there states.
type breakpoints map[string]place

func breakAt(t *testing.T, l *labtest.Lab, pod string, at []place) breakpoints {
	t.Helper()
	out := breakpoints{}
	for _, p := range at {
		id := addBreak(t, l, "default/"+pod, "--step", p.step, "--on", p.on, "--lease", stepLease.String(), "--times", "1")
		out[fmt.Sprintf("breakpoint %d", id)] = p
	}
	return out
}

// addBreak adds a breakpoint and returns its number.
func addBreak(t *testing.T, l *labtest.Lab, args ...string) int {
	t.Helper()
	var b struct{ ID int }
	text := l.Must(append([]string{"break", "add", "-o", "json"}, args...)...)
	if err := json.Unmarshal([]byte(text), &b); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return b.ID
}

// heldPod is a pod that is held at one place after the other.
type heldPod struct {
	l                  *labtest.Lab
	agent              *client.Client
	name               string
	creation, deletion breakpoints
}

// run creates the pod and deletes it. It is for goroutines other than the test's.
func (p *heldPod) run(t *testing.T) error {
	ctx, cancel := context.WithTimeout(context.Background(), 3*labtest.Patience)
	defer cancel()
	config, pod := webPod(t, p.name)
	pods, configs := p.l.Client.CoreV1().Pods("default"), p.l.Client.CoreV1().ConfigMaps("default")
	if _, err := configs.Create(ctx, config, metav1.CreateOptions{}); err != nil {
		return err
	}
	defer configs.Delete(context.Background(), p.name, metav1.DeleteOptions{})
	pod, err := pods.Create(ctx, pod, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	w, err := pods.Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + p.name, ResourceVersion: pod.ResourceVersion})
	if err != nil {
		return err
	}
	defer w.Stop()
	if err := p.untilHeld(ctx, p.creation); err != nil {
		return fmt.Errorf("as it is created: %w", err)
	}
	if err := labtest.Seen(w, labtest.ReadyEvent); err != nil {
		return fmt.Errorf("it does not get Ready: %w", err)
	}
	if err := pods.Delete(ctx, p.name, metav1.DeleteOptions{}); err != nil {
		return err
	}
	if err := p.untilHeld(ctx, p.deletion); err != nil {
		return fmt.Errorf("as it is deleted: %w", err)
	}
	if err := labtest.Seen(w, func(e watch.Event) bool { return e.Type == watch.Deleted }); err != nil {
		return fmt.Errorf("it does not go: %w", err)
	}
	return nil
}

// untilHeld follows the pod's story from its beginning until the pod was held at all places, and checks each hold.
func (p *heldPod) untilHeld(ctx context.Context, at breakpoints) error {
	missing := breakpoints{}
	for why, place := range at {
		missing[why] = place
	}
	holds := map[string]probes.Event{} // those under way, by call and side
	parents := map[uint64]uint64{}
	wrong := error(nil)
	err := follow(ctx, p.agent, p.name, func(e probes.Event) bool {
		key := fmt.Sprint(e.Span, e.Fields["on"])
		if e.Kind == probes.Enter {
			parents[e.Span] = e.Parent
		}
		switch e.Kind {
		case probes.Held:
			if why := fmt.Sprint(e.Fields["why"]); at[why] != (place{}) {
				if at[why] != (place{e.Step, fmt.Sprint(e.Fields["on"])}) {
					wrong = fmt.Errorf("it is held at %v of %s by the breakpoint for %s", e.Fields["on"], e.Step, at[why])
				}
				holds[key] = e
			}
		case probes.Released:
			held, ok := holds[key]
			if !ok {
				break
			}
			delete(holds, key)
			delete(missing, fmt.Sprint(held.Fields["why"]))
			if e.Fields["reason"] != agentpb.ReleaseLease || time.Duration(e.DurationNs) < stepLease {
				wrong = fmt.Errorf("at %v of %s it was held for %v: %v", e.Fields["on"], e.Step, time.Duration(e.DurationNs), e.Fields["reason"])
			}
		default:
			for _, held := range holds {
				if goesOn(held, e, parents) {
					wrong = fmt.Errorf("while it is held at %v of %s it comes to %s of %s", held.Fields["on"], held.Step, e.Kind, e.Step)
				}
			}
		}
		return wrong == nil && len(missing) > 0
	})
	switch {
	case wrong != nil:
		return wrong
	case len(missing) > 0:
		return fmt.Errorf("it was not held at %v: %w", missing, err)
	}
	return nil
}

// goesOn reports whether an event shows that a held pod's worker did not stop: something began or ended in the calls
// that it is in. Goroutines that the worker or the volume reconciler started do go on.
func goesOn(held, e probes.Event, parents map[uint64]uint64) bool {
	if held.Goroutine != "worker" {
		return false
	}
	call := held.Span
	if held.Fields["on"] == string(probes.Exit) {
		call = parents[call]
	}
	for ; call != 0; call = parents[call] {
		if (e.Kind == probes.Enter && e.Parent == call) || (e.Kind == probes.Exit && e.Span == call) {
			return true
		}
	}
	return false
}

// follow calls each with the events of a pod's story, from its beginning, until each returns false.
func follow(ctx context.Context, agent *client.Client, pod string, each func(probes.Event) bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w, err := agent.Watch(ctx, &agentpb.WatchRequest{Pods: &agentpb.PodSelector{Name: pod}, History: true})
	if err != nil {
		return err
	}
	for {
		b, err := w.Next()
		if err != nil {
			return err
		}
		for _, e := range b.Events {
			if !each(e) {
				return nil
			}
		}
	}
}

// A pod that is held for ten minutes is the only thing that stands still.
func TestHoldTenMinutes(t *testing.T) {
	if testing.Short() {
		t.Skip("takes ten minutes")
	}
	t.Parallel()
	l := shared.For(t)
	const pod, long = "long", 10 * time.Minute
	h := labtest.WatchHealth(t, l)
	l.Must("break", "add", "default/"+pod, "--step", "rt.sandbox", "--lease", "12m", "--times", "1")
	l.Create(labtest.TinyPod(pod))
	held := untilHeld(l, pod)
	if b := podState(t, l, pod).Hold.Budget; b != nil {
		t.Fatalf("a timer runs: %+v", b)
	}
	c := labtest.StartChurn(t, l, "others", 1)

	released := make(chan struct{})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	agent := l.Agent()
	go func() {
		defer close(released)
		_ = follow(ctx, agent, pod, func(e probes.Event) bool { return e.Kind != probes.Released })
	}()
	select {
	case <-time.After(time.Until(held.Time.Add(long))):
	case <-released:
		t.Error("the hold ended early")
	}
	c.Check(t)
	h.End(t)
	t.Logf("%d pods came and went", c.Count())
	if s := podState(t, l, pod); s.State != "held" {
		t.Errorf("the pod is %s", s.State)
	}
	l.Must("continue", "default/"+pod)
	l.UntilReady(pod)
	bye(l, pod)
}

// The hold states which timer of the kubelet runs, and for how long.
func TestBudget(t *testing.T) {
	l := shared.For(t)
	const pod = "budget"
	l.Must("break", "add", "default/"+pod, "--step", "vol.domount", "--times", "1")
	createWeb(t, l, pod)
	untilHeld(l, pod)
	hold := podState(t, l, pod).Hold
	if hold.Budget == nil || hold.Budget.Timer != "volume-wait" {
		t.Fatalf("the budget is %+v", hold.Budget)
	}
	left, err := time.ParseDuration(hold.Budget.Left)
	if err != nil || left <= 0 || left > 2*time.Minute+3*time.Second {
		t.Errorf("%q is left, %v", hold.Budget.Left, err)
	}
	l.Must("continue", "default/"+pod)
	l.UntilReady(pod)
	bye(l, pod)
}

// state is what podstep pods and podstep hold print of a pod.
type state struct {
	Name, Namespace, State, Step string
	Hold                         *held
}

type held struct {
	Pod           probes.Pod
	Step, On, Why string
	Lease         string
	Budget        *struct{ Timer, Left string }
}

func podState(t *testing.T, l *labtest.Lab, pod string) state {
	t.Helper()
	var all []state
	if err := json.Unmarshal([]byte(l.Must("pods", "-o", "json")), &all); err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		if s.Name == pod {
			if s.Hold == nil {
				s.Hold = &held{}
			}
			return s
		}
	}
	t.Fatalf("podstep pods does not name %s", pod)
	return state{}
}

// untilHeld waits for the first hold of a pod.
func untilHeld(l *labtest.Lab, pod string) probes.Event {
	story := l.UntilEvent(pod, "hold", func(e probes.Event) bool { return e.Kind == probes.Held })
	return story[len(story)-1]
}

// bye deletes a pod, so that the next test finds the node as it was.
func bye(l *labtest.Lab, pod string) {
	l.Delete(pod)
	l.UntilGone(pod)
}

// Each way of stepping goes where its name says.
func TestSteps(t *testing.T) {
	l := shared.For(t)
	const pod = "steps"
	l.Must("break", "add", "default/"+pod, "--step", "sync.pod", "--times", "1")
	createWeb(t, l, pod)
	last := untilHeld(l, pod)
	for _, c := range []struct {
		args []string
		step string // a glob
		on   string
		is   func(from, to probes.Event, p labtest.Parents) bool
	}{
		{nil, "sync.genstatus", "enter", labtest.Inside},
		{[]string{"--over"}, "sync.setstatus", "enter", labtest.Disjoint},
		{[]string{"--until", "rt.sandbox"}, "rt.sandbox", "enter", nil},
		{[]string{"--cri"}, "cri.RunPodSandbox", "enter", labtest.Inside},
		{[]string{"--out"}, "rt.sandbox", "exit", labtest.Around},
		{[]string{"--stage"}, "*", "enter", otherStage},
		{[]string{"--until", "cri.Create*"}, "cri.CreateContainer", "enter", nil},
		{[]string{"--over"}, "*", "enter", labtest.Disjoint},
		{[]string{"--cri"}, "cri.*", "enter", nil},
		{[]string{"--sync"}, "*", "enter", laterSync},
		{[]string{"--until", "sync.setstatus"}, "sync.setstatus", "enter", nil},
		{[]string{"--out"}, "sync.pod", "exit", labtest.Around},
	} {
		var h held
		text := l.Must(append([]string{"step", "default/" + pod, "-o", "json"}, c.args...)...)
		if err := json.Unmarshal([]byte(text), &h); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		story := l.UntilEvent(pod, "hold after "+last.Step, func(e probes.Event) bool { return e.Kind == probes.Held && e.Seq > last.Seq })
		now := story[len(story)-1]
		t.Logf("step %v: %s of %s, sync %d", c.args, h.On, h.Step, now.Sync)
		if now.Step != h.Step || now.Fields["on"] != h.On {
			t.Errorf("step %v says %s of %s, the story says %v of %s", c.args, h.On, h.Step, now.Fields["on"], now.Step)
		}
		if named, _ := path.Match(c.step, h.Step); !named || h.On != c.on {
			t.Errorf("step %v from %s comes to %s of %s, not %s of %s", c.args, last.Step, h.On, h.Step, c.on, c.step)
		}
		if c.is != nil && !c.is(last, now, labtest.ParentsIn(story)) {
			t.Errorf("step %v from %v to %v is another way", c.args, last, now)
		}
		last = now
	}
	l.Must("continue", "default/"+pod)
	l.UntilReady(pod)
	bye(l, pod)
}

func laterSync(from, to probes.Event, _ labtest.Parents) bool { return to.Sync > from.Sync }

func otherStage(from, to probes.Event, _ labtest.Parents) bool { return to.Stage != from.Stage }

// A step that is made to fail shows what a real failure looks like, once.
func TestFault(t *testing.T) {
	l := shared.For(t)
	const pod, message = "faulty", "no such luck"
	l.Must("break", "add", "default/"+pod, "--step", "cri.StartContainer", "--action", "fail="+message)
	l.Create(labtest.TinyPod(pod))
	l.Until(pod, "failing", func(p *corev1.Pod) bool {
		for _, c := range p.Status.ContainerStatuses {
			for _, s := range []corev1.ContainerState{c.State, c.LastTerminationState} {
				if w := s.Waiting; w != nil && w.Reason == "RunContainerError" && strings.Contains(w.Message, message) {
					return true
				}
			}
		}
		return false
	})
	story := l.UntilEvent(pod, "error", func(e probes.Event) bool { return e.Kind == probes.Exit && e.Step == "rt.startcontainer" })
	if !slices.ContainsFunc(story, func(e probes.Event) bool {
		return e.Kind == probes.Fault && e.Step == "cri.StartContainer" && strings.Contains(e.Error, message)
	}) {
		t.Error("the story has no fault")
	}
	if last := story[len(story)-1]; last.Error != "RunContainerError" || !strings.Contains(fmt.Sprint(last.Fields["message"]), message) {
		t.Errorf("%s ends with error %q and %v", last.Step, last.Error, last.Fields)
	}
	l.UntilReady(pod)
	bye(l, pod)
}

// A delay is a hold that ends by itself.
func TestDelay(t *testing.T) {
	l := shared.For(t)
	const pod, delay = "late", 2 * time.Second
	l.Must("break", "add", "default/"+pod, "--step", "cri.StartContainer", "--action", "delay="+delay.String())
	l.Create(labtest.TinyPod(pod))
	l.UntilReady(pod)
	story := l.UntilEvent(pod, "end of the call", endOf("cri.StartContainer"))
	if last := story[len(story)-1]; last.Error != "" || time.Duration(last.DurationNs) < delay {
		t.Errorf("the call took %v, with error %q", time.Duration(last.DurationNs), last.Error)
	}
	if !slices.ContainsFunc(story, func(e probes.Event) bool { return e.Kind == probes.Fault && e.Step == "cri.StartContainer" }) {
		t.Error("the story does not say that the call was delayed")
	}
	bye(l, pod)
}

// A static pod of the control plane is held only by force.
func TestForce(t *testing.T) {
	l := shared.For(t)
	p := labtest.TinyPod("kube-apiserver")
	p.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
	p.Namespace = "kube-system"
	p.Spec.Containers[0].Command = []string{"sh", "-c", "sleep 1"} // its ends are syncs to hold it in
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	name := "kube-apiserver-" + l.State.Node
	unforced := addBreak(t, l, "kube-system/"+name, "--step", "rt.sandbox", "--times", "1")
	file := filepath.Join(l.Dir, "manifests", "kube-apiserver.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	story := l.UntilEvent(name, "start of its container", endOf("cri.StartContainer"))
	if slices.ContainsFunc(story, func(e probes.Event) bool { return e.Kind == probes.Held }) {
		t.Error("a breakpoint without --force holds it")
	}
	_, printed, code := l.Podstep("hold", "kube-system/"+name, "--wait", "1s")
	if want := "is not held because it is a static pod of the control plane; --force does it all the same"; code != 1 || !strings.Contains(printed, want) {
		t.Errorf("podstep hold ends with code %d and %q", code, printed)
	}
	l.Must("hold", "kube-system/"+name, "--force", "--wait", "110s")
	l.Must("continue", "kube-system/"+name)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	l.UntilEvent(name, "end of its worker", endOf("worker.loop"))
	l.Must("break", "rm", fmt.Sprint(unforced))
}
