//go:build sim

package tui_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/client"
	"github.com/podstep/podstep/agent/lab/labtest"
	"github.com/podstep/podstep/tui/tuitest"
)

// shared is the node that most tests use.
var shared *labtest.Lab

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) (code int) {
	var err error
	if shared, err = labtest.LaunchSim(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code = m.Run()
	if err := shared.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	return code
}

// place is a node with a screen on it, and an eye on the agent beside it.
type place struct {
	t     *testing.T
	lab   *labtest.Lab
	agent *client.Client
	*tuitest.Terminal
}

// utf8 is an environment that says nothing about colours and languages.
var utf8 = []string{"LANG=C.UTF-8", "LC_ALL=", "LC_CTYPE=", "LC_MESSAGES=", "NO_COLOR=", "ACCESSIBLE=", "TERM=tmux-256color"}

func open(t *testing.T, width, height int, flags ...string) *place {
	t.Helper()
	l := shared.For(t)
	command := append([]string{labtest.Bin(t, "podstep"), "--socket", l.State.Agent}, flags...)
	p := &place{t: t, lab: l, agent: dial(t, l.State.Agent), Terminal: tuitest.Start(t, width, height, utf8, command...)}
	p.Until(" live ")
	t.Cleanup(p.nothingLeft)
	return p
}

func dial(t *testing.T, socket string) *client.Client {
	t.Helper()
	c, err := client.Dial(t.Context(), socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// nothingLeft waits until nothing is held and armed. A test that leaves
// something behind runs out of time here.
func (p *place) nothingLeft() {
	p.t.Helper()
	if p.t.Failed() {
		return // it stopped somewhere on its way
	}
	c, err := client.Dial(context.Background(), p.agent.Path)
	if err != nil {
		return // the agent is gone, and with it what it held
	}
	defer c.Close()
	waitUntil(p.t, "nothing is held and armed", func(ctx context.Context) bool {
		holds, err := c.ListHolds(ctx, &agentpb.ListHoldsRequest{})
		points, err2 := c.ListBreakpoints(ctx, &agentpb.ListBreakpointsRequest{})
		if err := errors.Join(err, err2); err != nil {
			p.t.Error(err)
			return true
		}
		return len(holds.Holds)+len(points.Breakpoints) == 0
	})
}

// waitUntil asks again and again what no event tells.
func waitUntil(t *testing.T, what string, is func(context.Context) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), labtest.Patience)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !is(ctx) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

// waitHeld waits until a pod is held, for the agent.
func (p *place) waitHeld(step string) {
	p.t.Helper()
	waitUntil(p.t, "a pod is held at "+step, func(ctx context.Context) bool {
		holds, err := p.agent.ListHolds(ctx, &agentpb.ListHoldsRequest{})
		if err != nil {
			p.t.Fatal(err)
		}
		return len(holds.Holds) > 0 && (step == "" || holds.Holds[0].Step == step)
	})
}

// noWalk says no to the walk that is offered on an empty lab.
func (p *place) noWalk() {
	p.t.Helper()
	p.UntilThat("the pods, or the walk that is offered", func(s string) bool {
		return strings.Contains(s, "A first walk?") || strings.Contains(s, "default/")
	})
	for strings.Contains(p.Screen(), "A first walk?") {
		p.Press("Escape")
		time.Sleep(100 * time.Millisecond) // the keys are taken only after quiet
	}
}

// holdAtSandbox creates a pod that is held before its sandbox is asked for, by
// keys alone.
func (p *place) holdAtSandbox(name string) {
	p.t.Helper()
	p.Press("b")
	p.Until("Breakpoint")
	p.Press("Up", "Up", "Up", "Up", "Up", "Up", "C-u")
	p.Type("default/" + name)
	p.Press("Down", "C-u")
	p.Type("RunPodSandbox")
	p.Press("Tab")
	p.Until("cri.RunPodSandbox")
	p.Press("Down", "Down", "Down", "Down", "Down", "Enter")
	p.Until("breakpoint")
	pod := labtest.BusyboxPod(name, labtest.Sleep)
	p.lab.Create(pod)
	p.t.Cleanup(func() { p.lab.Delete(name) })
	p.Until("HELD")
}

// TestNewcomer: with only the screen to go by, a pod is held at the creation of
// its sandbox, stepped to the next call to the runtime, its request is seen, and
// it is let go.
func TestNewcomer(t *testing.T) {
	p := open(t, 160, 50)
	p.noWalk()
	p.Until("b break") // the footer leads
	p.holdAtSandbox("newcomer")
	p.Until("RunPodSandbox")
	p.Until("request")
	p.Until("s step")
	p.Until("next CRI call")
	p.Press("i")
	p.UntilThat("the next call to the runtime", func(s string) bool {
		return strings.Contains(s, "HELD") && !strings.Contains(s, "before cri.RunPodSandbox")
	})
	p.Until("c let go")
	p.Press("c")
	p.UntilGone("HELD")
	p.lab.UntilReady("newcomer")
	p.Press("q")
	p.Usable()
}

// TestEndsLetGo: however the program ends, what it held goes on, and the
// terminal is as it was.
func TestEndsLetGo(t *testing.T) {
	for i, c := range []struct {
		name   string
		end    func(*place)
		usable bool
	}{
		{"q", func(p *place) { p.Press("q") }, true},
		{"Ctrl-C", func(p *place) { p.Press("C-c") }, true},
		{"Ctrl-C in a dialog", func(p *place) { p.Press("H", "?", "C-c") }, true},
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
			p.Press("H")
			p.Until("Hold default/" + name)
			p.Press("Right", "Enter")
			p.Until("waiting for default/" + name)
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

// choose selects a pod by the palette.
func (p *place) choose(name string) {
	p.t.Helper()
	p.Until("default/" + name)
	p.Press(":")
	p.Until("Commands, pods and steps")
	p.Type("default/" + name)
	p.Press("Enter")
	p.Until("› default/" + name)
}

// touch changes a pod, so that its worker looks at it.
func (p *place) touch(name string) {
	p.t.Helper()
	_, err := p.lab.Client.CoreV1().Pods("default").Patch(p.lab.Context(), name, types.StrategicMergePatchType,
		[]byte(`{"metadata":{"labels":{"touched":"yes"}}}`), metav1.PatchOptions{})
	if err != nil {
		p.t.Fatal(err)
	}
}

// pid is that of the podstep in the terminal.
func (p *place) pid() int {
	p.t.Helper()
	out, err := exec.Command("pgrep", "-f", "-n", "^"+regexp.QuoteMeta(labtest.Bin(p.t, "podstep")+" --socket "+p.lab.State.Agent)).Output()
	if err != nil {
		p.t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil {
		p.t.Fatal(err)
	}
	return pid
}

func (p *place) signal(s syscall.Signal) {
	p.t.Helper()
	if err := unix.Kill(p.pid(), s); err != nil {
		p.t.Fatal(err)
	}
}

// TestSurroundings: what the environment and the switches ask of the screen.
func TestSurroundings(t *testing.T) {
	p := open(t, 100, 30, "--ascii")
	p.noWalk()
	for i, r := range p.Screen() {
		if r > 0x7e || (r < ' ' && r != '\n') {
			t.Errorf("--ascii draws %q, the %dth character", r, i)
			break
		}
	}
	p.Press("C-c")
	p.Usable()
}

// TestNoColour draws no colour at all, and still tells the selected line.
func TestNoColour(t *testing.T) {
	l := shared.For(t)
	term := tuitest.Start(t, 100, 30, append(utf8, "NO_COLOR=1"), labtest.Bin(t, "podstep"), "--socket", l.State.Agent)
	term.Until("live")
	colour := regexp.MustCompile(`\x1b\[[0-9;]*\b(3[0-7]|38|4[0-7]|48|9[0-7]|10[0-7])\b[0-9;:]*m`)
	if found := colour.FindString(term.Colours()); found != "" {
		t.Errorf("NO_COLOR is set and there is %q", found)
	}
	term.Press("C-c")
	term.Usable()
}

// TestPlain: lines without a screen, and the first says why.
func TestPlain(t *testing.T) {
	l := shared.For(t)
	term := tuitest.Start(t, 100, 30, append(utf8, "ACCESSIBLE=1"), labtest.Bin(t, "podstep"), "--socket", l.State.Agent)
	term.Until("plain lines, because of ACCESSIBLE")
	term.Until("Agent: node node-1")
	if got := term.Flags("alternate_on"); got != "alternate_on=0" {
		t.Errorf("plain lines on the alternate screen: %s", got)
	}
	l.Create(labtest.BusyboxPod("plain", labtest.Sleep))
	t.Cleanup(func() { l.Delete("plain") })
	term.Until("Pod default/plain: step cri.RunPodSandbox")
	term.Type("quit")
	term.Press("Enter")
	term.Usable()
}

// TestReplayFile: a recording opens as a screen, with a clock.
func TestReplayFile(t *testing.T) {
	l := shared.For(t)
	l.Create(labtest.BusyboxPod("recorded", labtest.Sleep))
	t.Cleanup(func() { l.Delete("recorded") })
	l.UntilReady("recorded")
	file := filepath.Join(t.TempDir(), "x.podstep")
	out, err := exec.Command(labtest.Bin(t, "podstep"), "--socket", l.State.Agent, "trace", "default/recorded", "-w", file, "--until", "ready").CombinedOutput()
	if err != nil {
		t.Fatalf("record: %v: %s", err, out)
	}
	term := tuitest.Start(t, 120, 36, utf8, labtest.Bin(t, "podstep"), "replay", file)
	term.Until("default/recorded")
	term.Until("replay")
	term.Press("H")
	term.Until("a trace file only tells what was")
	term.Press("0")
	term.Until("replay 00:00")
	term.Press("$", ",", ",")
	term.Press("q")
	term.Usable()
}
