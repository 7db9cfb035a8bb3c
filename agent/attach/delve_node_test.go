//go:build node

package attach_test

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/labtest"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/inside/park"
)

// attachDelve attaches with the delve probe in place of the uprobe probe.
func attachDelve(t *testing.T, l *labtest.Lab, flags ...string) *attached {
	t.Helper()
	return attach(t, l, append([]string{"--probe", "cri,delve,api", "--risk-the-kubelet"}, flags...)...)
}

// TestDelve: Delve shows the steps of pods' lives in a kubelet without debug information, as docs/inside.md lists
// them, and leaves nothing of itself in the kubelet.
func TestDelve(t *testing.T) {
	seen, lines := delveLives(t, shared.For(t))
	lines.Check(t, probes.KubernetesVersion)
	compareSeen(t, "v1.36", map[string]map[row]bool{"delve": seen}, nil)
	shared.For(t).Tried("delve")
}

// TestDelveVersions: the same with kubelets of other versions, and of other builds; and a pod is held in SyncPod of each, and
// goes on.
func TestDelveVersions(t *testing.T) {
	for _, v := range append(labtest.Versions(), labtest.Builds()...) {
		if v.Containerd != "" || v.Form == "" && v.Kubelet == "v1.36" {
			continue
		}
		t.Run(v.Name(), func(t *testing.T) {
			l := labtest.Start(t, v.Flags(t)...)
			seen, lines := delveLives(t, l)
			if v.Form != "" {
				lines.Check(t, v.Kubelet)
			} else {
				compareSeen(t, v.Kubelet, map[string]map[row]bool{"delve": seen}, nil)
			}
			delveHolds(t, l, v.Debug())
			l.Tried(v.Way("delve"))
		})
	}
}

// inlinedTurns matches the versions of kubelets in which the compiler has put a worker's turns into its loop.
var inlinedTurns = regexp.MustCompile(`^v1\.2[56]\.`)

// delveLives makes some pods come and go, and returns what Delve sees of them. It checks that Delve leaves nothing in
// the kubelet.
func delveLives(t *testing.T, l *labtest.Lab) (map[row]bool, labtest.CallerLines) {
	t.Helper()
	kubelet := l.KubeletPID()
	a := attachDelve(t, l)
	all, lines := lives(t, l)
	can := l.SeenBy("delve")
	var seen []string
	for r := range all {
		seen = append(seen, r.step)
	}
	for _, e := range l.Story("web-0") {
		if e.Kind == probes.Exit && strings.Contains(e.Error, "did not return") {
			t.Errorf("the end of %s was not seen", e.Step)
		}
	}
	t.Logf("%d rows", len(all))
	for _, want := range []string{
		"merge.merge", "loop.add", "admit.can", "worker.update", "worker.loop", "worker.start", "sync.pod", "sync.genstatus", "sync.volumes",
		"rt.sync", "rt.compute", "rt.sandbox", "rt.start", "image.ensure", "status.patch",
	} {
		if can[want] && !slices.Contains(seen, want) {
			t.Errorf("%s was not seen", want)
		}
	}
	for _, want := range []string{"worker.turn", "cri.RunPodSandbox", "cri.CreateContainer", "cri.StartContainer", "cri.StopPodSandbox"} {
		if want == "worker.turn" && inlinedTurns.MatchString(l.KubeletVersion()) {
			continue
		}
		if !slices.Contains(seen, want) {
			t.Errorf("%s was not seen", want)
		}
	}
	for _, s := range probes.MustLoad().Steps { // the kubelet would stand still for each of its pods
		if s.EachPod && (can[s.Name] || slices.Contains(seen, s.Name)) {
			t.Errorf("Delve stops the kubelet at %s", s.Name)
		}
	}
	a.End(syscall.SIGINT)
	a.left()
	notTraced(t, l)
	if now := l.KubeletPID(); now != kubelet {
		t.Errorf("the kubelet was process %d and is %d", kubelet, now)
	}
	return all, lines
}

