//go:build node

package attach_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/labtest"
	"github.com/podstep/podstep/probes"
)

// seen creates a pod, waits until podstep sees it, and deletes it.
func seen(t *testing.T, l *labtest.Lab, pod string) {
	t.Helper()
	l.Create(labtest.TinyPod(pod))
	l.UntilReady(pod)
	l.UntilEvent(pod, "start of its container", ended("cri.StartContainer"))
	l.Delete(pod)
	l.UntilGone(pod)
}

// TestKubeletRestarts: the kubelet is killed while podstep is attached to it and holds a pod. podstep sees the next
// kubelet as well, through the runtime's path and inside, and holds there what it was asked to hold before.
func TestKubeletRestarts(t *testing.T) {
	l := shared.For(t)
	a := attach(t, l, "--allow-holds")
	const pod, later = "survivor", "later"
	l.Must("break", "add", "default/"+pod, "--step", "cri.CreateContainer", "--times", "1")
	l.Must("break", "add", "default/"+later, "--step", "sync.pod", "--times", "1")
	if err := l.Agent().WatchClosely(t.Context(), &agentpb.PodSelector{Name: later}); err != nil {
		t.Fatal(err)
	}
	l.Create(labtest.TinyPod(pod))
	untilHeld(l, pod, "cri.CreateContainer")
	before := l.KubeletPID()
	l.KillPart("kubelet", syscall.SIGKILL)
	// Nobody waits for the held call any more, so it was never passed on.
	if why := released(l, pod, "cri.CreateContainer").Fields["reason"]; why != agentpb.ReleaseCallGivenUp {
		t.Errorf("the hold ended because %v", why)
	}
	// The calls inside the kubelet that has ended are over, with that reason.
	l.UntilEvent(pod, "end of the worker's calls in the kubelet that has ended", func(e probes.Event) bool {
		return e.Kind == probes.Exit && e.Step == "sync.pod" && strings.Contains(e.Error, fmt.Sprintf("process %d, has ended", before))
	})
	l.UntilReady(pod)
	l.UntilEvent(pod, "start of its container", ended("cri.StartContainer"))
	made := 0
	for _, e := range l.Story(pod) {
		if e.Kind == probes.Exit && e.Step == "cri.CreateContainer" && e.Error == "" {
			made++
		}
	}
	if made != 1 {
		t.Errorf("%d containers were made, want 1", made)
	}
	untilLooks(t, l, a.Attached, "uprobe")
	l.Delete(pod)
	l.UntilGone(pod)
	l.Create(labtest.TinyPod(later))
	untilHeld(l, later, "sync.pod")
	l.Must("continue", "default/"+later)
	l.UntilReady(later)
	l.UntilEvent(later, "end of a step inside", ended("rt.sandbox"))
	if !closerIn(l, later)["rt.env"] {
		t.Error("the pod that is watched closely is not, in the new kubelet")
	}
	l.Delete(later)
	l.UntilGone(later)
	seen(t, l, "next")
	a.End(syscall.SIGINT)
	a.left()
	life(t, l, "after")
}

// TestRuntimeRestarts: the runtime is killed while podstep has its path, and while it has not.
func TestRuntimeRestarts(t *testing.T) {
	l := shared.For(t)
	a := attach(t, l)
	seen(t, l, "before")
	for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM} {
		l.KillPart("containerd", signal)
		runtime := l.RuntimePID()
		labtest.Eventually(t, "attached to the new runtime", func() bool {
			s, err := l.Socket()
			return err == nil && labtest.Parent(s.Server) == a.PID
		})
		name := strings.ToLower(signal.String()[:4])
		life(t, l, "unseen-"+name) // meanwhile the kubelet comes over
		seen(t, l, "meanwhile-"+name)
		if got := l.RuntimePID(); got != runtime {
			t.Errorf("the runtime is process %d, it was %d", got, runtime)
		}
	}
	a.End(syscall.SIGINT)
	now := socketOf(t, l)
	if now.Server != l.RuntimePID() || now.Mode != a.before.Mode || now.UID != a.before.UID || now.GID != a.before.GID {
		t.Errorf("the socket was %+v and is %+v; the runtime is process %d", a.before, now, l.RuntimePID())
	}
	if left := l.AttachTraces(); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
	life(t, l, "after")
}

// TestDeletedWhileHeld: a pod that is deleted while it is held goes after its release: a kubelet does not take back
// what it has begun.
func TestDeletedWhileHeld(t *testing.T) {
	l := shared.For(t)
	a := attach(t, l)
	const pod = "unwanted"
	l.Must("break", "add", "default/"+pod, "--step", "cri.RunPodSandbox", "--times", "1")
	l.Create(labtest.TinyPod(pod))
	untilHeld(l, pod, "cri.RunPodSandbox")
	l.Delete(pod)
	l.UntilEvent(pod, "news that it is deleted", func(e probes.Event) bool { return e.Step == "cluster.deleting" })
	if h := podHeld(t, l, pod); h.Step != "cri.RunPodSandbox" {
		t.Errorf("it is held at %s", h.Step)
	}
	l.Must("continue", "default/"+pod)
	l.UntilGone(pod)
	l.UntilEvent(pod, "end of its sandbox", ended("cri.StopPodSandbox"))
	a.End(syscall.SIGINT)
	a.left()
}

