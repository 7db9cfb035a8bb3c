//go:build node

package attach_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/labtest"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
)

// The functions at which walkthroughs of the kubelet set breakpoints, in the order in which a pod comes there. The
// names are those of docs/tours/seeds.yaml.
var (
	created = []string{
		"send", "merge", "updatePodsFunc", "recordFirstSeenTime", "HandlePodAdditions", "canAdmitPod", "UpdatePod",
		"podWorkerLoop", "startPodSync", "GetNewerThan", "Kubelet.SyncPod", "generateAPIPodStatus", "SetPodStatus",
		"secretManager.RegisterPod", "EnsureExists", "makePodDataDirs", "WaitForAttachAndMount", "getPullSecretsForPod", "probeManager.AddPod",
		"kubeGenericRuntimeManager.SyncPod", "computePodActions", "createPodSandbox", "remoteRuntimeService.RunPodSandbox",
		"start", "startContainer", "EnsureImageExists", "CreateContainer", "StartContainer", "completeWork",
	}
	deleted = []string{
		"send", "merge", "checkAndUpdatePod", "HandlePodUpdates", "UpdatePod",
		"SyncTerminatingPod", "killPod", "SyncTerminatedPod",
	}
)

// walked is a function that walkthroughs of the kubelet name; see docs/tours/seeds.yaml.
type walked struct{ Name, Step, Symbol string }

func walkedFunctions(t *testing.T) []walked {
	t.Helper()
	var all struct{ Functions []walked }
	text, err := os.ReadFile("../../docs/tours/seeds.yaml")
	if err == nil {
		err = yaml.Unmarshal(text, &all)
	}
	if err != nil {
		t.Fatal(err)
	}
	return all.Functions
}

// tables counts the runs of TestDelveTables.
var tables atomic.Int32

// TestDelveTables: a pod comes to the breakpoints of the walkthroughs, one after the other, from its creation until
// it is gone. Delve holds the pod where its own goroutine comes to one, and only shows the call where the goroutine
// serves all pods. Other pods come and go, and the node stays Ready.
func TestDelveTables(t *testing.T) {
	pod := fmt.Sprintf("tables-%d", os.Getpid()+int(tables.Add(1))) // the pod of an earlier run may still be known
	l := shared.For(t)
	h := labtest.WatchHealth(t, l)
	a := attachDelve(t, l, "--allow-holds")
	n := labtest.Times(t, "PODSTEP_TABLE_OTHERS", others)
	c := labtest.StartChurn(t, l, "beside-tables", n)
	c.Until(t, n)

	born, gone := armed(t, l, pod, created), armed(t, l, pod, deleted)
	l.Create(threePod(pod))
	heldAt(l, pod, born)
	l.UntilReady(pod)
	before := len(l.Story(pod))
	l.Delete(pod)
	heldAt(l, pod, gone)
	l.UntilGone(pod)

	story := l.Story(pod)
	inOrder(t, l, story[:before], created)
	inOrder(t, l, story[before:], deleted)
	c.Check(t)
	a.End(syscall.SIGINT)
	a.left()
	notTraced(t, l)
	h.End(t)
}

// steps returns the steps of named functions, as far as they are seen.
func steps(t *testing.T, l *labtest.Lab, names []string) (out []*agentpb.Step) {
	t.Helper()
	info, err := l.Agent().Info(l.Context(), &agentpb.InfoRequest{})
	if err != nil {
		t.Fatal(err)
	}
	all := walkedFunctions(t)
	for _, name := range names {
		i := slices.IndexFunc(all, func(f walked) bool { return f.Name == name })
		if i < 0 {
			t.Fatalf("docs/tours/seeds.yaml has no %s", name)
		}
		at := slices.IndexFunc(info.Steps, func(s *agentpb.Step) bool { return s.Name == all[i].Step })
		if at < 0 || !slices.ContainsFunc(info.Steps[at].Abilities, wire.Sees) {
			t.Logf("%s is not seen", name)
			continue
		}
		out = append(out, info.Steps[at])
	}
	return out
}

// armed sets breakpoints for a pod at those of the named functions where it can be held, and returns their steps.
func armed(t *testing.T, l *labtest.Lab, pod string, names []string) (out []string) {
	t.Helper()
	for _, s := range steps(t, l, names) {
		if r := probes.HoldRule(s.HoldEnter); r != probes.HoldYes && r != probes.HoldWorker {
			continue
		}
		l.Must("break", "add", "default/"+pod, "--step", s.Name, "--times", "1")
		out = append(out, s.Name)
	}
	t.Logf("breakpoints at %v", out)
	return out
}

// heldAt waits for a pod's holds at breakpoints, one after the other, and lets it go on from each.
func heldAt(l *labtest.Lab, pod string, steps []string) {
	for _, s := range steps {
		untilHeld(l, pod, s)
		l.Must("continue", pod)
	}
}

// inOrder checks that a pod came to the named functions in their order.
func inOrder(t *testing.T, l *labtest.Lab, story []probes.Event, names []string) {
	t.Helper()
	next := 0
	for _, s := range steps(t, l, names) {
		i := slices.IndexFunc(story[next:], func(e probes.Event) bool { return e.Kind == probes.Enter && e.Step == s.Name })
		if i < 0 {
			t.Errorf("the pod did not come to %s after event %d", s.Name, next)
			continue
		}
		next += i
	}
}

// seeds looks for each function that the walkthroughs name. It must be a step that Delve sees, or have a place for a
// breakpoint, unless the compiler has left no copy of it.
func seeds(t *testing.T, l *labtest.Lab) {
	t.Helper()
	c, seen := probes.MustLoad(), l.SeenBy("delve")
	steps, places := 0, 0
	for _, f := range walkedFunctions(t) {
		symbol := f.Symbol
		if s := c.Step(f.Step); s != nil {
			if s.Outside() || seen[f.Step] {
				steps++
				continue
			}
			symbol = s.Symbol
		}
		if symbol == "" {
			continue // this version of the kubelet has no such function
		}
		if _, out, code := l.Podstep("break", "add", "default/none", "--at", symbol, "--expires", "1s"); code == 0 {
			places++
		} else if !strings.Contains(out, "no function") && !strings.Contains(out, "no goroutine can be held") {
			t.Errorf("%s: %s", f.Name, out)
		} else {
			t.Logf("not to be reached: %s: %s", f.Name, out)
		}
	}
	t.Logf("%d functions that walkthroughs name are steps that Delve sees, at %d others a breakpoint can be", steps, places)
}
