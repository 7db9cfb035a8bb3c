//go:build sim

package dap

import (
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-dap"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/labtest"
)

// process is podstep dap, as an editor starts it.
type process struct {
	io.ReadCloser // its output
	in            io.WriteCloser
}

func (p process) Write(b []byte) (int, error) { return p.in.Write(b) }
func (p process) Close() error                { return p.in.Close() }

// startLabEditor starts podstep dap for a lab, and an editor of it.
func startLabEditor(t *testing.T, l *labtest.Lab) *editor {
	t.Helper()
	e, _ := startEditor(t, "--socket", l.State.Agent, "--kubeconfig", l.State.Kubeconfig)
	return e
}

// startEditor starts podstep dap with these flags, and an editor of it. ended gets how that process ends.
func startEditor(t *testing.T, flags ...string) (e *editor, ended chan error) {
	t.Helper()
	patience = labtest.Patience
	cmd := exec.Command(labtest.Bin(t, "podstep"), append([]string{"dap"}, flags...)...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended = make(chan error, 1)
	over := make(chan struct{})
	go func() {
		defer close(over)
		ended <- cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-over
	})
	return editorOn(t, process{out, in}, func() { _ = cmd.Process.Kill() }), ended
}

// written returns all that the session wrote.
func (e *editor) written() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.bytes.String()
}

// TestSimDialogue: on a whole node an editor holds a pod at a step, steps it, and lets it go. Then the editor is killed
// while it holds the pod again: the pod goes on.
func TestSimDialogue(t *testing.T) {
	l := labtest.StartSim(t)
	e := startLabEditor(t, l)
	e.attach("vscode", map[string]any{"pod": "web"})
	e.do("setFunctionBreakpoints", map[string]any{"breakpoints": []any{map[string]any{"name": "cri.RunPodSandbox"}, map[string]any{"name": "cri.StartContainer"}}})
	e.do("configurationDone", nil)
	l.Create(labtest.BusyboxPod("web", labtest.Sleep))
	s := e.stopped()
	names, frames := e.frames(s.ThreadId)
	if !strings.HasPrefix(names, "cri.RunPodSandbox\n") || !strings.HasSuffix(names, "sync.pod\nworker.turn\nworker.loop\npod default/web") || frames[0].Source == nil {
		t.Errorf("the frames are\n%s", names)
	}
	var why dap.EvaluateResponseBody
	e.do("evaluate", map[string]any{"expression": "why", "frameId": frames[0].Id, "context": "repl"}).into(t, &why)
	if !strings.Contains(why.Result, "podstep.held") {
		t.Errorf("why is %s", why.Result)
	}
	e.do("next", map[string]any{"threadId": s.ThreadId})
	if s := e.stopped(); s.Reason != "step" {
		t.Errorf("after next the stop is %+v", s)
	}
	e.do("continue", map[string]any{"threadId": s.ThreadId})
	if s := e.stopped(); s.Reason != "function breakpoint" {
		t.Errorf("after continue the stop is %+v", s)
	}
	if names, _ := e.frames(s.ThreadId); !strings.HasPrefix(names, "cri.StartContainer\n") {
		t.Errorf("the frames are\n%s", names)
	}
	e.end()
	l.UntilReady("web")
	answer, err := l.Agent().ListBreakpoints(l.Context(), &agentpb.ListBreakpointsRequest{})
	if err != nil || len(answer.GetBreakpoints()) > 0 {
		t.Errorf("breakpoints that stay: %v, %v", answer.GetBreakpoints(), err)
	}
}

// TestSimCanaries: nothing that an editor gets of pods with known secrets has one of the secrets.
func TestSimCanaries(t *testing.T) {
	l := labtest.StartSim(t)
	set := labtest.NewCanaries(t, l, "canary")
	e := startLabEditor(t, l)
	e.attach("vscode", map[string]any{"pod": "*", "breakpoints": []any{
		"cri.RunPodSandbox", "cri.CreateContainer", "cri.PullImage", "sync.pod",
		map[string]any{"step": "*", "logMessage": "{pod} {step} {err} {request} {command} {message} {image}"},
	}})
	e.do("setExceptionBreakpoints", map[string]any{"filters": []string{"failed", "sync"}})
	e.do("configurationDone", nil)
	set.CreateAll(t)
	of := map[string]bool{}
	for steps := map[string]bool{}; len(of) < len(set.Pods) || len(steps) < 4; {
		s := e.stopped()
		names, frames := e.frames(s.ThreadId)
		step, _, _ := strings.Cut(names, "\n")
		steps[step], of[frames[len(frames)-1].Name] = true, true
		for _, f := range frames {
			e.variables(f.Id)
			for _, expression := range []string{"request", "command", "error", "image"} {
				e.ask("evaluate", map[string]any{"expression": expression, "frameId": f.Id, "context": "hover"})
			}
		}
		e.do("evaluate", map[string]any{"expression": "why", "frameId": frames[0].Id, "context": "repl"})
		e.do("continue", map[string]any{"threadId": s.ThreadId})
	}
	text := e.written()
	set.Silent(t, "a dialogue with an editor", text)
	for _, p := range set.Pods {
		if !strings.Contains(text, p.Name) {
			t.Errorf("the dialogue is not about %s", p.Name)
		}
	}
}

// TestSimLaunchLab: an editor that has no node gets one, with the pod that its manifest makes, and nothing of it stays.
func TestSimLaunchLab(t *testing.T) {
	manifest := filepath.Join(t.TempDir(), "pod.json")
	pod := labtest.BusyboxPod("web", labtest.Sleep)
	pod.APIVersion, pod.Kind = "v1", "Pod"
	text, err := json.Marshal(pod)
	if err == nil {
		err = os.WriteFile(manifest, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	e, ended := startEditor(t)
	e.do("initialize", map[string]any{"clientID": "vscode", "adapterID": "podstep"})
	e.do("launch", map[string]any{"lab": true, "pod": "web", "manifest": manifest, "breakpoints": []any{"cri.RunPodSandbox"}})
	e.do("configurationDone", nil)
	s := e.stopped()
	if names, _ := e.frames(s.ThreadId); !strings.HasPrefix(names, "cri.RunPodSandbox\n") {
		t.Errorf("the frames are\n%s", names)
	}
	e.do("disconnect", nil)
	if err := <-ended; err != nil {
		t.Errorf("podstep dap: %v", err)
	}
	if left, _ := os.ReadDir(temp); len(left) > 0 {
		t.Errorf("left is %v", left)
	}
}
