//go:build node

package tui_test

import (
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/podstep/podstep/agent/labtest"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/tui/tuitest"
)

// TestSSHOnNode: the screen reaches a node's agent by the user's ssh and the node's sshd. ssh asks before the screen has
// the terminal, and never after. However the connection breaks, the pod that was held through it goes on, and the screen
// comes back by itself.
func TestSSHOnNode(t *testing.T) {
	l := start(t)
	d := startSSHD(t, l)
	p := &place{t: t, lab: l, own: true, agent: dial(t, l.State.Agent),
		Terminal: tuitest.Start(t, 120, 36, append(slices.Clone(utf8), d.path), labtest.Bin(t, "podstep"), "--ssh", "node-1")}
	p.Until("continue connecting (yes/no")
	p.Type("yes")
	p.Press("Enter")
	p.Until(" live ")
	p.noWalk()

	p.holdAtSandbox("killed")
	session := d.session()
	d.signal(session, syscall.SIGKILL)
	p.UntilGone("HELD")
	p.Until(" live ")
	l.UntilReady("killed")
	p.nothingLeft()

	// As if the network were gone: nothing is closed, and nothing answers.
	p.holdAtSandbox("silent")
	session = d.session()
	d.signal(session, syscall.SIGSTOP)
	p.UntilGone("HELD")
	p.Until(" live ")
	l.UntilReady("silent")
	d.signal(session, syscall.SIGKILL) // as sshd's own timeout would end it
	p.nothingLeft()

	p.Press("q")
	p.Usable()
	d.untilSessions(0)
	d.checkHold()
	d.checkRefused()
}

// checkHold holds a pod by commands, and checks that both ways to the agent show the same.
func (d *sshd) checkHold() {
	d.t.Helper()
	if out, errs, code := d.podstep("break", "add", "default/by-command", "--step", "cri.RunPodSandbox", "--lease", "5m", "--times", "1", "--ssh", "node-1"); code != 0 {
		d.t.Fatalf("podstep break add: exit code %d\n%s%s", code, out, errs)
	}
	d.lab.Create(labtest.BusyboxPod("by-command", labtest.Sleep))
	d.lab.UntilEvent("by-command", "hold", func(e probes.Event) bool { return e.Kind == probes.Held })
	for _, command := range [][]string{{"break", "ls", "-o", "json"}, {"steps", "-o", "json"}} {
		here := d.lab.Must(command...)
		there, errs, code := d.podstep(append(command, "--ssh", "node-1")...)
		if there != here || code != 0 {
			d.t.Errorf("podstep %s prints %s, and by ssh, with exit code %d: %s%s", strings.Join(command, " "), here, code, there, errs)
		}
	}
	if _, errs, code := d.podstep("continue", "by-command", "--ssh", "node-1"); code != 0 {
		d.t.Errorf("podstep continue by ssh: exit code %d: %s", code, errs)
	}
	d.lab.UntilReady("by-command")
}

// checkRefused: if ssh or the node refuses, a sentence names the host and says what ssh printed.
func (d *sshd) checkRefused() {
	d.t.Helper()
	for host, want := range map[string]string{
		"strange": "Host key verification failed",
		"keyless": "Permission denied",
		"closed":  "Connection refused",
		"bare":    "podstep is not in the PATH there",
		"other":   "is another program called podstep there?",
	} {
		out, errs, code := d.podstep("pods", "--ssh", host)
		if code == 0 || out != "" || !strings.Contains(errs, want) || !strings.Contains(errs, host) || strings.Contains(errs, "authorized people") {
			d.t.Errorf("podstep pods --ssh %s: exit code %d, it printed %q and %q", host, code, out, errs)
		}
	}
}
