package dap

import (
	"strings"
	"testing"

	"github.com/podstep/podstep/agent"
)

// requests are those of the protocol that an editor may send, with arguments about a thread.
func requests(thread, frame int) map[string]any {
	of := map[string]any{"threadId": thread}
	source := map[string]any{"source": map[string]any{"sourceReference": 7}, "sourceReference": 7}
	return map[string]any{
		"initialize": map[string]any{"adapterID": "podstep"}, "attach": map[string]any{}, "launch": map[string]any{},
		"configurationDone": nil, "threads": nil, "continue": of, "next": of, "stepIn": of, "stepOut": of, "stepBack": of, "reverseContinue": of,
		"pause": of, "stackTrace": of, "exceptionInfo": of, "scopes": map[string]any{"frameId": frame}, "variables": map[string]any{"variablesReference": frame},
		"evaluate": map[string]any{"expression": "why", "frameId": frame, "context": "repl"}, "source": source, "loadedSources": nil, "breakpointLocations": source,
		"setBreakpoints": source, "setFunctionBreakpoints": map[string]any{"breakpoints": []any{}}, "setExceptionBreakpoints": map[string]any{"filters": []string{}},
		"setDataBreakpoints": map[string]any{"breakpoints": []any{}}, "dataBreakpointInfo": map[string]any{"name": "phase"}, "setInstructionBreakpoints": map[string]any{"breakpoints": []any{}},
		"goto": of, "gotoTargets": source, "restart": nil, "restartFrame": map[string]any{"frameId": frame}, "terminate": nil, "terminateThreads": map[string]any{"threadIds": []int{thread}},
		"setVariable": map[string]any{"variablesReference": frame, "name": "x", "value": "1"}, "setExpression": map[string]any{"expression": "x", "value": "1"},
		"stepInTargets": map[string]any{"frameId": frame}, "completions": map[string]any{"text": "w", "column": 1}, "modules": map[string]any{}, "readMemory": map[string]any{"memoryReference": "0"},
		"writeMemory": map[string]any{"memoryReference": "0", "data": ""}, "disassemble": map[string]any{"memoryReference": "0"}, "cancel": map[string]any{"requestId": 1},
		"runInTerminal": map[string]any{"args": []string{"sh"}}, "podstep/none": nil,
	}
}

// TestRequests sends every request in every state of a session. Each is answered: with success if the state allows it,
// else with a sentence, and the session goes on.
func TestRequests(t *testing.T) {
	always := "initialize"
	see := "completions dataBreakpointInfo setDataBreakpoints threads evaluate source loadedSources breakpointLocations setBreakpoints setFunctionBreakpoints setExceptionBreakpoints configurationDone"
	k := newKubelet(t, agent.Options{})
	<-k.create(newPod("web"), nil)
	attached := func(e *editor) int {
		e.attach("vscode", map[string]any{"pod": "web", "socket": k.socket, "wait": "1m"})
		e.do("configurationDone", nil)
		return 1
	}
	for name, c := range map[string]struct {
		state func(*editor) (thread, frame int)
		works string
	}{
		"no attach yet":    {func(*editor) (int, int) { return 1, 0 }, always},
		"unknown thread":   {func(e *editor) (int, int) { attached(e); return 77, 0 }, see},
		"negative numbers": {func(e *editor) (int, int) { attached(e); return -1, -1 }, strings.Replace(see, "evaluate", "", 1)},
		"running thread":   {func(e *editor) (int, int) { return attached(e), 0 }, see + " pause"},
		"held thread": {func(e *editor) (int, int) {
			thread, done := newKubelet(e.t, agent.Options{}).holdAt(e, "vscode", newPod("web"), "rt.sandbox", nil)
			e.t.Cleanup(func() { <-done }) // before the next test's kubelet has the hook
			_, frames := e.frames(thread)
			return thread, frames[0].Id
		}, see + " scopes stackTrace stepInTargets continue next stepIn stepOut"},
		"replay": {func(e *editor) (int, int) {
			e.do("initialize", nil)
			e.do("launch", map[string]any{"trace": labTrace, "pod": "no-image"})
			e.event("initialized", nil)
			e.do("configurationDone", nil)
			return e.stopped().ThreadId, 0
		}, see + " stackTrace continue next stepIn stepOut stepBack reverseContinue"},
		"after disconnect": {func(e *editor) (int, int) { attached(e); e.do("disconnect", nil); return 1, 0 }, "disconnect"},
	} {
		for request := range requests(0, 0) {
			t.Run(name+"/"+request, func(t *testing.T) {
				e := newEditor(t, Options{Open: openTrace})
				thread, frame := c.state(e)
				m := e.ask(request, requests(thread, frame)[request])
				works := false
				for _, w := range strings.Fields(c.works) {
					works = works || w == request
				}
				switch {
				case m.Success != works:
					t.Errorf("success is %v, with the message %q", m.Success, m.Message)
				case !works && len(strings.Fields(m.Message)) < 4:
					t.Errorf("the error %q is no sentence", m.Message)
				}
				e.do("disconnect", nil)
			})
		}
	}
	k.nothingArmed(k.agent())
}

// TestBadConfigurations: what cannot be meant is refused with what to write instead, and the session can try again.
func TestBadConfigurations(t *testing.T) {
	k := newKubelet(t, agent.Options{})
	e := newEditor(t, Options{Open: openTrace})
	e.refused("attach", map[string]any{"pod": "web"}, "needs initialize first")
	e.do("initialize", map[string]any{"clientID": "vscode"})
	for text, c := range map[string]map[string]any{
		"which pod?":                    {},
		"is not the name of a pod":      {"pod": "a/b/c"},
		"of another namespace":          {"pod": "shop/web", "namespace": "default"},
		"not a positive duration":       {"pod": "web", "lease": "soon"},
		"a duration is a text":          {"pod": "web", "wait": 5},
		"a breakpoint is the name":      {"pod": "web", "breakpoints": []any{map[string]any{"step": 1}}},
		"cannot unmarshal":              {"pod": 1},
		"no agent at /nonexistent/sock": {"pod": "web", "socket": "/nonexistent/sock"},
		"is not a socket but a":         {"pod": "web", "socket": labTrace},
	} {
		e.refused("attach", c, text)
	}
	for text, c := range map[string]map[string]any{
		"launch replays a recording": {},
		"no such file":               {"trace": "/nonexistent"},
		"not a trace file":           {"trace": "requests_test.go"},
		"it is the path of a file":   {"trace": 1},
		"has no pod nobody":          {"trace": labTrace, "pod": "nobody"},
		"stopAt is entry or end":     {"trace": []string{labTrace}, "stopAt": "middle"},
	} {
		e.refused("launch", c, text)
	}
	e.do("attach", map[string]any{"pod": "web", "socket": k.socket})
	e.refused("attach", map[string]any{"pod": "web", "socket": k.socket}, "has its pods already")
	e.refused("launch", map[string]any{"trace": labTrace}, "has its pods already")
}

// TestReadOnly: an agent that only shows holds nobody, and the editor learns why.
func TestReadOnly(t *testing.T) {
	k := newKubelet(t, agent.Options{ReadOnly: true})
	<-k.create(newPod("web"), nil)
	e := newEditor(t, Options{})
	e.attach("vscode", map[string]any{"pod": "web", "socket": k.socket, "breakpoints": []any{"rt.sandbox"}})
	e.printed("this agent is read-only")
	e.printed("does nothing: this agent is read-only")
	e.do("configurationDone", nil)
	e.do("pause", map[string]any{"threadId": 1})
	e.printed("this agent is read-only: it holds no pod and injects no fault")
}
