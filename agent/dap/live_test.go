package dap

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-dap"
	v1 "k8s.io/api/core/v1"

	"github.com/podstep/podstep/agent"
	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/client"
)

// holdAt begins a session that holds a pod at a step, and returns the thread of the pod.
func (k *kubelet) holdAt(e *editor, client string, p *v1.Pod, step string, failure error) (place int, done chan struct{}) {
	k.t.Helper()
	e.attach(client, map[string]any{"pod": p.Name, "socket": k.socket})
	e.do("setFunctionBreakpoints", map[string]any{"breakpoints": []any{map[string]any{"name": step}}})
	e.do("configurationDone", nil)
	done = k.create(p, failure)
	return e.stopped().ThreadId, done
}

// TestDialogue: an editor follows a pod from its first breakpoint to the end.
func TestDialogue(t *testing.T) {
	k := newKubelet(t, agent.Options{})
	e := newEditor(t, Options{})
	place, done := k.holdAt(e, "vscode", newPod("web"), "cri.RunPodSandbox", nil)
	e.printed("default/web is held at enter of cri.RunPodSandbox (breakpoint 1); it goes on by itself in ")
	var threads dap.ThreadsResponseBody
	e.do("threads", nil).into(t, &threads)
	if len(threads.Threads) != 1 || threads.Threads[0].Name != "default/web · held · cri.RunPodSandbox" {
		t.Errorf("the threads are %v", threads.Threads)
	}
	names, frames := e.frames(place)
	if want := "cri.RunPodSandbox\nrt.sandbox\nrt.sync\nsync.pod\nworker.turn\nworker.loop\npod default/web"; names != want {
		t.Errorf("the frames are\n%s\nwant\n%s", names, want)
	}
	if f := frames[1]; f.Source == nil || f.Source.Name != "kuberuntime_sandbox.go" || f.Line != 67 {
		t.Errorf("rt.sandbox is at line %d of %+v", f.Line, f.Source)
	}
	values := e.variables(frames[0].Id)
	for name, want := range map[string]string{
		"Arguments/runtimeHandler": `"runc"`, "Request/request/hostname": `"web"`, "Request/request/metadata/uid": `"uid-web"`,
		"Pod/name": "default/web", "Pod/state": "held", "Budget/because of": "its lease",
	} {
		if values[name] != want {
			t.Errorf("%s is %q, want %q; all are %v", name, values[name], want, values)
		}
	}
	if !strings.Contains(values["Why/why"], "as you asked") {
		t.Errorf("why is %q", values["Why/why"])
	}
	if m := e.do("evaluate", map[string]any{"expression": "runtimeHandler", "frameId": frames[0].Id, "context": "hover"}); !strings.Contains(string(m.Body), "runc") {
		t.Errorf("a field is %s", m.Body)
	}
	e.do("next", map[string]any{"threadId": place})
	if s := e.stopped(); s.Reason != "step" || s.AllThreadsStopped {
		t.Errorf("after next the stop is %+v", s)
	}
	if names, _ := e.frames(place); names == "" || strings.HasPrefix(names, "cri.RunPodSandbox\n") {
		t.Errorf("after next the frames are\n%s", names)
	}
	e.refused("variables", map[string]any{"variablesReference": frames[0].Id + 1}, "has gone on")
	e.do("setFunctionBreakpoints", map[string]any{"breakpoints": []any{}})
	if m := e.do("continue", map[string]any{"threadId": place}); !strings.Contains(string(m.Body), `"allThreadsContinued":false`) {
		t.Errorf("continue answers %s", m.Body)
	}
	<-done
	e.refused("stackTrace", map[string]any{"threadId": place}, "is not held")
	e.do("disconnect", nil)
	k.nothingArmed(k.agent())
}

// variables returns all variables of a frame, by scope and path.
func (e *editor) variables(frame int) map[string]string {
	e.t.Helper()
	out := map[string]string{}
	var scopes dap.ScopesResponseBody
	e.do("scopes", map[string]any{"frameId": frame}).into(e.t, &scopes)
	var add func(path string, ref int)
	add = func(path string, ref int) {
		var body dap.VariablesResponseBody
		e.do("variables", map[string]any{"variablesReference": ref}).into(e.t, &body)
		for _, v := range body.Variables {
			out[path+"/"+v.Name] = v.Value
			if v.VariablesReference != 0 {
				add(path+"/"+v.Name, v.VariablesReference)
			}
		}
	}
	for _, s := range scopes.Scopes {
		add(s.Name, s.VariablesReference)
	}
	return out
}

