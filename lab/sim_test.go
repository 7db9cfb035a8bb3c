//go:build sim

package lab_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	toolswatch "k8s.io/client-go/tools/watch"

	"github.com/podstep/podstep/agent/labtest"
	"github.com/podstep/podstep/probes"
)

// These tests run whole nodes without root: they need PODSTEP_BIN.

const examples = "../docs/examples"

// shared is a lab for all tests that leave it as they found it.
var shared = labtest.NewShared(labtest.LaunchSim)

func TestMain(m *testing.M) { os.Exit(shared.Main(m)) }

// waiting returns a function that reports whether a container waits for one of reasons.
func waiting(reasons ...string) func(*corev1.Pod) bool {
	return func(p *corev1.Pod) bool {
		return slices.ContainsFunc(p.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool {
			return s.State.Waiting != nil && slices.Contains(reasons, s.State.Waiting.Reason)
		})
	}
}

// kubectl runs podstep-lab's kubectl against l.
func kubectl(t *testing.T, l *labtest.Lab, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), labtest.Patience)
	defer cancel()
	cmd := l.Kubectl(ctx, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("kubectl %v: %v\n%s%s", args, err, out.String(), errs.String())
	}
	return out.String()
}

// TestSimExamples: each example behaves as on a real node, and kubectl works.
func TestSimExamples(t *testing.T) {
	l := shared.For(t)
	for _, example := range []string{"web", "deployment", "job", "crashloop", "no-image"} {
		kubectl(t, l, "apply", "-f", filepath.Join(examples, example+".yaml"))
	}
	web := l.UntilReady("web")
	if web.Status.HostIP != "127.0.0.1" || !strings.HasPrefix(web.Status.PodIP, "127.") {
		t.Errorf("web has addresses %q on %q", web.Status.PodIP, web.Status.HostIP)
	}
	l.Until("crashloop", "in CrashLoopBackOff", waiting("CrashLoopBackOff"))
	l.Until("no-image", "in ImagePullBackOff", waiting("ImagePullBackOff"))
	untilComplete(t, l, "job")
	kubectl(t, l, "rollout", "status", "deployment", "shop")

	if got := kubectl(t, l, "logs", "crashloop"); got != "no configuration\n" {
		t.Errorf("crashloop says %q", got)
	}
	if got := kubectl(t, l, "logs", "job/job"); got != "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n" {
		t.Errorf("job says %q", got)
	}
	for pod, wants := range map[string][]string{
		"web":       {"Scheduled", "Pulled", "Created", "Started", "default-scheduler", "kubelet"},
		"no-image":  {"ErrImagePull", "ImagePullBackOff", "not found"},
		"crashloop": {"BackOff", "Back-off restarting failed container app"},
	} {
		text := kubectl(t, l, "describe", "pod", pod)
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("describe pod %s lacks %q:\n%s", pod, want, text)
			}
		}
	}
	kubectl(t, l, "delete", "deployment/shop", "job/job", "configmap/web")
	for _, pod := range []string{"web", "crashloop", "no-image"} {
		kubectl(t, l, "delete", "pod", pod)
		l.UntilGone(pod)
	}
}

func untilComplete(t *testing.T, l *labtest.Lab, job string) {
	t.Helper()
	lw := cache.NewListWatchFromClient(l.Client.BatchV1().RESTClient(), "jobs", "default", fields.OneTermEqualSelector("metadata.name", job))
	_, err := toolswatch.UntilWithSync(l.Context(), lw, &batchv1.Job{}, nil, func(e watch.Event) (bool, error) {
		return e.Object.(*batchv1.Job).Status.Succeeded > 0, nil
	})
	if err != nil {
		t.Fatalf("job %s is not complete: %v", job, err)
	}
}

