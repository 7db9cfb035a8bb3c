package agent

import (
	"context"
	"errors"
	"maps"
	"testing"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/reason"
	"github.com/podstep/podstep/agent/wire"
)

// TestLogInside: a log at a place of the code has the values that the debugger reads there, if its condition is true, for the
// pods that it means. Nobody is held, and what cannot be read is the reason.
func TestLogInside(t *testing.T) {
	r := newRig(t, Options{Probes: seesAll()})
	at := Found{0x4711, &agentpb.StackFrame{Function: "kubelet.(*Kubelet).SyncPod", File: "/src/kubelet.go", Line: 2010}}
	values := map[string]string{"attempt": "1", "err != nil": "false", "attempt == 1": "true", "held": "true"}
	r.probes[0].OnDebug(&Debugger{
		Find: func(context.Context, string) ([]Found, error) { return []Found{at}, nil },
		Look: func(_ context.Context, goroutine uint64, req *agentpb.LookRequest) (*agentpb.LookResponse, error) {
			if goroutine != 7 {
				t.Errorf("goroutine %d is looked at", goroutine)
			}
			out := &agentpb.LookResponse{}
			if req.Expression == "" {
				out.Arguments = []*agentpb.Variable{{Name: "attempt", Value: "1"}}
				out.Locals = []*agentpb.Variable{{Name: "note", Value: "2"}}
				return out, nil
			}
			value, known := values[req.Expression]
			if !known {
				return nil, errors.New("no such variable")
			}
			out.Value = &agentpb.Variable{Value: value}
			return out, nil
		},
	})
	for _, act := range []*agentpb.AddBreakpointRequest_Log{
		logOf("", "attempt", "held", "nobody"), logOf("err != nil", "attempt"), logOf("attempt == 1"), logOf("colour", "attempt"),
	} {
		if _, err := r.addBreakpoint(&agentpb.AddBreakpointRequest{Pods: &agentpb.PodSelector{Name: "web"}, At: "kubelet.go:2010", Action: act}); err != nil {
			t.Fatal(err)
		}
	}
	if r.holds.Armed() == 0 || !r.probes[0].Places()[at.Address] {
		t.Error("the probes do not hear of the place")
	}
	for name, goroutine := range map[string]uint64{"web": 7, "db": 8} {
		p := newPod("default", name)
		loop := r.Begin(Seen{Step: "worker.loop", At: time.Now(), Values: []any{string(p.UID)}, Goroutine: goroutine, Worker: true})
		call := r.Begin(Seen{Step: "sync.pod", At: time.Now(), Values: []any{p}, Goroutine: goroutine, Worker: true, Parent: loop})
		call.StopInside(t.Context(), Found{0x4712, at.Frame}) // another place
		call.StopInside(t.Context(), at)
	}
	want := []map[string]any{
		{"breakpoint": int64(1), "attempt": "1", "(held)": "true", "nobody": "no such variable"},
		{"breakpoint": int64(3), "attempt": "1", "(note)": "2"},
		{"breakpoint": int64(4), "condition": "no such variable", "attempt": "1"},
	}
	got := r.logged("web")
	if len(got) != len(want) || len(r.logged("db")) != 0 {
		t.Fatalf("%d notes of web and %d of db, want %d and none", len(got), len(r.logged("db")), len(want))
	}
	for i, e := range got {
		fields := wire.Fields(e.Fields)
		delete(fields, "note")
		if !maps.Equal(fields, want[i]) {
			t.Errorf("the note has %v, want %v", fields, want[i])
		}
	}
	for i := range 4 {
		r.points.Remove(uint32(i + 1))
	}
	if r.holds.Armed() != 0 {
		t.Error("the probes do not hear that the logs are gone")
	}
}

// TestTooManyExpressions: the kubelet stands still for each expression, so there are only so many.
func TestTooManyExpressions(t *testing.T) {
	r := newRig(t, Options{Probes: seesAll()})
	r.probes[0].OnDebug(&Debugger{Find: func(context.Context, string) ([]Found, error) { return []Found{{}}, nil }})
	for n, want := range map[int]agentpb.Problem_Code{maxExpressions: agentpb.Problem_UNSPECIFIED, maxExpressions + 1: agentpb.Problem_TOO_MANY_EXPRESSIONS} {
		_, err := r.addBreakpoint(&agentpb.AddBreakpointRequest{At: "kubelet.go:2010", Action: logOf("", make([]string, n)...)})
		if got := reason.ProblemOf(err).GetCode(); got != want {
			t.Errorf("%d expressions: %v, want %v", n, got, want)
		}
	}
}

// TestLogInsideReadOnly: a read-only agent puts nothing into the kubelet's code.
func TestLogInsideReadOnly(t *testing.T) {
	r := newRig(t, Options{Probes: seesAll(), ReadOnly: true})
	r.probes[0].OnDebug(&Debugger{Find: func(context.Context, string) ([]Found, error) { return []Found{{}}, nil }})
	if _, err := r.addBreakpoint(&agentpb.AddBreakpointRequest{At: "kubelet.go:2010", Action: logOf("", "attempt")}); err == nil {
		t.Error("a read-only agent takes a log at a place of the code")
	}
}

// oneLogInside makes the events of a call inside of which values are logged.
func oneLogInside(r *rig) []*agentpb.Event {
	r.probes[0].OnDebug(&Debugger{
		Find: func(context.Context, string) ([]Found, error) { return []Found{{Address: 1}}, nil },
		Look: func(context.Context, uint64, *agentpb.LookRequest) (*agentpb.LookResponse, error) {
			return &agentpb.LookResponse{}, nil
		},
	})
	_, _ = r.addBreakpoint(&agentpb.AddBreakpointRequest{At: "kubelet.go:1", Action: logOf("", "attempt")})
	p := newPod("default", "web")
	loop := r.Begin(Seen{Step: "worker.loop", At: time.Now(), Values: []any{string(p.UID)}, Goroutine: 7, Worker: true})
	call := r.Begin(Seen{Step: "sync.pod", At: time.Now(), Values: []any{p}, Goroutine: 7, Worker: true, Parent: loop})
	call.StopInside(context.Background(), Found{Address: 1})
	return r.logged("web")
}