// TestDetachWhileHeld: detaching lets held pods go on.
func TestDetachWhileHeld(t *testing.T) {
	l := shared.For(t)
	a := attach(t, l)
	const pod = "waiting"
	l.Must("break", "add", "default/"+pod, "--step", "cri.StartContainer")
	l.Create(labtest.TinyPod(pod))
	untilHeld(l, pod, "cri.StartContainer")
	a.End(syscall.SIGTERM)
	a.left()
	p := l.UntilReady(pod)
	if n := p.Status.ContainerStatuses[0].RestartCount; n != 0 {
		t.Errorf("it was started %d times more", n)
	}
	l.Delete(pod)
	l.UntilGone(pod)
}

// TestBudget: a hold ends before the caller's deadline: the pod goes on by itself.
func TestBudget(t *testing.T) {
	if testing.Short() || os.Getenv("PODSTEP_CYCLES") == "" {
		t.Skip("takes two minutes: run it with PODSTEP_CYCLES=200")
	}
	l := shared.For(t)
	a := attach(t, l)
	const pod = "patient"
	l.Must("break", "add", "default/"+pod, "--step", "cri.CreateContainer", "--times", "1", "--lease", "20m")
	l.Create(labtest.TinyPod(pod))
	untilHeld(l, pod, "cri.CreateContainer")
	// The hold ends just before the test's own deadline, which is two minutes too.
	if why := released(l, pod, "cri.CreateContainer").Fields; why["reason"] != agentpb.ReleaseTimer || why["timer"] != "caller" {
		t.Errorf("the hold ended because of %v", why)
	}
	l.UntilReady(pod)
	for _, e := range l.Story(pod) {
		if e.Kind == probes.Exit && e.Step == "cri.CreateContainer" && e.Error != "" {
			t.Errorf("the call failed: %s", e.Error)
		}
	}
	l.Delete(pod)
	l.UntilGone(pod)
	a.End(syscall.SIGINT)
	a.left()
}

// TestWithoutAPIServer: without an API server that answers, podstep sees the calls and holds pods.
func TestWithoutAPIServer(t *testing.T) {
	l := shared.For(t)
	text, err := os.ReadFile(l.State.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	for name, kubeconfig := range map[string]string{
		"nowhere": strings.ReplaceAll(string(text), "https://127.0.0.1:", "https://127.0.0.2:"),
		"broken":  "this is no kubeconfig",
	} {
		t.Run(name, func(t *testing.T) {
			l := l.For(t)
			if kubeconfig == string(text) {
				t.Fatalf("the kubeconfig names another address: %s", text)
			}
			file := filepath.Join(t.TempDir(), "kubeconfig")
			if err := os.WriteFile(file, []byte(kubeconfig), 0o600); err != nil {
				t.Fatal(err)
			}
			a := attach(t, l, "--kubeconfig", file)
			pod := "alone-" + name
			l.Must("break", "add", "default/"+pod, "--step", "cri.RunPodSandbox", "--times", "1")
			l.Create(labtest.TinyPod(pod))
			untilHeld(l, pod, "cri.RunPodSandbox")
			h := step(t, l, "step", "default/"+pod, "--cri")
			if h.Step != "cri.CreateContainer" || h.Pod.Name != pod {
				t.Errorf("the next hold is %+v", h)
			}
			l.Must("continue", "default/"+pod)
			l.UntilReady(pod)
			l.UntilEvent(pod, "start of its container", ended("cri.StartContainer"))
			l.Delete(pod)
			l.UntilGone(pod)
			a.End(syscall.SIGINT)
			a.left()
			t.Logf("podstep attach said:\n%s", a.Printed())
		})
	}
}

// TestTurnedAway: a second podstep cannot take the runtime's socket, and none can attach to a process that is no
// kubelet. Neither attempt changes anything.
func TestTurnedAway(t *testing.T) {
	l := shared.For(t)
	a := attach(t, l)
	other := l.WithAgent(filepath.Join(l.Dir, "other.sock"))
	for want, pid := range map[string]int{
		fmt.Sprintf("is taken over already, by process %d", a.PID): l.KubeletPID(),
		"is no kubelet": l.RuntimePID(),
	} {
		second := other.StartAttachTo(pid, "--probe", "cri")
		if code := second.Wait(); code != 1 || !strings.Contains(second.Printed(), want) {
			t.Errorf("it ended with code %d and %q, want %q", code, second.Printed(), want)
		}
	}
	if now := socketOf(t, l); labtest.Parent(now.Server) != a.PID {
		t.Errorf("the socket is %+v", now)
	}
	seen(t, l, "all-the-same")
	a.End(syscall.SIGINT)
	a.left()
	if _, err := os.Lstat(other.State.Agent); err == nil {
		t.Error("its agent's socket is left behind")
	}
}
