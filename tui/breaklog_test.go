package tui

import (
	"slices"
	"testing"

	"github.com/podstep/podstep/agent/agentpb"
)

// logOf returns what the last breakpoint of the world logs.
func (d *desk) logOf() (*agentpb.AddBreakpointRequest, *agentpb.LogAction) {
	d.t.Helper()
	if len(d.w.points) == 0 {
		d.t.Fatalf("no breakpoint is set:\n%s", d.look())
	}
	spec := d.w.points[len(d.w.points)-1].Spec
	return spec, spec.GetLog()
}

// TestLogForm: the form for breakpoints has the action log, with the values that the step has, and a condition.
func TestLogForm(t *testing.T) {
	d := started(t)
	d.press("b").write("cri.PullImage").press("down", "right", "down", "left").sees("log values", "  if  ")
	d.press("down").sees("all values", "image").write("im").press("tab").sees("with    image")
	d.write(",to").press("tab").sees("with    image,took")
	d.press("down").write("slow>2s").press("down", "down", "enter").called("break default/web cri.PullImage")
	spec, log := d.logOf()
	if !slices.Equal(log.GetFields(), []string{"image", "took"}) || log.GetFilter() != "slow>2s" || spec.On != agentpb.On_ON_EXIT || spec.Times != 0 {
		t.Errorf("the request is %v", spec)
	}
	d.poll()
	d.press("B").sees("logs image, took if slow")
}

// TestLogFormShowsWhatIsWrong: a name that the step does not have, a value that is not there yet, and a condition that
// nobody can read are refused before anything is asked of the agent.
func TestLogFormShowsWhatIsWrong(t *testing.T) {
	for _, c := range []struct{ at, value, condition, sees string }{
		{"cri.PullImage", "nothing", "", `has no value "nothing"`},
		{"cri.PullImage", "took", "", `"took" is known only when the step returns`},
		{"cri.PullImage", "image", "slow>", "the condition: "},
		{"kubelet.go:1900", "len(", "", `"len(" is no expression`},
		{"kubelet.go:1900", "pod", "a b", "the condition: "},
	} {
		d := started(t)
		d.press("b").write(c.at).press("down", "down", "left", "down").write(c.value).press("down").write(c.condition)
		d.press("down", "down", "enter").sees(c.sees).called()
	}
}

// TestLogAtLine: at a line of the code the values are expressions.
func TestLogAtLine(t *testing.T) {
	d := started(t)
	d.press("b").write("kubelet.go:1900").press("down", "down", "left", "down").sees("expressions").write("updateType, len(pod.Spec.Containers)")
	d.press("down").sees("an expression").write("updateType != 0").press("down", "down", "enter").called("break default/web kubelet.go:1900")
	spec, log := d.logOf()
	if spec.At != "kubelet.go:1900" || spec.Step != "" || len(log.GetFields()) != 2 || log.GetFilter() != "updateType != 0" {
		t.Errorf("the request is %v", spec)
	}
}

// TestLogOfReadOnlyAgent: a read-only agent takes a log at a step, and the form says that it takes nothing else. The log can
// be removed again.
func TestLogOfReadOnlyAgent(t *testing.T) {
	d := started(t)
	d.m.info.ReadOnly = true
	d.press("H").sees("read-only").called()
	d.press("b").sees("log values").write("cri.PullImage").press("down", "down", "right", "down", "down", "down", "enter").sees("the agent is read-only").called()
	d.press("esc", "b").write("kubelet.go:1900").press("down", "down", "down", "down", "down", "down", "enter").sees("it logs values at steps").called()
	d.press("esc", "b").write("cri.PullImage").press("down", "down", "down", "down", "down", "down", "enter").called("break default/web cri.PullImage")
	if _, log := d.logOf(); log == nil || log.Fields != nil {
		t.Errorf("the log is %v", log)
	}
	d.poll()
	d.press("B", "x").called("remove")
}

// TestLogKey: a key opens the form for a log at the selected step.
func TestLogKey(t *testing.T) {
	d := started(t)
	d.press("v").sees("log values", "  if  ")
	d.press("esc").m.info.Logs = false
	d.press("v").sees("older than this podstep")
}

// TestHoldRefusedNamesLog: where no pod can be held, the form names the log, which is possible there.
func TestHoldRefusedNamesLog(t *testing.T) {
	d := started(t)
	for _, s := range d.w.info.Steps {
		if s.HoldEnter != "no" || s.HoldExit != "no" {
			continue
		}
		d.press("b").write(s.Name).press("down", "down", "down", "down", "down", "enter")
		if why := d.m.checkHold(s.Name); why != nil {
			d.sees("log values").called()
			return
		}
		d.press("esc")
	}
	t.Fatal("a pod can be held at each step")
}
