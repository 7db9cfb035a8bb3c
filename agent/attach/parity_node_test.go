//go:build node

package attach_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podstep/podstep/agent/labtest"
	"github.com/podstep/podstep/probes"
)

// seenCall is a call to the runtime as it is in a story.
type seenCall struct {
	span    uint64
	step    string
	worker  bool // made by the pod's worker, as the woven kubelet reports
	request string
	result  string // empty while it is under way
	err     string
}

func (c seenCall) String() string {
	return fmt.Sprintf("%s %s -> %s %s", c.step, c.request, c.result, c.err)
}

// calls returns the calls to the runtime in a story, in the order in which they began.
func calls(t *testing.T, story []probes.Event) (out []seenCall) {
	t.Helper()
	at := map[uint64]int{}
	for _, e := range story {
		if !strings.HasPrefix(e.Step, "cri.") {
			continue
		}
		fields, err := json.Marshal(e.Fields)
		if err != nil {
			t.Fatal(err)
		}
		switch e.Kind {
		case probes.Enter:
			at[e.Span] = len(out)
			out = append(out, seenCall{span: e.Span, step: e.Step, worker: e.Goroutine == "worker", request: string(fields)})
		case probes.Exit:
			i, ok := at[e.Span]
			if !ok {
				t.Errorf("%s ended at %d and never began", e.Step, e.Seq)
				continue
			}
			out[i].result, out[i].err = string(fields), e.Error
		}
	}
	return out
}

// TestParity: podstep sees the same calls from beside the kubelet as from inside it, one by one.
func TestParity(t *testing.T) {
	l := labtest.Start(t)
	attached := l.WithAgent(filepath.Join(l.Dir, "beside.sock"))
	a := attached.Attach()

	web := threePod("web")
	web.Spec.Containers[0].LivenessProbe = &corev1.Probe{
		ProbeHandler:  corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"true"}}},
		PeriodSeconds: 1,
	}
	web.Spec.Containers[0].ReadinessProbe = &corev1.Probe{
		ProbeHandler:  corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"sh", "-c", "test -e /tmp/ready || { touch /tmp/ready; exit 3; }"}}},
		PeriodSeconds: 1,
	}
	web.Spec.Containers[1].Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"echo", "goodbye"}}}}
	never := labtest.BusyboxPod("never", labtest.Sleep)
	never.Spec.Containers[0].Image = "docker.io/library/never:1"
	crash := labtest.BusyboxPod("crash", "exit 3")
	slow := labtest.BusyboxPod("slow", labtest.Sleep)
	slow.Spec.Containers[0].ReadinessProbe = &corev1.Probe{
		ProbeHandler:  corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"sleep", "5"}}},
		PeriodSeconds: 1, TimeoutSeconds: 1,
	}
	for _, p := range []*corev1.Pod{web, never, crash, slow} {
		l.Create(p)
	}
	l.UntilReady("web")
	probed := 0
	l.UntilEvent("web", "some health probes", func(e probes.Event) bool {
		if ended("cri.ExecSync")(e) {
			probed++
		}
		return probed > 3
	})
	l.Until("never", "without its image", waitsFor("never:1"))
	l.Until("crash", "started again", func(p *corev1.Pod) bool {
		return len(p.Status.ContainerStatuses) > 0 && p.Status.ContainerStatuses[0].RestartCount > 0
	})
	l.UntilEvent("slow", "health probe that takes too long", func(e probes.Event) bool {
		return e.Kind == probes.Exit && e.Step == "cri.ExecSync" && e.Error != ""
	})
	// One more call is under way when the pod is deleted.
	begun := 0
	l.UntilEvent("slow", "another health probe", func(e probes.Event) bool {
		if e.Step == "cri.ExecSync" && e.Kind == probes.Enter {
			begun++
		}
		return begun > 1
	})
	pods := []string{"web", "never", "crash", "slow"}
	for _, name := range pods {
		l.Delete(name)
	}
	for _, name := range pods {
		l.UntilGone(name)
		l.UntilEvent(name, "end of its worker", func(e probes.Event) bool { return e.Kind == probes.Exit && e.Step == "worker.loop" })
	}
	for _, name := range pods {
		t.Run(name, func(t *testing.T) { sameCalls(t, l.For(t), attached.For(t), name) })
	}
	a.End(syscall.SIGINT)
	if left := l.AttachTraces(); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// sameCalls compares a pod's calls as both agents report them.
func sameCalls(t *testing.T, inside, attached *labtest.Lab, pod string) {
	t.Helper()
	in, out := sameStories(t, inside, attached, pod)
	t.Logf("inside %d calls: %v", len(in), count(in))
	t.Logf("beside %d calls: %v", len(out), count(out))
	for _, c := range difference(in, out) {
		if !unseenAttached(c) {
			t.Errorf("not seen beside: %v", c)
		}
	}
	for _, c := range difference(out, in) {
		t.Errorf("seen beside alone: %v", c)
	}
	if t.Failed() {
		return
	}
	// The worker makes one call after the other; calls of other goroutines come between.
	byWorker := func(c seenCall) bool {
		return slices.Contains([]string{"cri.RunPodSandbox", "cri.CreateContainer", "cri.StartContainer", "cri.StopPodSandbox"}, c.step)
	}
	first, second := texts(in, byWorker), texts(out, byWorker)
	if !slices.Equal(first, second) {
		t.Errorf("the worker's calls are in another order:\ninside %s\nbeside %s", strings.Join(first, "\n\t"), strings.Join(second, "\n\t"))
	}
}

// sameStories reads a pod's calls from both agents, again while they differ: it reads one after the other, and the
// kubelet still looks at a pod for a while after it is gone.
func sameStories(t *testing.T, inside, attached *labtest.Lab, pod string) (in, out []seenCall) {
	for range 20 {
		in, out = calls(t, inside.Story(pod)), calls(t, attached.Story(pod))
		missing := slices.DeleteFunc(difference(in, out), unseenAttached)
		if len(missing) == 0 && len(difference(out, in)) == 0 {
			break
		}
		time.Sleep(time.Second)
	}
	return in, out
}

// unseenAttached reports whether a call cannot be seen from outside.
func unseenAttached(c seenCall) bool {
	switch c.step {
	case "cri.ImageStatus":
		// The request does not name the pod for which it is made. It is published as a pod's only when no other pod
		// can have made it.
		return true
	case "cri.ExecSync":
		// A call whose caller has already given up does not leave the kubelet. Health probes of a container that has
		// just ended make such calls.
		return c.err == "rpc error: code = Canceled desc = context canceled"
	}
	return false
}

func texts(all []seenCall, which func(seenCall) bool) (out []string) {
	for _, c := range all {
		if which(c) {
			out = append(out, c.String())
		}
	}
	return out
}

// difference returns the calls that are in a more often than in b.
func difference(a, b []seenCall) (out []seenCall) {
	left := map[string]int{}
	for _, c := range b {
		left[c.String()]++
	}
	for _, c := range a {
		if left[c.String()]--; left[c.String()] < 0 {
			out = append(out, c)
		}
	}
	return out
}

func count(all []seenCall) map[string]int {
	out := map[string]int{}
	for _, c := range all {
		out[c.step]++
	}
	return out
}
