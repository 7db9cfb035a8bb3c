//go:build sim || node

package tui_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"slices"
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
	"github.com/podstep/podstep/agent/labtest"
	"github.com/podstep/podstep/tui/tours"
	"github.com/podstep/podstep/tui/tuitest"
)

// shared is the node that most tests use.
var shared = labtest.NewShared(launch)

func TestMain(m *testing.M) { os.Exit(shared.Main(m)) }

// place is a node with a screen on it, and a client of its agent.
type place struct {
	t     *testing.T
	lab   *labtest.Lab
	agent *client.Client
	// own: the lab ends with the test.
	own bool
	// config is the directory of the settings.
	config string
	*tuitest.Terminal
}

// utf8 is an environment without words about colours and languages. Nothing from another test is remembered in it.
var utf8 = []string{"LANG=C.UTF-8", "LC_ALL=", "LC_CTYPE=", "LC_MESSAGES=", "NO_COLOR=", "ACCESSIBLE=", "TERM=tmux-256color", "XDG_STATE_HOME=/proc/none", "XDG_CONFIG_HOME=/proc/none"}

func open(t *testing.T, width, height int, flags ...string) *place {
	t.Helper()
	l := shared.For(t)
	command := append([]string{labtest.Bin(t, "podstep"), "--socket", l.State.Agent}, flags...)
	config := t.TempDir()
	p := &place{t: t, lab: l, agent: dial(t, l.State.Agent), config: config, Terminal: tuitest.Start(t, width, height, append(slices.Clone(utf8), "XDG_CONFIG_HOME="+config), command...)}
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

// nothingLeft waits until nothing is held or armed. A test that leaves something behind runs out of time here.
func (p *place) nothingLeft() {
	p.t.Helper()
	if p.t.Failed() {
		return // the test stopped somewhere on its way
	}
	c, err := client.Reach(context.Background(), p.agent.Place)
	if err != nil {
		return // the agent is gone, and its holds with it
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

// waitUntil waits for a condition that no event reports, by checking again and again.
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

// waitHeld waits until the agent says that a pod is held.
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

// somePods matches the header of a node with pods. Pods that are gone are in the breadcrumbs alone.
var somePods = regexp.MustCompile(`\b[1-9][0-9]* pods?\b`)

// noWalk says no to the walk that is offered on an empty simulated node.
func (p *place) noWalk() {
	p.t.Helper()
	if runtime != tours.Sim {
		return
	}
	p.UntilThat("the pods, or the walk that is offered", func(s string) bool {
		return strings.Contains(s, "A first walk?") || strings.Contains(s, "default/") || somePods.MatchString(s)
	})
	p.Escape("A first walk?")
}

// holdAtSandbox creates a pod and holds it before the request for its sandbox, by keys alone.
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
	if !p.own {
		p.t.Cleanup(func() { p.lab.Delete(name) })
	}
	p.Until("HELD")
	p.Press("J") // the selection does not go there by itself
	p.Until("HELD  default/" + name)
}

// leave ends podstep while it holds a pod, which makes podstep ask first.
func leave(term *tuitest.Terminal) {
	term.Press("q")
	term.Until("End podstep?")
	term.Press("y")
}

// pressHold presses H and, where the node is not only for one person, answers the question with y. The pod may come to a
// step by itself at once, so that nobody sees the screen wait for it.
func (p *place) pressHold(question, waits string) {
	p.t.Helper()
	done := func(screen string) bool { return strings.Contains(screen, waits) || strings.Contains(screen, "HELD") }
	p.Press("H")
	p.UntilThat(question+" or "+waits, func(screen string) bool { return strings.Contains(screen, question) || done(screen) })
	if strings.Contains(p.Screen(), question) {
		p.Press("y")
	}
	p.UntilThat(waits+" or a hold", done)
}

// choose selects a pod in the palette.
func (p *place) choose(name string) {
	p.t.Helper()
	p.Until(" " + name)
	p.Press(":")
	p.Until("Commands, pods and steps")
	p.Type("default/" + name)
	p.Press("Enter")
	p.Until("› default/" + name)
}

// touch changes a pod, so that its worker has a turn.
func (p *place) touch(name string) {
	p.t.Helper()
	_, err := p.lab.Client.CoreV1().Pods("default").Patch(p.lab.Context(), name, types.StrategicMergePatchType,
		[]byte(`{"metadata":{"labels":{"touched":"yes"}}}`), metav1.PatchOptions{})
	if err != nil {
		p.t.Fatal(err)
	}
}

// pid returns the process of the podstep in the terminal.
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