// nothingArmed waits until the agent has no breakpoint and no hold. The agent notices a moment later that a connection
// has ended.
func (k *kubelet) nothingArmed(c *client.Client) {
	k.t.Helper()
	for late := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		points, holds := k.armed(c)
		if points+holds == 0 {
			return
		}
		if time.Now().After(late) {
			k.t.Fatalf("%d breakpoints and %d holds stay", points, holds)
		}
	}
}

// TestKilled: when an editor is killed, in whatever state its session is, its pods go on and nothing of it stays armed.
func TestKilled(t *testing.T) {
	for name, kill := range map[string]func(*editor, int){
		"hangs up":                 func(e *editor, _ int) { _ = e.conn.Close() },
		"its podstep is killed":    func(e *editor, _ int) { e.end() },
		"hangs up during a step":   func(e *editor, place int) { e.do("next", map[string]any{"threadId": place}); _ = e.conn.Close() },
		"disconnects":              func(e *editor, _ int) { e.do("disconnect", map[string]any{"terminateDebuggee": true}) },
		"sends half of a message":  func(e *editor, _ int) { _, _ = e.conn.Write([]byte("Content-Length: 99\r\n\r\n{")); _ = e.conn.Close() },
		"sends what is no message": func(e *editor, _ int) { _, _ = e.conn.Write([]byte("GET / HTTP/1.1\r\n\r\n")) },
	} {
		t.Run(name, func(t *testing.T) {
			k := newKubelet(t, agent.Options{})
			e := newEditor(t, Options{})
			other := k.agent()
			place, done := k.holdAt(e, "vscode", newPod("web"), "cri.RunPodSandbox", nil)
			if points, holds := k.armed(other); points != 1 || holds != 1 {
				t.Fatalf("before, there are %d breakpoints, %d holds", points, holds)
			}
			kill(e, place)
			select {
			case <-done:
			case <-time.After(patience):
				t.Fatal("the pod is still held")
			}
			k.nothingArmed(other)
		})
	}
}