// delveHolds makes Delve hold a pod where its sync begins, and lets it go. In a kubelet with debug information Delve
// must show variables there.
func delveHolds(t *testing.T, l *labtest.Lab, variables bool) {
	t.Helper()
	h := labtest.WatchHealth(t, l)
	a := attachDelve(t, l, "--allow-holds")
	delveLogs(t, l, variables)
	l.Must("break", "add", "default/held", "--step", "sync.pod", "--times", "1")
	l.Create(labtest.TinyPod("held"))
	if e := untilHeld(l, "held", "sync.pod"); e.Probe != "delve" {
		t.Errorf("it is held by probe %q", e.Probe)
	}
	if out := l.Must("stack", "held"); !strings.Contains(out, syncPodOf(l)+"\n") {
		t.Errorf("its stack is\n%s", out)
	}
	if variables {
		if out := l.Must("print", "held", "pod.ObjectMeta.Name"); !strings.Contains(out, `"held"`) {
			t.Errorf("the pod's name is %s", out)
		}
	}
	if out := step(t, l, "step", "held", "--line", "over"); out.Place == nil || filepath.Base(out.Place.File) != "kubelet.go" {
		t.Errorf("by line it goes to %+v", out)
	}
	l.LetGo("held")
	a.End(syscall.SIGINT)
	a.left()
	notTraced(t, l)
	h.End(t)
}

// delveLogs logs values as a pod's goroutine comes to a function, if the kubelet has debug information; otherwise the note has
// the reason. Nobody is held.
func delveLogs(t *testing.T, l *labtest.Lab, variables bool) {
	t.Helper()
	const name = "lined"
	act, want := []string{"--action", "log"}, map[string]string{"variables": "no debug information"}
	if variables {
		act = []string{"--action", "log=updateType,len(pod.Spec.Containers),nosuch", "--if", "updateType == 2"}
		want = map[string]string{"updateType": "SyncPodCreate", "len(pod.Spec.Containers)": "1", "nosuch": "could not find"}
	}
	l.Must(append([]string{"break", "add", "default/" + name, "--at", syncPodOf(l), "--times", "1"}, act...)...)
	l.Create(labtest.TinyPod(name))
	l.UntilReady(name)
	l.UntilEvent(name, "note of a log", func(e probes.Event) bool {
		if e.Kind == probes.Held {
			t.Errorf("it is held: %+v", e)
		}
		if e.Kind != probes.Note || e.Fields["note"] != agentpb.NoteLog {
			return false
		}
		for value, text := range want {
			if got := fmt.Sprint(e.Fields[value]); !strings.Contains(got, text) {
				t.Errorf("%s is %q, want %q", value, got, text)
			}
		}
		return true
	})
	l.Delete(name)
	l.UntilGone(name)
}

// syncPodOf returns the name of SyncPod in a lab's kubelet, without the path of its package. In v1.25 and v1.26 it is syncPod.
func syncPodOf(l *labtest.Lab) string {
	return path.Base(probes.MustLoad().In(l.KubeletVersion()).Step("sync.pod").Symbol)
}

func notTraced(t *testing.T, l *labtest.Lab) {
	t.Helper()
	labtest.Eventually(t, "nobody traces the kubelet", func() bool { return len(tracers(t, l)) == 0 })
}

// TestDelveHold: a pod is held by Delve, one step after the other, while others come and go;
// where it is held its stack can be seen.
func TestDelveHold(t *testing.T) {
	l := shared.For(t)
	h := labtest.WatchHealth(t, l)
	a := attachDelve(t, l, "--allow-holds")
	delveLogs(t, l, false)
	l.Must("break", "add", "default/stopped", "--step", "sync.pod", "--times", "1")
	l.Create(threePod("stopped"))
	untilHeld(l, "stopped", "sync.pod")
	if out := l.Must("stack", "stopped"); !strings.Contains(out, "kubelet.(*Kubelet).SyncPod\n") || !strings.Contains(out, "(*podWorkers).podWorkerLoop\n") {
		t.Errorf("its stack is\n%s", out)
	}
	signalled(t, l, "stopped")
	c := labtest.StartChurn(t, l, "beneath-delve", others)
	c.Until(t, others)
	stepTo(t, l, "stopped", "sync.volumes", 30)
	noneMissed(t, l.Story("stopped"))
	byLine(t, l, "stopped")
	seeds(t, l)
	heldStill(t, l, "stopped")
	l.LetGo("stopped")
	a.End(syscall.SIGINT)
	a.left()
	notTraced(t, l)
	c.Check(t)
	h.End(t)
}

