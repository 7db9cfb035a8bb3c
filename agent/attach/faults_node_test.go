//go:build node

package attach_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podstep/podstep/agent/labtest"
	"github.com/podstep/podstep/probes"
)

// faultAt adds a fault for one pod.
func faultAt(l *labtest.Lab, pod, step, action string, times int) {
	l.Must("break", "add", "default/"+pod, "--step", step, "--action", action, "--times", fmt.Sprint(times))
}

// untilFaults waits for that many faults in a pod's story.
func untilFaults(l *labtest.Lab, pod string, n int) []probes.Event {
	return l.UntilEvent(pod, fmt.Sprintf("fault number %d", n), func(e probes.Event) bool {
		if e.Kind == probes.Fault {
			n--
		}
		return n == 0
	})
}

const injected = "injected by podstep"

// TestFaults: a fault hits one pod a number of times, and then all goes well.
func TestFaults(t *testing.T) {
	l := shared.For(t)
	a := attach(t, l)
	c := labtest.StartChurn(t, l, strings.ToLower(t.Name()), 3)

	const image, other = "docker.io/library/late:1", "docker.io/library/never:1"
	faultAt(l, "pull", "cri.PullImage", "fail=NotFound: no such image", 2)
	faultAt(l, "start", "cri.StartContainer", "fail=Internal: it does not start", 1)
	faultAt(l, "sandbox", "cri.RunPodSandbox", "fail=Unavailable: no sandbox", 1)
	faultAt(l, "late", "cri.CreateContainer", "delay=3s", 1)
	for name, image := range map[string]string{"pull": image, "never": other, "start": labtest.Image, "sandbox": labtest.Image, "late": labtest.Image} {
		p := labtest.BusyboxPod(name, labtest.Sleep)
		p.Spec.Containers[0].Image = image
		l.Create(p)
	}
	// Two of its pulls fail by the fault. The third, half a minute later, fails by itself, and the pod shows that
	// from then on.
	l.Until("pull", "without its image", waitsFor("no such image ("+injected+")"))

	t.Run("delay", func(t *testing.T) {
		l := l.For(t)
		l.UntilReady("late")
		story := l.Story("late")
		begun, ended := findEvent(t, story, probes.Enter, "cri.CreateContainer"), findEvent(t, story, probes.Exit, "cri.CreateContainer")
		if took := ended.Time.Sub(begun.Time); took < 3*time.Second || ended.Error != "" {
			t.Errorf("a call that is delayed by 3s took %v and ended with %q", took, ended.Error)
		}
	})
	t.Run("start", func(t *testing.T) {
		l := l.For(t)
		untilFaults(l, "start", 1)
		l.UntilReady("start")
		failedOnce(t, l, "start", "cri.StartContainer", "it does not start")
	})
	t.Run("sandbox", func(t *testing.T) {
		l := l.For(t)
		l.UntilReady("sandbox")
		failedOnce(t, l, "sandbox", "cri.RunPodSandbox", "no sandbox")
	})
	t.Run("pull", func(t *testing.T) {
		l := l.For(t)
		// The other pod's pull fails too, but by itself.
		l.Until("never", "without its image", waitsFor(other))
		for _, e := range l.Story("never") {
			if e.Kind == probes.Fault || strings.Contains(e.Error, injected) {
				t.Errorf("another pod has the fault: %+v", e)
			}
		}
		untilFaults(l, "pull", 2)
		name, args := ctr(l, "k8s.io", "images", "tag", labtest.Image, image)
		does(t, l, image, name, args...)
		l.UntilReady("pull")
		name, args = ctr(l, "k8s.io", "images", "rm", image)
		does(t, l, "", name, args...)
	})

	c.Check(t) // no other pod has failed
	if left := strings.TrimSpace(l.Must("break", "ls", "-o", "json")); left != "[]" {
		t.Errorf("breakpoints that did not undo themselves: %s", left)
	}
	for _, name := range []string{"pull", "never", "start", "sandbox", "late"} {
		l.Delete(name)
	}
	for _, name := range []string{"pull", "never", "start", "sandbox", "late"} {
		l.UntilGone(name)
	}
	a.End(syscall.SIGINT)
	a.left()
}

// waitsFor makes a condition for a pod whose container waits with a message that contains the text.
func waitsFor(text string) func(*corev1.Pod) bool {
	return func(p *corev1.Pod) bool {
		for _, c := range p.Status.ContainerStatuses {
			if c.State.Waiting != nil && strings.Contains(c.State.Waiting.Message, text) {
				return true
			}
		}
		return false
	}
}

// findEvent returns the first event of that kind and step.
func findEvent(t *testing.T, story []probes.Event, kind probes.Kind, step string) probes.Event {
	t.Helper()
	for _, e := range story {
		if e.Kind == kind && e.Step == step {
			return e
		}
	}
	t.Fatalf("the story has no %s of %s", kind, step)
	return probes.Event{}
}

// failedOnce checks that the first call failed with the fault's text, and no other call failed.
func failedOnce(t *testing.T, l *labtest.Lab, pod, step, text string) {
	t.Helper()
	var ends []string
	for _, e := range l.Story(pod) {
		if e.Kind == probes.Exit && e.Step == step {
			ends = append(ends, e.Error)
		}
	}
	if len(ends) < 2 || !strings.Contains(ends[0], text+" ("+injected+")") || ends[1] != "" {
		t.Errorf("calls of %s ended with %q, want the first alone to say %q", step, ends, text)
	}
}
