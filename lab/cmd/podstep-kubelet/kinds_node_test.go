//go:build node

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podstep/podstep/agent/labtest"
	"github.com/podstep/podstep/probes"
)

// TestStaticPod: the static pod of a file and its mirror in the API are one story.
func TestStaticPod(t *testing.T) {
	l := shared.For(t)
	name := "static-" + l.State.Node
	live := trace(t, l, name, "--no-history", "--until", "deleted")
	manifest, err := os.ReadFile(examples + "static.yaml")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(l.Dir, "manifests", "static.yaml")
	if err := os.WriteFile(file, manifest, 0o644); err != nil {
		t.Fatal(err)
	}
	mirror := l.UntilReady(name)
	l.Must("trace", name, "--until", "ready", "--for", "1m")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	events := live.end()
	l.UntilGone(name)
	uid := mirror.Annotations["kubernetes.io/config.mirror"]
	if uid == "" || uid == string(mirror.UID) {
		t.Fatalf("pod %s is no mirror", name)
	}
	if strangers := len(events) - len(eventsOf(uid, events)); strangers > 0 {
		t.Errorf("%d events are of another pod than the static one", strangers)
	}
	inOrder(t, events, []expected{
		enter("source.file.extract", nil),
		enter("source.file.send", nil),
		enter("merge.merge", values{"source": "file"}),
		exit("merge.merge", values{"op": "ADD"}),
		enter("loop.add", nil),
		enter("sync.pod", values{"updateType": "create"}),
		enter("sync.mirror", values{"hasMirrorPod": false}),
		enter("sync.mirror.create", nil),
		exit("sync.mirror.create", nil),
		enter("rt.start", values{"container": "app"}),
		enter("status.patch", values{"phase": "Running"}),
		enter("merge.merge", values{"source": "file"}),
		exit("merge.merge", values{"op": "REMOVE"}),
		enter("loop.remove", nil),
		enter("worker.update", values{"updateType": "kill"}),
		enter("term.terminating", nil),
		enter("cri.StopContainer", nil),
		enter("term.terminated", nil),
		exit("worker.loop", nil),
	})
	inOrder(t, events, []expected{ // the mirror's events, in between
		enter("sync.mirror.create", nil),
		enter("merge.merge", values{"source": "api"}),
		exit("merge.merge", values{"op": "ADD"}),
		enter("pm.add", values{"mirror": true}),
	})
}

// TestEphemeralContainer: an ephemeral container is added to a pod that runs.
func TestEphemeralContainer(t *testing.T) {
	l := shared.For(t)
	l.Create(labtest.BusyboxPod("debugged", labtest.Sleep))
	p := l.UntilReady("debugged")
	p.Spec.EphemeralContainers = []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{
		Name: "debugger", Image: labtest.Image, ImagePullPolicy: corev1.PullIfNotPresent, Command: []string{"true"},
	}}}
	if _, err := l.Client.CoreV1().Pods("default").UpdateEphemeralContainers(l.Context(), p.Name, p, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	start := exit("rt.start", nil)
	span := uint64(0)
	events := untilEvent(l, p, "start of the ephemeral container", func(e probes.Event) bool {
		if enter("rt.start", values{"container": "debugger"}).is(e) {
			span = e.Span
		}
		return start.is(e) && e.Span == span
	})
	inOrder(t, events, []expected{
		enter("rt.start", values{"typeName": "container", "container": "app"}),
		exit("merge.merge", values{"op": "UPDATE"}),
		enter("worker.update", values{"updateType": "update"}),
		enter("rt.start", values{"typeName": "ephemeral container", "container": "debugger"}),
		enter("cri.CreateContainer", values{"container": "debugger"}),
		enter("cri.StartContainer", nil),
		start,
	})
	l.Delete("debugged")
	l.UntilGone("debugged")
}

// TestCompletedPod: a pod that ends by itself is terminated although nobody deletes it.
func TestCompletedPod(t *testing.T) {
	l := shared.For(t)
	live := trace(t, l, "job-*", "--no-history", "--until", "step=worker.cterminated")
	l.Apply(examples + "job.yaml")
	events := live.end()
	pod := events[0].Pod
	inOrder(t, eventsOf(pod.UID, events), []expected{
		exit("merge.merge", values{"op": "ADD"}),
		enter("rt.start", nil),
		exit("sync.genstatus", values{"phase": "Succeeded"}),
		exit("sync.pod", values{"isTerminal": true}),
		enter("worker.csync", nil),
		enter("term.terminating", nil),
		enter("term.terminated", nil),
		enter("worker.cterminated", nil),
	})
	for _, e := range events {
		if op := e.Fields["op"]; op == "DELETE" || op == "REMOVE" {
			t.Errorf("nobody deleted the pod, but merge.merge at %d says %v", e.Seq, op)
		}
	}
	l.UntilEvent(pod.Name, "end of its worker", exit("worker.loop", nil).is)
	untilPod(t, l, pod.Name, "done, and Succeeded", func(p podLine) bool { return p.State == "done" && p.Phase == "Succeeded" })
	background := metav1.DeletePropagationBackground
	if err := l.Client.BatchV1().Jobs("default").Delete(l.Context(), "job", metav1.DeleteOptions{PropagationPolicy: &background}); err != nil {
		t.Error(err)
	}
	l.Must("trace", pod.Name, "-o", "json", "--until", "deleted", "--for", "1m")
}

