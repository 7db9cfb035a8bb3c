package agent

import (
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/podstep/podstep/agent/agentpb"
)

// TestUnknownNumbers: a client that is newer than the agent may send a number that the agent has no name for. The agent refuses
// it, and does not take it for another one.
func TestUnknownNumbers(t *testing.T) {
	r := newRig(t, Options{})
	p := newPod("default", "web")
	r.pods.Object(p)
	r.breakAt(p, "sync.pod", agentpb.On_ON_ENTER)
	done := r.startContainer(p)
	r.held(p)
	calls := map[protoreflect.Name]struct {
		request proto.Message
		send    func(proto.Message) error
	}{
		"Step": {&agentpb.StepRequest{Pods: sel(p)}, func(m proto.Message) error {
			_, err := r.svc.Step(t.Context(), m.(*agentpb.StepRequest))
			return err
		}},
		"AddBreakpoint": {&agentpb.AddBreakpointRequest{Pods: sel(p), Step: "rt.sync"}, func(m proto.Message) error {
			_, err := r.svc.AddBreakpoint(t.Context(), m.(*agentpb.AddBreakpointRequest))
			return err
		}},
	}
	methods := agentpb.File_agent_proto.Services().Get(0).Methods()
	for i := range methods.Len() {
		m := methods.Get(i)
		fields := m.Input().Fields()
		for j := range fields.Len() {
			f := fields.Get(j)
			if f.Kind() != protoreflect.EnumKind {
				continue
			}
			c, ok := calls[m.Name()]
			if !ok {
				t.Errorf("no call of %s is here; add one, with a number for %s that is not in the protocol", m.Name(), f.Name())
				continue
			}
			req := proto.Clone(c.request)
			req.ProtoReflect().Set(f, protoreflect.ValueOfEnum(99))
			if err := c.send(req); status.Code(err) != codes.InvalidArgument {
				t.Errorf("%s with %s 99: %v", m.Name(), f.Name(), err)
			}
		}
	}
	r.releaseAll("continue")
	<-done
}
