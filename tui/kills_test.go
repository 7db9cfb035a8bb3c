//go:build sim || node

package tui_test

import (
	"context"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/podstep/podstep/agent/labtest"
	"github.com/podstep/podstep/tui/tuitest"
)

// openOn opens the screen on a test's own lab.
func openOn(t *testing.T, l *labtest.Lab, flags ...string) *place {
	t.Helper()
	command := append([]string{labtest.Bin(t, "podstep"), "--socket", l.State.Agent}, flags...)
	p := &place{t: t, lab: l, own: true, agent: dial(t, l.State.Agent), Terminal: tuitest.Start(t, 120, 36, utf8, command...)}
	p.Until(" live ")
	p.noWalk()
	return p
}

// kubelet sends a signal to the lab's kubelet.
func (p *place) kubelet(s syscall.Signal) {
	p.t.Helper()
	if err := unix.Kill(p.lab.State.Pids["kubelet"], s); err != nil {
		p.t.Fatal(err)
	}
}

// stop stops the lab's kubelet, and waits until none of its threads runs.
func (p *place) stop() {
	p.t.Helper()
	p.kubelet(syscall.SIGSTOP)
	waitUntil(p.t, "the kubelet stands still", func(context.Context) bool {
		return labtest.Stopped(p.lab.State.Pids["kubelet"])
	})
}

// TestKilledWithBreakpoint: a screen that is killed at its breakpoint leaves neither the pod held nor the breakpoint
// armed for other pods.
func TestKilledWithBreakpoint(t *testing.T) {
	for name, end := range map[string]func(*place){
		"kill -9":                func(p *place) { p.signal(syscall.SIGKILL) },
		"the terminal is closed": func(p *place) { p.Hangup() },
	} {
		t.Run(name, func(t *testing.T) {
			p := open(t, 120, 36)
			p.noWalk()
			pod := "broken-" + strings.Fields(name)[0]
			p.holdAtSandbox(pod)
			p.waitHeld("cri.RunPodSandbox")
			p.choose(pod)
			p.Press("s") // the next hold is not the breakpoint's
			p.UntilGone("before cri.RunPodSandbox")
			p.waitHeld("")
			end(p)
			p.nothingLeft()
			p.lab.UntilReady(pod)
		})
	}
}

// TestAgentStops: the screen says so when an agent does not answer, because its machine is busy or a debugger has
// its process. The pod and the screen go on when the agent wakes.
func TestAgentStops(t *testing.T) {
	p := openOn(t, start(t))
	p.holdAtSandbox("asleep")
	p.stop()
	p.Until("has not answered")
	p.UntilGone("HELD")
	p.Until("reconnecting")
	p.kubelet(syscall.SIGCONT)
	p.Until(" live ")
	p.lab.UntilReady("asleep")
	p.nothingLeft()

	// Leaving needs no answer either.
	p.holdAtSandbox("left")
	p.stop()
	leave(p.Terminal)
	p.Until("not all could be let go")
	p.Usable()
	p.kubelet(syscall.SIGCONT)
	p.lab.UntilReady("left")
	p.nothingLeft()
}

// TestLabEnds: the node ends under the screen.
func TestLabEnds(t *testing.T) {
	l, err := launch()
	if err != nil {
		t.Fatal(err)
	}
	p := openOn(t, l.For(t))
	p.holdAtSandbox("last")
	p.Press("?") // in the middle of something
	p.Until("type to search")
	if err := l.Stop(); err != nil {
		t.Error(err)
	}
	p.Press("Escape")
	p.UntilGone("type to search")
	p.Until("reconnecting")
	p.UntilGone("HELD")
	p.Press("q")
	p.Usable()
}
