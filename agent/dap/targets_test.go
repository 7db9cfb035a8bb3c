package dap

import (
	"testing"

	"github.com/google/go-dap"

	"github.com/podstep/podstep/agent"
)

// targets returns the steps that an editor can choose to step into.
func (e *editor) targets(frame int) map[string]dap.StepInTarget {
	e.t.Helper()
	var body dap.StepInTargetsResponseBody
	e.do("stepInTargets", map[string]any{"frameId": frame}).into(e.t, &body)
	out := map[string]dap.StepInTarget{}
	for _, target := range body.Targets {
		out[target.Label] = target
	}
	return out
}

// TestStepInTargets: a person chooses into which of a call's steps the pod goes, and comes there past the others.
func TestStepInTargets(t *testing.T) {
	k := newKubelet(t, agent.Options{})
	e := newEditor(t, Options{})
	place, done := k.holdAt(e, "vscode", newPod("web"), "sync.pod", nil)
	_, frames := e.frames(place)
	targets := e.targets(frames[0].Id)
	if targets["sync.volumes"].Line <= frames[0].Line || targets["rt.sync"].Line <= targets["sync.volumes"].Line {
		t.Errorf("in line %d the targets are %v", frames[0].Line, targets)
	}
	if outer := e.targets(frames[1].Id); len(outer) != 0 {
		t.Errorf("from a frame in which the pod is not held it can go into %v", outer)
	}
	target := targets["rt.sync"]
	e.refused("stepIn", map[string]any{"threadId": place, "targetId": frames[0].Id}, "no step")
	e.do("stepIn", map[string]any{"threadId": place, "targetId": target.Id})
	e.stopped()
	if names, _ := e.frames(place); names != "rt.sync\nsync.pod\nworker.turn\nworker.loop\npod default/web" {
		t.Errorf("the pod came to\n%s", names)
	}
	e.refused("stepIn", map[string]any{"threadId": place, "targetId": target.Id}, "the pod has gone on")
	e.do("setFunctionBreakpoints", map[string]any{"breakpoints": []any{}})
	e.do("continue", map[string]any{"threadId": place})
	<-done
	e.do("disconnect", nil)
	k.nothingArmed(k.agent())
}

// TestStepInTargetsOfRecording: in a recording the steps are those to which the pod came.
func TestStepInTargetsOfRecording(t *testing.T) {
	e := newEditor(t, Options{Open: openTrace})
	e.do("initialize", nil)
	e.do("launch", map[string]any{"trace": labTrace, "pod": "web", "breakpoints": []any{"sync.pod"}})
	e.event("initialized", nil)
	e.do("configurationDone", nil)
	place := e.stopped().ThreadId
	e.do("continue", map[string]any{"threadId": place})
	e.stopped()
	_, frames := e.frames(place)
	targets := e.targets(frames[0].Id)
	if targets["sync.volumes"].Line == 0 || targets["cri.RunPodSandbox"].Id == 0 || targets["term.pod"].Id != 0 {
		t.Errorf("the targets are %v", targets)
	}
	e.do("stepIn", map[string]any{"threadId": place, "targetId": targets["rt.sync"].Id})
	e.stopped()
	names, frames := e.frames(place)
	if len(frames) < 2 || frames[0].Name != "rt.sync" || frames[1].Name != "sync.pod" {
		t.Errorf("the pod came to\n%s", names)
	}
}