// TestGoesOnByItself: the end of a hold is reported, whoever or whatever ends it, with the reason.
func TestGoesOnByItself(t *testing.T) {
	for name, c := range map[string]struct {
		lease string
		end   func(*kubelet, context.Context) error
		want  string
	}{
		"lease": {"100ms", nil, "its lease is over"},
		"colleague": {"1m", func(k *kubelet, ctx context.Context) error {
			_, err := k.agent().Continue(ctx, &agentpb.ContinueRequest{Pods: &agentpb.PodSelector{Name: "web"}})
			return err
		}, "it was let go, by process "},
		"agent": {"1m", func(k *kubelet, ctx context.Context) error { k.stop(); return nil }, "default/web goes on: the agent that held it is gone"},
	} {
		t.Run(name, func(t *testing.T) {
			k := newKubelet(t, agent.Options{})
			e := newEditor(t, Options{})
			e.attach("vscode", map[string]any{"pod": "web", "socket": k.socket, "lease": c.lease, "breakpoints": []any{"rt.sandbox"}})
			e.do("configurationDone", nil)
			done := k.create(newPod("web"), nil)
			place := e.stopped().ThreadId
			if c.end != nil {
				if err := c.end(k, t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			e.printed(c.want)
			m := e.event("continued", nil)
			if want := fmt.Sprintf(`{"threadId":%d,"allThreadsContinued":false}`, place); string(m.Body) != want {
				t.Errorf("continued has %s, want %s", m.Body, want)
			}
			<-done
			if name == "agent" {
				e.event("terminated", nil)
				e.refused("threads", nil, "the session is over")
				e.do("disconnect", nil)
			}
		})
	}
}

// TestSecondPod: nvim-dap gets a second stopped pod in a way in which it does not let it go, and the pod comes to the
// front when the first goes on. Other editors get it as it is.
func TestSecondPod(t *testing.T) {
	for _, client := range []string{"neovim", "vscode"} {
		t.Run(client, func(t *testing.T) {
			k := newKubelet(t, agent.Options{})
			e := newEditor(t, Options{})
			e.attach(client, map[string]any{"pod": "web-*", "socket": k.socket, "breakpoints": []any{"rt.sandbox"}})
			e.do("configurationDone", nil)
			first := k.create(newPod("web-1"), nil)
			one := e.stopped()
			second := k.create(newPod("web-2"), nil)
			two := e.stopped()
			if two.ThreadId == one.ThreadId || !two.PreserveFocusHint || (two.Reason == "pause") != (client == "neovim") {
				t.Errorf("the second stop is %+v", two)
			}
			if client == "neovim" {
				e.printed("brings it to the front when default/web-1 goes on")
				e.refused("continue", map[string]any{"threadId": two.ThreadId}, "as nvim-dap sends it by itself")
			}
			e.do("next", map[string]any{"threadId": one.ThreadId})
			if s := e.stopped(); s.ThreadId != one.ThreadId || s.Reason != "step" || s.PreserveFocusHint {
				t.Errorf("a step of the first pod leads to %+v", s)
			}
			e.do("continue", map[string]any{"threadId": one.ThreadId})
			if client == "neovim" {
				if s := e.stopped(); s.ThreadId != two.ThreadId || s.Reason != "function breakpoint" || s.PreserveFocusHint {
					t.Errorf("when the first pod goes on, the second is shown as %+v", s)
				}
			}
			<-first
			e.do("continue", map[string]any{"threadId": two.ThreadId})
			<-second
		})
	}
}

// TestFailedCall: the exception filters stop a pod at the end of what failed, with the error.
func TestFailedCall(t *testing.T) {
	k := newKubelet(t, agent.Options{})
	e := newEditor(t, Options{})
	e.attach("zed", map[string]any{"pod": "web", "socket": k.socket})
	var set dap.SetExceptionBreakpointsResponseBody
	e.do("setExceptionBreakpoints", map[string]any{"filters": []string{"sync"}, "filterOptions": []any{
		map[string]any{"filterId": "failed"}, map[string]any{"filterId": "slow", "condition": "soon"}, map[string]any{"filterId": "never"},
	}}).into(t, &set)
	for i, want := range []bool{true, true, false, false} {
		if b := set.Breakpoints[i]; b.Verified != want || !want && b.Message == "" {
			t.Errorf("filter %d is set as %+v", i, b)
		}
	}
	e.do("configurationDone", nil)
	done := k.create(newPod("web"), errNetwork)
	s := e.stopped()
	if s.Reason != "exception" || s.Text != errNetwork.Error() {
		t.Errorf("the stop is %+v", s)
	}
	if names, _ := e.frames(s.ThreadId); !strings.HasPrefix(names, "rt.sandbox (exit)\n") {
		t.Errorf("the frames are\n%s", names)
	}
	var info dap.ExceptionInfoResponseBody
	e.do("exceptionInfo", map[string]any{"threadId": s.ThreadId}).into(t, &info)
	if info.ExceptionId != "rt.sandbox" || info.Description != errNetwork.Error() {
		t.Errorf("the error is %+v", info)
	}
	e.do("disconnect", nil)
	<-done
}

// TestLogpoint: a logpoint prints and holds nobody, with any condition of the filter language.
func TestLogpoint(t *testing.T) {
	k := newKubelet(t, agent.Options{})
	e := newEditor(t, Options{})
	e.attach("vscode", map[string]any{"pod": "web", "socket": k.socket})
	var set dap.SetBreakpointsResponseBody
	e.do("setBreakpoints", map[string]any{"source": map[string]any{"path": "/src/kubernetes/pkg/kubelet/kuberuntime/kuberuntime_sandbox.go"}, "breakpoints": []any{
		map[string]any{"line": 37, "logMessage": "{pod} comes to {step}, attempt {attempt}, {nothing}", "condition": "field.attempt=0 or err"},
		map[string]any{"line": 2},
	}}).into(t, &set)
	if b := set.Breakpoints; !b[0].Verified || b[0].Line != 38 || b[1].Verified || !strings.Contains(b[1].Message, "line 2 is in no function that is a step") {
		t.Errorf("the breakpoints are %+v", b)
	}
	e.do("configurationDone", nil)
	<-k.create(newPod("web"), nil)
	e.printed("default/web comes to rt.sandbox, attempt 0, {nothing is not known here}\n")
	if e.has("stopped") {
		t.Error("a logpoint stopped the pod")
	}
}

// TestPause: a pod is held at its next step; a pause of which nothing comes is taken back.
func TestPause(t *testing.T) {
	k := newKubelet(t, agent.Options{})
	e := newEditor(t, Options{})
	p := newPod("web")
	<-k.create(p, nil)
	e.attach("vscode", map[string]any{"pod": "web", "socket": k.socket, "wait": "1m"})
	e.do("configurationDone", nil)
	var threads dap.ThreadsResponseBody
	e.do("threads", nil).into(t, &threads)
	place := threads.Threads[0].Id
	e.do("pause", map[string]any{"threadId": 0})
	e.refused("pause", map[string]any{"threadId": place}, "is about to be held already")
	e.do("continue", map[string]any{"threadId": place})
	e.printed("the wait for its next step is taken back")
	e.do("pause", map[string]any{"threadId": place})
	k.work(p) // the agent may get the request a little later, and a wait ends with the pod's worker
	if s := e.stopped(); s.Reason != "pause" || s.ThreadId != place {
		t.Errorf("the stop is %+v", s)
	}
	e.do("disconnect", nil)
}

// TestMany: 500 pods are threads, each once.
func TestMany(t *testing.T) {
	k := newKubelet(t, agent.Options{})
	e := newEditor(t, Options{})
	const many = 500
	for i := range many {
		<-k.create(newPod(fmt.Sprintf("web-%d", i)), nil)
	}
	e.attach("vscode", map[string]any{"pod": "*", "socket": k.socket})
	e.do("configurationDone", nil)
	var threads dap.ThreadsResponseBody
	e.do("threads", nil).into(t, &threads)
	seen := map[int]string{}
	for _, th := range threads.Threads {
		seen[th.Id] = th.Name
	}
	if len(threads.Threads) != many || len(seen) != many {
		t.Errorf("there are %d threads with %d numbers", len(threads.Threads), len(seen))
	}
}

// TestBreakAtConsole: breakpoints can be set, listed and removed at the console.
func TestBreakAtConsole(t *testing.T) {
	k := newKubelet(t, agent.Options{})
	e := newEditor(t, Options{})
	e.attach("neovim", map[string]any{"pod": "web", "socket": k.socket, "breakpoints": []any{"no.step", map[string]any{"step": "rt.sync", "hitCondition": "2"}}})
	e.printed(`the breakpoint at no.step does nothing: no step is named "no.step"`)
	e.do("configurationDone", nil)
	evaluate := func(text string) *message {
		t.Helper()
		return e.ask("evaluate", map[string]any{"expression": text, "context": "repl"})
	}
	for text, want := range map[string]string{
		"": "why print break clear", "b": "break", "break cri.RunP": "cri.RunPodSandbox", "break cri.RunPodSandbox ": "", "clear r": "rt.sync", "why ": "", "日本 ": "",
	} {
		var body dap.CompletionsResponseBody
		e.do("completions", map[string]any{"text": text + "…", "column": len([]rune(text)) + 1}).into(t, &body)
		var got []string
		for _, c := range body.Targets {
			got = append(got, c.Label)
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%q is completed to %q, want %q", text, s, want)
		}
	}
	for _, c := range []struct{ text, want string }{
		{"break rt.sandbox err", "breakpoint at rt.sandbox"},
		{"break rt.sandbox field.x=1", "cannot decide"},
		{"break loop.add", "no pod can be held"},
		{"break", "rt.sandbox err"},
		{"clear rt.sandbox", "removed"},
		{"clear rt.sandbox", "no such breakpoint"},
		{"clear", "removed 2"},
	} {
		m := evaluate(c.text)
		var body dap.EvaluateResponseBody
		_ = json.Unmarshal(m.Body, &body)
		if got := m.Message + body.Result; !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.text, got, c.want)
		}
	}
	k.nothingArmed(k.agent())
}
