//go:build sim || node

package tui_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/podstep/podstep/agent/labtest"
)

// TestNewcomer: guided by the screen alone, a person holds a pod at the creation of its sandbox, steps it to the
// next call to the runtime, sees the call's request, and lets the pod go.
func TestNewcomer(t *testing.T) {
	p := open(t, 160, 50)
	p.noWalk()
	p.Until("b break") // the footer leads
	p.holdAtSandbox("newcomer")
	p.UntilThat("its request", func(s string) bool {
		return strings.Contains(s, "cri.RunPodSandbox") && strings.Contains(s, "hostname: newcomer")
	})
	p.Until("s step")
	p.Until("next CRI call")
	p.Press("i")
	p.UntilThat("the next call to the runtime, and its request", func(s string) bool {
		return strings.Contains(s, "before cri.PodSandboxStatus") && strings.Contains(s, "podSandboxID:")
	})
	p.Until("c let go")
	p.Press("c")
	p.UntilGone("HELD")
	p.lab.UntilReady("newcomer")
	p.atHome("newcomer")
}

// atHome does, by keys alone, things that people know from other programs of this kind, and leaves with Q.
func (p *place) atHome(pod string) {
	p.t.Helper()
	p.Press("p", "g", "C-f")
	p.Type("volumes")
	p.Until(`"volumes" 1 of `)
	p.Press("Enter", "n", "'")
	p.Until("bookmark set")
	p.Press("Escape")
	p.UntilGone(`"volumes"`)
	p.Press("G", `\;`) // a semicolon alone ends a command of tmux
	p.Until("bookmark 1 of 1")
	p.Press("K")
	p.Until("kind: Pod")
	p.Escape("kind: Pod")
	p.Press("X")
	p.Until("Scheduled")
	p.Escape("Scheduled")
	p.Press("P")
	p.Until("--- ")
	p.Escape("--- ")
	p.Press("A")
	p.Until("by name")
	p.Press("Space")
	p.Until("1 marked")
	p.pressHold("Hold the marked pods (1)?", "waiting for the marked pods (1)")
	p.touch(pod)
	p.Until("pods held: 1")
	p.Press("c")
	p.UntilGone("HELD")
	text, err := os.ReadFile(filepath.Join(p.config, "podstep", "config.yaml"))
	if err != nil || !strings.Contains(string(text), "sort: name\n") {
		p.t.Errorf("the settings are %q, %v", text, err)
	}
	p.Press("Q")
	p.Usable()
	p.Resize(160, 80) // makes the picture above the prompt visible
	p.Until(" " + pod)
}

// TestEndsLetGo: however the program ends, the pods that it held go on, and the terminal is as before.
func TestEndsLetGo(t *testing.T) {
	for i, c := range []struct {
		name   string
		end    func(*place)
		usable bool
	}{
		{"q", func(p *place) { leave(p.Terminal) }, true},
		{"Ctrl-C", func(p *place) { p.Press("C-c", "C-c") }, true},
		{"Ctrl-C in a dialog", func(p *place) { p.Press("H", "?", "C-c", "C-c") }, true},
		{"SIGTERM", func(p *place) { p.signal(syscall.SIGTERM) }, true},
		{"SIGINT", func(p *place) { p.signal(syscall.SIGINT) }, true},
		{"SIGHUP", func(p *place) { p.signal(syscall.SIGHUP) }, true},
		{"the terminal is closed", func(p *place) { p.Hangup() }, false},
		{"kill -9", func(p *place) { p.signal(syscall.SIGKILL) }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := open(t, 120, 36)
			p.noWalk()
			name := fmt.Sprintf("ends-%d", i)
			p.lab.Create(labtest.BusyboxPod(name, labtest.Sleep))
			t.Cleanup(func() { p.lab.Delete(name) })
			p.lab.UntilReady(name)
			p.choose(name)
			p.pressHold("Hold default/"+name, "waiting for default/"+name)
			p.touch(name)
			p.waitHeld("")
			p.Until("HELD")
			c.end(p)
			p.nothingLeft()
			if c.usable {
				p.Usable()
			}
		})
	}
}
