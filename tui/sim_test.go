//go:build sim

package tui_test

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/podstep/podstep/agent/labtest"
	"github.com/podstep/podstep/tui/tours"
	"github.com/podstep/podstep/tui/tuitest"
)

// These tests run on a node that is all simulated.
const runtime = tours.Sim

// The nodes have a device, for the walk that needs one.
var launch, start = launchSim, labtest.StartSim

func launchSim(flags ...string) (*labtest.Lab, error) {
	return labtest.LaunchSim(append(flags, "--devices=1")...)
}

// TestSurroundings: the screen follows the environment and the switches.
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

// TestNoColour draws no colour at all, and still marks the selected line.
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

// TestPlain: podstep prints lines without a screen, and the first one says why.
func TestPlain(t *testing.T) {
	l := shared.For(t)
	term := tuitest.Start(t, 100, 30, append(utf8, "ACCESSIBLE=1"), labtest.Bin(t, "podstep"), "--socket", l.State.Agent)
	term.UntilPrinted("plain lines (ACCESSIBLE)")
	term.UntilPrinted("Agent: node node-1")
	if got := term.Flags("alternate_on"); got != "alternate_on=0" {
		t.Errorf("plain lines on the alternate screen: %s", got)
	}
	l.Create(labtest.BusyboxPod("plain", labtest.Sleep))
	t.Cleanup(func() { l.Delete("plain") })
	term.UntilPrinted("Pod default/plain: step cri.RunPodSandbox")
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
	term.Until(" recorded")
	term.Until("replay")
	term.Press("H")
	term.Until("a trace file is a recording")
	term.Press("0")
	term.Until("replay 00:00")
	term.Press("$", ",", ",")
	term.Press("q")
	term.Usable()
}