// TestSimStaticPod: the kubelet runs the pod of a file by itself and reports it to the API server.
func TestSimStaticPod(t *testing.T) {
	l := shared.For(t)
	manifest, err := os.ReadFile(filepath.Join(examples, "static.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(l.Dir, "manifests", "static.yaml")
	if err := os.WriteFile(file, manifest, 0o644); err != nil {
		t.Fatal(err)
	}
	name := "static-" + l.State.Node
	l.UntilReady(name)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	l.UntilGone(name)
}

// TestSimStory: the steps that need cgroups are reported too.
func TestSimStory(t *testing.T) {
	l := shared.For(t)
	l.Create(labtest.BusyboxPod("lines", labtest.Sleep))
	l.UntilReady("lines")
	l.Delete("lines")
	l.UntilGone("lines")
	// term.cgroup comes after the status with which the API server forgets the pod.
	l.UntilEvent("lines", "end of its worker", isStep("worker.loop", "exit"))
	seen := map[string]bool{}
	labtest.CallerLinesIn(l.Recorded()).Check(t, probes.KubernetesVersion)
	added := labtest.CallerLinesIn(l.Story("lines"))[[2]string{"loop.add", "worker.update"}]
	if !slices.Equal(added, []uint32{2892}) {
		t.Errorf("HandlePodAdditions called UpdatePod from lines %v", added)
	}
	for _, e := range l.Story("lines") {
		seen[e.Step] = true
	}
	for _, want := range []string{
		"source.api.send", "merge.merge", "loop.add", "admit.topology", "worker.update", "sync.pod", "sync.qos", "sync.cgroup",
		"sync.dirs", "sync.volumes", "vol.domount", "rt.sync", "rt.sandbox", "cri.RunPodSandbox", "cri.CreateContainer", "cri.StartContainer",
		"status.patch", "term.terminating", "cri.StopContainer", "term.terminated", "term.cgroup", "term.status",
	} {
		if !seen[want] {
			t.Errorf("the story lacks %s", want)
		}
	}
}

// TestSimEviction: a node that runs short of memory evicts a pod, by the kubelet's own eviction manager.
func TestSimEviction(t *testing.T) {
	t.Parallel() // its node mostly waits
	l := labtest.StartSim(t)
	// The pod must not end well: an evicted pod whose containers end with 0 has succeeded.
	l.Create(labtest.BusyboxPod("victim", "sleep 1000000"))
	l.UntilReady("victim")
	pressure(t, l, "memory.available=50Mi")
	evicted := l.Until("victim", "evicted", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodFailed })
	if evicted.Status.Reason != "Evicted" || !strings.Contains(evicted.Status.Message, "low on resource: memory") {
		t.Errorf("the pod failed for %s: %s", evicted.Status.Reason, evicted.Status.Message)
	}
	untilPressure(t, l, corev1.ConditionTrue)
	pressure(t, l)
	untilPressure(t, l, corev1.ConditionFalse)
	l.Create(labtest.BusyboxPod("next", labtest.Sleep))
	l.UntilReady("next")
}

func pressure(t *testing.T, l *labtest.Lab, signals ...string) {
	t.Helper()
	cmd := exec.Command(labtest.Bin(t, "podstep-lab"), append([]string{"pressure", "--dir", l.Dir}, signals...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("podstep-lab pressure %v: %v\n%s", signals, err, out)
	}
}

func untilPressure(t *testing.T, l *labtest.Lab, want corev1.ConditionStatus) {
	t.Helper()
	lw := cache.NewListWatchFromClient(l.Client.CoreV1().RESTClient(), "nodes", "", fields.OneTermEqualSelector("metadata.name", l.State.Node))
	_, err := toolswatch.UntilWithSync(l.Context(), lw, &corev1.Node{}, nil, func(e watch.Event) (bool, error) {
		n := e.Object.(*corev1.Node)
		is := slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type == corev1.NodeMemoryPressure && c.Status == want
		})
		// The scheduler goes by the taint.
		tainted := slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeMemoryPressure })
		return is && tainted == (want == corev1.ConditionTrue), nil
	})
	if err != nil {
		t.Fatalf("MemoryPressure is not %s: %v", want, err)
	}
}

// TestSimDrained: a pod is evicted through the API, and another by a taint.
func TestSimDrained(t *testing.T) {
	l := shared.For(t)
	l.Create(labtest.BusyboxPod("drained", labtest.Sleep))
	l.UntilReady("drained")
	kubectl(t, l, "drain", l.State.Node, "--force", "--ignore-daemonsets")
	l.UntilGone("drained")
	kubectl(t, l, "uncordon", l.State.Node)
	l.Create(labtest.BusyboxPod("tainted", labtest.Sleep))
	l.UntilReady("tainted")
	kubectl(t, l, "taint", "node", l.State.Node, "out=now:NoExecute")
	l.UntilGone("tainted")
	kubectl(t, l, "taint", "node", l.State.Node, "out-")
}

// TestSimRestartKubelet: pods outlive the kubelet, as they do on a real node.
func TestSimRestartKubelet(t *testing.T) {
	l := labtest.StartSim(t, "--restart-kubelet")
	l.Create(labtest.BusyboxPod("old", labtest.Sleep))
	before := l.UntilReady("old").Status.ContainerStatuses[0].ContainerID
	kill(t, l.State.Pids["kubelet"])
	l.Create(labtest.BusyboxPod("new", labtest.Sleep))
	l.UntilReady("new")
	p, err := l.Client.CoreV1().Pods("default").Get(l.Context(), "old", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if now := p.Status.ContainerStatuses[0]; now.ContainerID != before || now.RestartCount != 0 {
		t.Errorf("the container was %s, and is %s after %d restarts", before, now.ContainerID, now.RestartCount)
	}
}

// TestSimScenario: the scenario file states how containers behave. With a bad file the lab does not start.
func TestSimScenario(t *testing.T) {
	file := filepath.Join(shortDir(t), "scenario.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{filepath.Dir(filepath.Dir(file)), filepath.Dir(file)} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(dir, 0o755); err != nil { // so that the user nobody can read it
			t.Fatal(err)
		}
	}
	write("rules:\n- pod: doomed\n  set: {exit: 7}\n")
	l := labtest.StartSim(t, "--scenario", file)
	l.Create(labtest.BusyboxPod("doomed", labtest.Sleep))
	l.Create(labtest.BusyboxPod("fine", labtest.Sleep))
	l.UntilReady("fine")
	l.Until("doomed", "ended with 7", func(p *corev1.Pod) bool {
		return slices.ContainsFunc(p.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool {
			return s.LastTerminationState.Terminated != nil && s.LastTerminationState.Terminated.ExitCode == 7
		})
	})

	write("rules:\n- pods: doomed\n")
	other, err := labtest.LaunchSim("--scenario", file)
	if err == nil {
		other.Stop()
		t.Fatal("a lab starts with a scenario that makes no sense")
	}
	if text := err.Error(); !strings.Contains(text, "line 2") || !strings.Contains(text, "pods") {
		t.Errorf("the lab says %q", text)
	}
}
