//go:build node

package attach_test

import (
	"fmt"
	"testing"

	"github.com/podstep/podstep/agent/labtest"
	"github.com/podstep/podstep/probes"
)

// stops are six places of a pod's life at which TestBuildVersions holds it, and where the pod is held next: in a call inside,
// or in another one.
var stops = []struct {
	step, on string
	into     func(from, to probes.Event, p labtest.Parents) bool
}{
	{"sync.pod", "enter", labtest.Inside},
	{"sync.volumes", "exit", labtest.Disjoint},
	{"rt.sync", "enter", labtest.Inside},
	{"rt.sandbox", "enter", labtest.Inside},
	{"cri.CreateContainer", "enter", labtest.Disjoint}, // nothing is inside a call of the runtime
	{"rt.startcontainer", "enter", labtest.Inside},
}

// TestBuildVersions: kubelets that are built in other ways than released ones. A creation is seen as in docs/inside.md, a pod
// is held at six places and steps into, over and out, and each of podstep's processes is killed while pods are held. Others
// come and go meanwhile. TestHoldInside and TestFaultTable do so with the released one.
func TestBuildVersions(t *testing.T) {
	for _, v := range labtest.Builds() {
		t.Run(v.Name(), func(t *testing.T) {
			l := labtest.Start(t, v.Flags(t)...)
			seen := attachInside(t, l)
			seen.lines.Check(t, v.Kubelet)
			if !v.Debug() { // which functions the compiler has inlined differs there
				compareSeen(t, v.Kubelet, map[string]map[row]bool{"both": seen.rows}, seen.missing)
			}
			h := labtest.WatchHealth(t, l)
			b := &breaker{t: t, l: l, kubelet: l.KubeletPID(), probe: "uprobe"}
			b.attach()
			stopsAtSix(t, l)
			for i, who := range []string{"hold", "relay", "guard", "podstep", "podstep hold"} {
				b.try(i, fault{"uprobe", who, "kill", "pods held"})
			}
			b.detach()
			h.End(t)
			l.Tried(v.Way("uprobe"))
		})
	}
}

// stopsAtSix holds a pod of its own at each of the stops, and steps from there, while others come and go.
func stopsAtSix(t *testing.T, l *labtest.Lab) {
	t.Helper()
	n := labtest.Times(t, "PODSTEP_BUILD_OTHERS", others)
	c := labtest.StartChurn(t, l, "beside", n)
	c.Until(t, n)
	for i, at := range stops {
		pod := fmt.Sprintf("stop-%d", i)
		l.Must("break", "add", "default/"+pod, "--step", at.step, "--on", at.on, "--times", "1")
		l.Create(threePod(pod))
		from := untilHeld(l, pod, at.step)
		from = stepped(t, l, pod, from, at.into)
		from = stepped(t, l, pod, from, labtest.Around, "--out")
		stepped(t, l, pod, from, labtest.Disjoint, "--over")
		l.Must("continue", pod)
		l.UntilReady(pod)
		l.Delete(pod)
		l.UntilGone(pod)
	}
	c.Check(t)
}

// stepped lets a held pod step on, checks where it is held then, and returns that hold.
func stepped(t *testing.T, l *labtest.Lab, pod string, from probes.Event, is func(from, to probes.Event, p labtest.Parents) bool, flags ...string) probes.Event {
	t.Helper()
	h := step(t, l, append([]string{"step", "default/" + pod}, flags...)...)
	story := l.UntilEvent(pod, "hold after "+from.Step, func(e probes.Event) bool { return e.Kind == probes.Held && e.Seq > from.Seq })
	to := story[len(story)-1]
	t.Logf("%s: step %v from %v of %s to %s of %s", pod, flags, from.Fields["on"], from.Step, h.On, h.Step)
	if to.Step != h.Step || to.Fields["on"] != h.On {
		t.Errorf("podstep step prints %s of %s, the story has %v of %s", h.On, h.Step, to.Fields["on"], to.Step)
	}
	if !is(from, to, labtest.ParentsIn(story)) {
		t.Errorf("step %v from %v to %v is another way", flags, from, to)
	}
	return to
}
