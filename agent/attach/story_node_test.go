//go:build node

package attach_test

import (
	"bytes"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podstep/podstep/agent/labtest"
	"github.com/podstep/podstep/probes"
)

const secret = "hunter2-is-not-to-be-seen"

// threePod is a pod with an init container and two others.
func threePod(name string) *corev1.Pod {
	p := labtest.BusyboxPod(name, labtest.Sleep)
	c := p.Spec.Containers[0]
	c.Env = []corev1.EnvVar{{Name: "PASSWORD", Value: secret}}
	side, init := c, c
	side.Name, init.Name, init.Command = "side", "init", []string{"true"}
	p.Spec.InitContainers, p.Spec.Containers = []corev1.Container{init}, []corev1.Container{c, side}
	grace := int64(30)
	p.Spec.TerminationGracePeriodSeconds = &grace
	p.Labels = map[string]string{"app": name}
	return p
}

// TestStory: a pod is stepped from call to call beside an unmodified kubelet, while others come and go.
// Neither they nor the node suffer.
func TestStory(t *testing.T) {
	l := shared.For(t)
	h := labtest.WatchHealth(t, l)
	c := labtest.StartChurn(t, l, strings.ToLower(t.Name()), others)
	c.Until(t, others)
	usual := map[string]bool{}
	for _, e := range warnings(t, l, nil) {
		usual[e.Name] = true
	}

	a := attach(t, l)
	walk(t, l)
	c.Until(t, others)
	took := a.End(syscall.SIGINT)
	c.Check(t)
	a.left()
	h.End(t)
	for _, e := range warnings(t, l, usual) {
		t.Errorf("a warning: %s %s: %s", e.InvolvedObject.Name, e.Reason, e.Message)
	}
	t.Logf("%d pods came and went; podstep ended in %v", c.Count(), took.Round(time.Millisecond))
	compare(t, "created to Ready", c.Times[0].Ready, c.Times[1].Ready)
	compare(t, "deleted to gone", c.Times[0].Gone, c.Times[1].Gone)
	life(t, l, "after")
}

// compare logs how long other pods took before and during the test.
func compare(t *testing.T, what string, before, during []time.Duration) {
	t.Helper()
	if len(before) == 0 || len(during) == 0 {
		t.Fatalf("other pods, %s: %d before, %d meanwhile", what, len(before), len(during))
	}
	t.Logf("other pods, %s: %v at most %v before (%d pods), %v at most %v meanwhile (%d pods)", what,
		median(before), slices.Max(before), len(before), median(during), slices.Max(during), len(during))
}

func median(all []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[len(sorted)/2].Round(time.Millisecond)
}

// walk makes the pod web come and go, step by step.
func walk(t *testing.T, l *labtest.Lab) {
	t.Helper()
	l.Must("break", "add", "default/web", "--step", "cri.RunPodSandbox", "--times", "1")
	l.Create(threePod("web"))
	first := untilHeld(l, "web", "cri.RunPodSandbox")
	if first.Probe != "cri" || first.Goroutine != "worker" {
		t.Errorf("it is held by probe %q on %q", first.Probe, first.Goroutine)
	}
	h := podHeld(t, l, "web")
	request := h.Fields["request"]
	if !bytes.Contains(request, []byte(`"app":"web"`)) && !bytes.Contains(request, []byte(`"app": "web"`)) {
		t.Errorf("the request of RunPodSandbox is %s", request)
	}
	for _, want := range []struct{ step, container string }{
		{"cri.CreateContainer", "init"},
		{"cri.StartContainer", ""},
		{"cri.CreateContainer", "app"},
		{"cri.StartContainer", ""},
		{"cri.CreateContainer", "side"},
		{"cri.StartContainer", ""},
	} {
		h := step(t, l, "step", "default/web", "--cri")
		checkHeld(t, &h, want.step, want.container)
	}
	l.Must("continue", "default/web")
	l.UntilReady("web")

	l.Must("break", "add", "default/web", "--step", "cri.StopContainer", "--times", "1")
	l.Delete("web")
	untilHeld(l, "web", "cri.StopContainer")
	// The kubelet stops the containers at the same time, and the sandbox after both.
	last := step(t, l, "step", "default/web", "--until", "cri.StopPodSandbox")
	checkHeld(t, &last, "cri.StopPodSandbox", "")
	l.Must("continue", "default/web")
	l.UntilGone("web")
	checkWalk(t, l.Story("web"))
}

// podHeld returns the hold that podstep pods prints.
func podHeld(t *testing.T, l *labtest.Lab, pod string) held {
	t.Helper()
	for _, p := range podStates(t, l) {
		if p.Name == pod && p.Hold != nil {
			return *p.Hold
		}
	}
	t.Fatalf("podstep pods does not say that %s is held", pod)
	return held{}
}

func checkHeld(t *testing.T, h *held, step, container string) {
	t.Helper()
	if h.Step != step || h.On != "enter" || h.Pod.Name != "web" {
		t.Fatalf("it is held at %s of %s, want enter of %s", h.On, h.Step, step)
	}
	if h.Budget == nil || h.Budget.Timer == "" {
		t.Errorf("at %s no timer of the kubelet runs, though its call has a deadline", step)
	}
	if container == "" {
		return
	}
	if got := string(h.Fields["container"]); got != `"`+container+`"` {
		t.Errorf("container is %s at %s, want %q", got, step, container)
	}
	request := h.Fields["request"]
	if !bytes.Contains(request, []byte("PASSWORD")) || bytes.Contains(request, []byte(secret)) {
		t.Errorf("the request has not its environment, or its secrets too: %s", request)
	}
}

// checkWalk checks the whole story: each call was made once, and succeeded.
func checkWalk(t *testing.T, story []probes.Event) {
	t.Helper()
	count := map[string]int{}
	for _, e := range story {
		if e.Kind == probes.Exit {
			count[e.Step]++
			if e.Error != "" && !ofBusyNode(e.Error) && e.Step != "cri.ContainerStatus" && e.Step != "cri.PodSandboxStatus" {
				t.Errorf("%s failed: %s", e.Step, e.Error)
			}
		}
	}
	for step, want := range map[string]int{
		"cri.RunPodSandbox": 1, "cri.CreateContainer": 3, "cri.StartContainer": 3, "cri.StopContainer": 2,
	} {
		if count[step] != want {
			t.Errorf("%d calls of %s, want %d", count[step], step, want)
		}
	}
	if count["cri.StopPodSandbox"] == 0 {
		t.Error("no call of cri.StopPodSandbox")
	}
}