// signalled sends signals that Go programs handle, such as the one for preemption, to threads whose goroutines are
// parked. The pod stays held, even if somebody looks at its stack meanwhile.
func signalled(t *testing.T, l *labtest.Lab, pod string) {
	t.Helper()
	kubelet := l.KubeletPID()
	for range 20 {
		var all []park.Wait
		labtest.Eventually(t, "a goroutine is parked", func() bool {
			all, _ = park.Waits(kubelet)
			return len(all) > 0
		})
		for _, w := range all {
			for _, s := range []unix.Signal{unix.SIGURG, unix.SIGCHLD, unix.SIGIO} {
				if err := unix.Tgkill(kubelet, w.TID, s); err != nil {
					t.Fatal(err)
				}
			}
		}
		if out := l.Must("stack", pod); !strings.Contains(out, "kubelet.(*Kubelet).SyncPod\n") {
			t.Fatalf("its stack is\n%s", out)
		}
	}
	heldStill(t, l, pod)
}

// heldStill fails if the last hold of a pod has ended, and shows how.
func heldStill(t *testing.T, l *labtest.Lab, pod string) {
	t.Helper()
	story := l.Story(pod)
	for i, e := range slices.Backward(story) {
		switch e.Kind {
		case probes.Held:
			return
		case probes.Released:
			t.Fatalf("it was let go: %+v; before that %+v", e, story[max(0, i-1)])
		}
	}
}

// byLine lets a held pod go on to a breakpoint at a function that is no step, from there by line, and then by step
// again.
func byLine(t *testing.T, l *labtest.Lab, name string) {
	t.Helper()
	for at, want := range map[string]string{"no.such": "no function", "kubelet.go:1": "nearest lines", "SyncPod": "2 functions"} {
		if _, out, _ := l.Podstep("break", "add", "default/"+name, "--at", at); !strings.Contains(out, want) {
			t.Errorf("a breakpoint at %s: %s", at, out)
		}
	}
	l.Must("break", "add", "default/"+name, "--at", "kuberuntime.(*kubeGenericRuntimeManager).computePodActions", "--times", "1")
	l.Must("continue", name)
	untilHeld(l, name, "rt.compute")
	at := func(way string) (place string) {
		out := step(t, l, "step", name, "--line", way)
		if out.On != "inside" || out.Place == nil {
			t.Fatalf("it goes %s to %+v", way, out)
		}
		place = fmt.Sprintf("%s:%d", filepath.Base(out.Place.File), out.Place.Line)
		t.Logf("it goes %s to %s", way, place)
		return place
	}
	var places []string
	for _, way := range []string{"over", "over", "into", "out"} {
		places = append(places, at(way))
	}
	if !strings.HasPrefix(places[0], "kuberuntime_manager.go:") || places[0] == places[1] {
		t.Errorf("by line it comes to %v", places)
	}
	if out := l.Must("stack", name, "--goroutines"); !strings.Contains(out, "rt.sync") || !strings.Contains(out, "held") {
		t.Errorf("its goroutines are\n%s", out)
	}
	if out := step(t, l, "step", name); out.On != "enter" {
		t.Errorf("by step it goes on to %+v", out)
	}
}

// TestDelveAsked: requests for which the kubelet stands still come at any time. Still no call is seen twice, and each
// call that begins ends, also in a pod whose worker is older than podstep.
func TestDelveAsked(t *testing.T) {
	l := shared.For(t)
	l.Create(threePod("older"))
	l.UntilReady("older")
	a := attachDelve(t, l, "--allow-holds")
	ctx, stop := context.WithCancel(t.Context())
	asked := make(chan int)
	go func() {
		n := 0
		for ; ctx.Err() == nil; n++ { // each request wants another goroutine somewhere
			_, _, _ = l.Podstep("break", "add", fmt.Sprintf("default/none-%d", n), "--step", "sync.volumes", "--expires", "2s")
		}
		asked <- n
	}()
	for i := range 7 {
		name := "older"
		if i > 0 {
			name = fmt.Sprintf("asked-%d", i)
			l.Create(threePod(name))
			l.UntilReady(name)
		}
		l.Delete(name)
		l.UntilGone(name)
		for _, e := range l.Story(name) {
			if e.Kind == probes.Exit && strings.Contains(e.Error, "did not return") {
				t.Errorf("%s: the end of %s was not seen", name, e.Step)
			}
		}
		if turns := rows(l.Story(name)); !turns[row{"term.terminating", "worker.turn"}] {
			t.Errorf("%s: it was not seen to be terminated in a turn of its worker: %v", name, turns)
		}
	}
	stop()
	t.Logf("%d requests meanwhile", <-asked)
	a.End(syscall.SIGINT)
	a.left()
	notTraced(t, l)
}
