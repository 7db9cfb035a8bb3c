package dap

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-dap"

	"github.com/podstep/podstep/agent"
)

// dataID returns the number by which an editor follows a field of the scope Pod.
func (e *editor) dataID(frame int, name string) any {
	e.t.Helper()
	var scopes dap.ScopesResponseBody
	e.do("scopes", map[string]any{"frameId": frame}).into(e.t, &scopes)
	for _, s := range scopes.Scopes {
		if s.Name == "Pod" {
			var body dap.DataBreakpointInfoResponseBody
			e.do("dataBreakpointInfo", map[string]any{"variablesReference": s.VariablesReference, "name": name}).into(e.t, &body)
			return body.DataId
		}
	}
	e.t.Fatal("there is no scope Pod")
	return nil
}

// TestDataReplayed: in a recording a pod stops where what the kubelet knows of it changes, on the way there and back.
func TestDataReplayed(t *testing.T) {
	e := newEditor(t, Options{Open: openTrace})
	e.do("initialize", nil)
	e.do("launch", map[string]any{"trace": labTrace, "pod": "web"})
	e.event("initialized", nil)
	e.do("configurationDone", nil)
	place := e.stopped().ThreadId
	_, frames := e.frames(place)
	if id := e.dataID(frames[0].Id, "uid"); id != nil {
		t.Errorf("a uid is followed as %v", id)
	}
	var set dap.SetDataBreakpointsResponseBody
	e.do("setDataBreakpoints", map[string]any{"breakpoints": []any{
		map[string]any{"dataId": e.dataID(frames[0].Id, "phase")}, map[string]any{"dataId": "77 phase"}, map[string]any{"dataId": fmt.Sprint(place, " phase"), "condition": "x"},
	}}).into(t, &set)
	if b := set.Breakpoints; !b[0].Verified || b[1].Verified || b[2].Verified {
		t.Fatalf("the breakpoints are %+v", b)
	}
	phase := func() string {
		_, frames := e.frames(place)
		return e.variables(frames[0].Id)["Pod/phase"]
	}
	was := phase()
	var phases []string
	for {
		e.do("continue", map[string]any{"threadId": place})
		if s := e.stopped(); s.Reason != "data breakpoint" {
			break
		}
		now := phase()
		if now == was {
			t.Errorf("the pod stops although its phase is still %q", now)
		}
		phases, was = append(phases, now), now
	}
	if got := strings.Join(phases, " "); !strings.HasPrefix(got, "Pending Running") {
		t.Errorf("the phases are %q", got)
	}
	e.do("reverseContinue", map[string]any{"threadId": place})
	if s := e.stopped(); s.Reason != "data breakpoint" || phase() != phases[len(phases)-1] {
		t.Errorf("on the way back the stop is %+v", s)
	}
}

// TestDataLive: of a living pod each change is printed, and no pod is held for it.
func TestDataLive(t *testing.T) {
	k := newKubelet(t, agent.Options{})
	e := newEditor(t, Options{})
	place, done := k.holdAt(e, "vscode", newPod("web"), "rt.sandbox", errNetwork)
	_, frames := e.frames(place)
	e.do("setDataBreakpoints", map[string]any{"breakpoints": []any{map[string]any{"dataId": e.dataID(frames[0].Id, "error")}}})
	e.do("continue", map[string]any{"threadId": place})
	<-done
	e.printed(`default/web: error is "` + errNetwork.Error() + `" now, and was ""`)
	if e.has("stopped") {
		t.Error("the pod is held")
	}
}
