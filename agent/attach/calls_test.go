package attach

import (
	"context"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/client"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/cri"
	"github.com/podstep/podstep/probes/cri/relay"
)

// TestCallAfterOthers: a call that may be held is looked at only once the other probes have reported what they have seen: one of
// them may have seen in which call it happens. A call that nobody may hold does not wait for them.
func TestCallAfterOthers(t *testing.T) {
	const step = "cri.CreateContainer"
	s := hostedSession(t)
	w := s.watcher()
	message, err := proto.Marshal(&runtimeapi.CreateContainerRequest{PodSandboxId: "a"})
	if err != nil {
		t.Fatal(err)
	}
	makeCall := func() *relay.Call { return &relay.Call{Method: cri.OfStep(step).Name, Began: time.Now()} }
	if w.Request(makeCall(), message) != nil {
		t.Fatal("a call waits that nobody wants stopped")
	}

	c, err := client.Dial(t.Context(), s.o.Socket)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.AddBreakpoint(t.Context(), &agentpb.AddBreakpointRequest{Step: step}); err != nil {
		t.Fatal(err)
	}
	k := makeCall()
	wait := w.Request(k, message)
	if wait == nil {
		t.Fatal("a call passes that a breakpoint may hold")
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	asked := 0
	s.reporters[probes.ByAPI].host.Probe.OnBehind(func(context.Context) {
		asked++
		if k.State.(*call).seen != nil {
			t.Error("the call was looked at before")
		}
		cancel() // the kubelet gives up, so that nothing is held
	})
	if err := wait(ctx); err != nil || asked != 1 {
		t.Errorf("the other probe was asked %d times: %v", asked, err)
	}
}
