package dap

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-dap"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/podstep/podstep/agent"
	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/probes/source"
)

// TestDebugger: where the agent has a debugger, breakpoints are at the very line, steps may be lines, and the frames and
// variables of the goroutine are shown.
func TestDebugger(t *testing.T) {
	k := newKubelet(t, agent.Options{})
	own, _ := source.Of("sync.pod")
	frame := &agentpb.StackFrame{Function: "k8s.io/kubernetes/pkg/kubelet.(*Kubelet).SyncPod", File: "/src/pkg/kubelet/kubelet.go", Line: int32(own.Func + 20)}
	at := agent.Found{Address: 0x4711, Frame: frame}
	next := agent.Found{Address: 0x4712, Frame: &agentpb.StackFrame{Function: "fmt.Sprint", File: "/go/src/fmt/print.go", Line: 280}}
	probe := k.a.Probe("woven")
	probe.OnDebug(&agent.Debugger{
		Find: func(_ context.Context, where string) ([]agent.Found, error) {
			if where != "pkg/kubelet/kubelet.go:"+itoa(own.Func+20) {
				return nil, errors.New("no code is at that line")
			}
			return []agent.Found{at}, nil
		},
		Step:   func(context.Context, uint64, agentpb.StepMode) error { return nil },
		Forget: func(uint64) {},
		Look: func(_ context.Context, _ uint64, req *agentpb.LookRequest) (*agentpb.LookResponse, error) {
			answer := &agentpb.LookResponse{Stood: durationpb.New(time.Millisecond), Frames: []*agentpb.StackFrame{frame, next.Frame}}
			switch {
			case req.GetExpression() == "pod.Name":
				answer.Value = &agentpb.Variable{Type: "string", Value: `"web"`}
			case req.GetExpression() != "":
				return nil, errors.New("could not find symbol")
			default:
				answer.Locals = []*agentpb.Variable{{Name: "frame", Type: "int", Value: itoa(int(req.GetFrame()))}}
			}
			return answer, nil
		},
	})
	e := newEditor(t, Options{})
	e.attach("vscode", map[string]any{"pod": "web", "socket": k.socket, "goFrames": true})
	var set dap.SetBreakpointsResponseBody
	e.do("setBreakpoints", map[string]any{"source": map[string]any{"path": "/src/kubernetes/pkg/kubelet/kubelet.go"}, "breakpoints": []any{
		map[string]any{"line": own.Func + 20}, map[string]any{"line": own.Func + 1},
	}}).into(t, &set)
	if b := set.Breakpoints; !b[0].Verified || b[0].Line != own.Func+20 || !strings.Contains(b[0].Message, "at this line") || !b[1].Verified || b[1].Line != own.Func {
		t.Fatalf("the breakpoints are %+v", b)
	}
	e.do("setBreakpoints", map[string]any{"source": map[string]any{"path": "/src/kubernetes/pkg/kubelet/kubelet.go"}, "breakpoints": []any{map[string]any{"line": own.Func + 20}}})
	e.do("configurationDone", nil)

	p, done := newPod("web"), make(chan struct{})
	begin := func(step string, parent *agent.Call, values ...any) *agent.Call {
		return probe.Begin(agent.Seen{Step: step, At: time.Now(), Values: values, Goroutine: 7, Worker: true, Parent: parent})
	}
	call := begin("sync.pod", begin("worker.loop", nil, string(p.UID)), p)
	go func() {
		defer close(done)
		call.StopInside(t.Context(), at)
		call.StopInside(t.Context(), next)
	}()
	place := e.stopped().ThreadId
	names, frames := e.frames(place)
	if want := "sync.pod\npod default/web\ngoroutine of the kubelet\n" + frame.Function + "\nfmt.Sprint"; names != want {
		t.Errorf("the frames are\n%s\nwant\n%s", names, want)
	}
	if f := frames[0]; f.Line != own.Func+20 || f.Source.SourceReference == 0 {
		t.Errorf("sync.pod is at %+v", f)
	}
	if f := frames[4]; f.Line != 280 || f.Source.SourceReference != 0 || f.Source.Path != "/go/src/fmt/print.go" {
		t.Errorf("fmt.Sprint is at %+v", f)
	}
	if v := e.variables(frames[4].Id); v["Locals/frame"] != "1" {
		t.Errorf("the variables of frame 1 are %v", v)
	}
	evaluate := func(expression, context string) *message {
		t.Helper()
		return e.ask("evaluate", map[string]any{"expression": expression, "frameId": frames[4].Id, "context": context})
	}
	if m := evaluate("print pod.Name", "repl"); !m.Success || !strings.Contains(string(m.Body), "web") {
		t.Errorf("print answers %v, %q", m.Success, m.Message)
	}
	for _, c := range []struct{ expression, context, want string }{
		{"print pod.Nam", "repl", "could not find symbol"}, {"print", "repl", "print what?"}, {"print pod.Name", "hover", "the whole kubelet stands still"},
	} {
		if m := evaluate(c.expression, c.context); m.Success || !strings.Contains(m.Message, c.want) {
			t.Errorf("%s in %s: %v, %q, want %q", c.expression, c.context, m.Success, m.Message, c.want)
		}
	}
	e.do("next", map[string]any{"threadId": place, "granularity": "line"})
	if s := e.stopped(); s.Reason != "step" {
		t.Errorf("after next the stop is %+v", s)
	}
	if _, frames := e.frames(place); frames[0].Line != 280 || frames[0].Source.Name != "print.go:280" {
		t.Errorf("after a line it is at %+v", frames[0])
	}
	e.refused("next", map[string]any{"threadId": place, "granularity": "instruction"}, "not by instruction")
	e.do("continue", map[string]any{"threadId": place})
	<-done
}