// untilPod asks podstep pods until a pod is as it should be.
func untilPod(t *testing.T, l *labtest.Lab, name, what string, is func(podLine) bool) {
	t.Helper()
	var pods []podLine
	for end := time.Now().Add(labtest.Patience); time.Now().Before(end); {
		if pods = podLines(t, l, name); slices.ContainsFunc(pods, is) {
			return
		}
	}
	t.Errorf("pod %s is not %s: %+v", name, what, pods)
}

// TestCrashLoop: a container that fails has to wait for its restart, and the story says so.
func TestCrashLoop(t *testing.T) {
	l := shared.For(t)
	l.Apply(examples + "crashloop.yaml")
	pod := l.Until("crashloop", "there", func(*corev1.Pod) bool { return true })
	back := exit("rt.backoff", values{"isInBackOff": true})
	backedOff := false
	events := untilEvent(l, pod, "turn that ends in back-off", func(e probes.Event) bool {
		backedOff = backedOff || back.is(e)
		return backedOff && e.Step == "worker.turn" && e.Kind == probes.Exit
	})
	found := inOrder(t, events, []expected{
		enter("rt.start", nil),
		enter("cri.StartContainer", nil),
		enter("rt.start", nil),
		enter("cri.StartContainer", nil),
		enter("rt.start", nil),
		back,
		exit("rt.start", nil),
		exit("sync.pod", nil),
		exit("worker.turn", nil),
	})
	for _, e := range found[6:] {
		if !strings.Contains(e.Error, "CrashLoopBackOff") {
			t.Errorf("%s of %s at %d has the error %q, want CrashLoopBackOff", e.Kind, e.Step, e.Seq, e.Error)
		}
	}
	if last := found[len(found)-1]; last.Sync < 3 {
		t.Errorf("two starts and a back-off took %d syncs", last.Sync)
	}
	untilPod(t, l, "crashloop", "in trouble", func(p podLine) bool { return p.State == "retry" || p.State == "stuck" })
	l.Delete("crashloop")
	l.UntilGone("crashloop")
}

// TestNoImage: an image that does not exist is pulled with credentials of a Secret. The pull fails, and the
// credentials stay secret.
func TestNoImage(t *testing.T) {
	l := shared.For(t)
	auth, err := json.Marshal(map[string]any{"auths": map[string]any{"registry.invalid": map[string]string{"username": pullUser, "password": pullPassword}}})
	if err != nil {
		t.Fatal(err)
	}
	secret(t, l, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "registry"}, Type: corev1.SecretTypeDockerConfigJson,
		Data: map[string][]byte{corev1.DockerConfigJsonKey: auth},
	})
	p := labtest.BusyboxPod("imageless", "")
	p.Spec.Containers[0].Image = "registry.invalid/none:1"
	p.Spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "registry"}}
	events := untilEvent(l, l.Create(p), "ImagePullBackOff", func(e probes.Event) bool {
		return e.Step == "rt.start" && strings.Contains(e.Error, "ImagePullBackOff")
	})
	found := inOrder(t, events, []expected{
		exit("sync.pullsecrets", values{"found": 1}),
		enter("image.ensure", nil),
		enter("image.dopull", values{"credentials": 1}),
		enter("cri.PullImage", values{"image": "registry.invalid/none:1"}),
		exit("cri.PullImage", nil),
		exit("image.ensure", nil),
		exit("rt.start", nil),
		enter("image.ensure", nil),
		exit("image.ensure", nil),
		exit("rt.start", nil),
	})
	for i, want := range map[int]string{4: "registry.invalid", 5: "ErrImagePull", 6: "ErrImagePull", 8: "ImagePullBackOff", 9: "ImagePullBackOff"} {
		if e := found[i]; !strings.Contains(e.Error, want) {
			t.Errorf("%s of %s at %d has the error %q, want %s", e.Kind, e.Step, e.Seq, e.Error, want)
		}
	}
	wantSilence(t, "the story", text(t, events))
	wantSilence(t, "the recorder", text(t, l.Recorded()))
	l.Delete("imageless")
	l.UntilGone("imageless")
}
