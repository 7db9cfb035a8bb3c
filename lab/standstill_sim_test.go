//go:build sim

package lab_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/labtest"
	"github.com/podstep/podstep/probes"
)

// TestStandstill: in a lab a person can follow a new pod from the API server's list through merge, sync loop and
// admission to its worker. The node stands still meanwhile, and stays Ready.
func TestStandstill(t *testing.T) {
	l := labtest.StartSim(t)
	c := l.Agent()
	if !c.About().GetLab() {
		t.Error("the agent does not know that its node is a lab")
	}
	l.Must("break", "add", "web", "--step", "source.api.send", "--times", "1")
	l.Create(labtest.BusyboxPod("web", labtest.Sleep))
	l.UntilEvent("web", "held", func(e probes.Event) bool { return e.Kind == probes.Held })
	l.Create(labtest.BusyboxPod("other", labtest.Sleep))

	walked := []string{"source.api.send"}
	node := true
	for node {
		h, err := c.Step(l.Context(), &agentpb.StepRequest{Pods: &agentpb.PodSelector{Name: "web"}})
		if err != nil {
			t.Fatal(err)
		}
		walked, node = append(walked, h.Step), h.Node
	}
	want := []string{"source.api.send", "merge.firstseen", "loop.add", "pm.add", "admit.add", "admit.can", "worker.update", "worker.loop"}
	i := 0
	for _, step := range walked {
		if i < len(want) && step == want[i] {
			i++
		}
	}
	if i < len(want) || walked[len(walked)-1] != "worker.loop" {
		t.Errorf("walked %v, want %v among them", walked, want)
	}
	nodes, err := l.Client.CoreV1().Nodes().List(l.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, cond := range nodes.Items[0].Status.Conditions {
		if cond.Type == corev1.NodeReady && cond.Status != corev1.ConditionTrue {
			t.Errorf("the node is not Ready: %s", cond.Message)
		}
	}
	l.Must("continue", "web")
	l.UntilReady("web")
	l.UntilReady("other") // it waited with the node

	// A pod can also be held on its way out, and at steps that know only at their end which pods they are about. The
	// source's report that the pod runs goes through these steps too.
	running := false
	l.UntilEvent("web", "merge of its running", func(e probes.Event) bool {
		running = running || e.Step == "status.patch" && e.Fields["phase"] == "Running"
		return running && e.Step == "merge.merge" && e.Kind == probes.Exit
	})
	l.Must("break", "add", "web", "--step", "merge.merge", "--on", "exit", "--times", "1")
	l.Delete("web")
	l.UntilEvent("web", "held at merge.merge", func(e probes.Event) bool { return e.Kind == probes.Held && e.Step == "merge.merge" })
	for _, step := range []string{"loop.update", "worker.update"} {
		h, err := c.Step(l.Context(), &agentpb.StepRequest{Pods: &agentpb.PodSelector{Name: "web"}})
		if err != nil || h.Step != step || !h.Node {
			t.Fatalf("stepped to %v, %v; want %s", h, err, step)
		}
	}
	l.Must("continue", "web")
	l.UntilGone("web")
}

// TestClientKilled: a client's holds end with its process, also those on the sync loop, however the process ends.
func TestClientKilled(t *testing.T) {
	l := labtest.StartSim(t)
	l.Create(labtest.BusyboxPod("web", labtest.Sleep))
	l.UntilReady("web")
	c := l.Agent()
	if _, err := c.AddBreakpoint(l.Context(), &agentpb.AddBreakpointRequest{
		Pods: &agentpb.PodSelector{Name: "web"}, Step: "loop.*", WhileConnected: true,
	}); err != nil {
		t.Fatal(err)
	}
	l.Delete("web")
	l.UntilEvent("web", "held", func(e probes.Event) bool { return e.Kind == probes.Held })
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	l.UntilGone("web")
	story := l.Story("web")
	if !slices.ContainsFunc(story, func(e probes.Event) bool { return e.Kind == probes.Released }) {
		t.Error("the hold was not released")
	}
}
