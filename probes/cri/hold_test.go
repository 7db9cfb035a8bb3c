package cri

import (
	"testing"

	"google.golang.org/protobuf/proto"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/reasons"
)

// TestAbilities: outside of the kubelet no more may be held than inside. Each step is seen, or has a reason why
// not.
func TestAbilities(t *testing.T) {
	c := probes.MustLoad()
	all := Abilities(c)
	held := 0
	for _, s := range c.Steps {
		can := all.At(s.Name)
		switch {
		case can.HoldEnter && s.Hold.Enter != probes.HoldYes && s.Hold.Enter != probes.HoldWorker:
			t.Errorf("%s may be held, where the catalogue says %s", s.Name, s.Hold.Enter)
		case can.HoldExit, can.HoldEnter && !can.Entry:
			t.Errorf("%s may be held at its exit, or is not seen: %+v", s.Name, can)
		case can.Sees() && can.HoldEnter != can.NoHold.IsZero():
			t.Errorf("%s: may be held: %v, because %q", s.Name, can.HoldEnter, can.NoHold.Text().En)
		case can.HoldEnter:
			held++
		}
		if want := OfStep(s.Name) != nil || s.Seen == probes.ByRuntime; can.Sees() != want || can.Unseen.IsZero() != (want || s.Report()) {
			t.Errorf("%s is seen: %v, or is not because %q", s.Name, can.Sees(), can.Unseen.Text().En)
		}
	}
	if held != len(holdable) {
		t.Errorf("%d steps may be held, want %d", held, len(holdable))
	}
	stages := map[string]bool{}
	for _, s := range c.Stages {
		stages[s.Name] = true
	}
	for s := range reasons.InsideOf {
		if !stages[s] {
			t.Errorf("there is no stage %s", s)
		}
	}
}

func TestShared(t *testing.T) {
	x := NewIdentities()
	learn(t, x, &runtimeapi.RunPodSandboxRequest{Config: sandbox1}, &runtimeapi.RunPodSandboxResponse{PodSandboxId: "s1"})
	stop := &runtimeapi.StopPodSandboxRequest{PodSandboxId: "s1"}
	update := func(l *runtimeapi.LinuxContainerResources) proto.Message {
		return &runtimeapi.UpdateContainerResourcesRequest{ContainerId: "c1", Linux: l}
	}
	check := func(what string, q proto.Message, shared bool) {
		t.Helper()
		if why := x.Shared(decoded(t, q)); (why != "") != shared {
			t.Errorf("%s: shared because %q, want %v", what, why, shared)
		}
	}
	check("the first stop", stop, false)
	check("a stop of an unknown sandbox", &runtimeapi.StopPodSandboxRequest{PodSandboxId: "s2"}, false)
	check("a resize", update(&runtimeapi.LinuxContainerResources{CpuShares: 512, CpuQuota: 1}), false)
	check("a resize of memory, with the cpuset as it is", update(&runtimeapi.LinuxContainerResources{CpusetCpus: "1", MemoryLimitInBytes: 1}), false)
	check("a cpuset", update(&runtimeapi.LinuxContainerResources{CpusetCpus: "0-3"}), true)
	check("nothing", update(nil), false)

	for _, state := range []runtimeapi.PodSandboxState{runtimeapi.PodSandboxState_SANDBOX_READY, runtimeapi.PodSandboxState_SANDBOX_NOTREADY} {
		learn(t, x, &runtimeapi.PodSandboxStatusRequest{PodSandboxId: "s1"}, &runtimeapi.PodSandboxStatusResponse{
			Status: &runtimeapi.PodSandboxStatus{Id: "s1", Metadata: sandbox1.Metadata, CreatedAt: 1, State: state},
		})
		if p, _ := x.Pod("s1"); p.Ready != (state == runtimeapi.PodSandboxState_SANDBOX_READY) {
			t.Errorf("the sandbox is %v and ready: %v", state, p.Ready)
		}
	}
	check("a stop of a sandbox that died by itself", stop, false)
	learn(t, x, stop, &runtimeapi.StopPodSandboxResponse{})
	check("the second stop", stop, true)
}
