//go:build vm

package vm_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/podstep/podstep/agent/labtest"
)

// An emulated machine is some 30 times slower than this one. It takes minutes where others take seconds.
func TestMain(m *testing.M) {
	labtest.Patience = 15 * time.Minute
	os.Exit(m.Run())
}

// TestDebian: podstep attaches to the kubelet of a machine as Debian and kubeadm set it up.
func TestDebian(t *testing.T) {
	n := join(t)
	for _, part := range []struct {
		name string
		test func(*testing.T, *node)
	}{
		{"installed", installed},
		{"doctor", doctor},
		{"attach", attach},
		{"by ssh", bySSH},
		{"in a pod", inPod},
		{"units restart", unitsRestart},
		{"killed", killed},
		{"inside", inside},
		{"refused", refused},
		{"purged", purged},
	} {
		t.Run(part.name, func(t *testing.T) { part.test(t, n.For(t)) })
	}
}

// TestSELinux: TestDebian's checks pass while SELinux enforces Debian's policy.
func TestSELinux(t *testing.T) {
	n := join(t, "security=selinux", "selinux=1", "enforcing=1")
	if out := n.must("getenforce"); out != "Enforcing" {
		t.Fatalf("SELinux is %s", out)
	}
	t.Log("domains: " + n.must("ps -eo label,comm | grep -E 'containerd$|kubelet$' | sort -u"))
	t.Run("attach", func(t *testing.T) { attach(t, n.For(t)) })
	t.Run("by hand", func(t *testing.T) { byHand(t, n.For(t)) })
	t.Run("killed", func(t *testing.T) { killed(t, n.For(t)) })
}

// byHand: a person starts podstep, so its SELinux domain is not the runtime's. Either podstep works, or it gives the
// path back and prints what SELinux refused.
func byHand(t *testing.T, n *node) {
	a := &attached{n: n, t: t, before: n.must(runtimeSocket)}
	t.Logf("we are %s", n.must("id -Z"))
	n.must("setsid podstep attach --no-tui >/run/by-hand 2>&1 </dev/null &")
	n.until("attached", "grep -q '^ready' /run/by-hand || ! pgrep -f '"+processes+"' >/dev/null")
	printed := n.must("cat /run/by-hand")
	t.Log(printed)
	now := n.must(runtimeSocket)
	if now == a.before {
		if !strings.Contains(printed, "SELinux") {
			t.Error("podstep has not taken the path, and does not print why")
		}
	} else {
		if afterInode(now) != afterInode(a.before) {
			t.Errorf("the runtime's socket was %s; while podstep is attached %s is there", a.before, now)
		}
		n.checkSeen(t, "by-hand")
	}
	n.must("pkill -INT -f '^podstep attach' || true")
	a.gone()
}

// doctor knows this machine.
func doctor(t *testing.T, n *node) {
	out := n.must("podstep doctor || true")
	t.Log(out)
	for _, want := range []string{
		`ok +kernel +Linux 6\.1\.`, `ok +cgroup +version 2`, `ok +kubelet \d+ .*runtime /run/containerd/containerd.sock`,
		`ok +cri \d+ +possible`, n.arch.doctor,
	} {
		if !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("podstep doctor prints nothing like %q", want)
		}
	}
}

// attach: podstep sees a pod, holds another one before it has a sandbox, and leaves.
func attach(t *testing.T, n *node) {
	a := n.attach(t)
	n.checkSeen(t, "seen")

	n.hold("held", "cri.RunPodSandbox")
	n.Must("continue", "held")
	t.Logf("let go, pod held was Ready after %v", n.readyAfter("held"))
	n.deletePod("held")

	// The program in the machine traces, as a person would.
	if out := n.must("podstep trace seen --until deleted --for 5m"); !strings.Contains(out, "RunPodSandbox") {
		t.Errorf("podstep trace printed no RunPodSandbox:\n%s", out)
	}
	a.leave()
}

// unitsRestart: the kubelet, and then the runtime, are restarted while podstep is attached.
func unitsRestart(t *testing.T, n *node) {
	a := n.attach(t)
	for _, unit := range []string{"kubelet", "containerd"} {
		podstep := n.mainPID()
		n.must("systemctl restart " + unit)
		n.checkSeen(t, "after-"+unit)
		if now := n.mainPID(); now != podstep {
			t.Errorf("podstep was process %s before %s was restarted, and is %s", podstep, unit, now)
		}
	}
	// The restarted runtime has made another socket.
	n.must("systemctl stop podstep")
	before := a.before
	if a.before = n.must(runtimeSocket); afterInode(a.before) != afterInode(before) {
		t.Errorf("the runtime's socket was %s and is %s", before, a.before)
	}
	a.gone()
}

// killed: podstep is killed while a pod is held. The pod goes on. systemd starts podstep again. If it does not, the
// path is given back.
func killed(t *testing.T, n *node) {
	a := n.attach(t)
	n.hold("killed", "cri.RunPodSandbox")
	podstep, begin := n.mainPID(), time.Now()
	n.kill()
	t.Logf("podstep killed, pod killed was Ready after %v", n.readyAfter("killed"))
	// The kernel detaches all uprobes before it lets the process go.
	n.until("ended: podstep", "[ ! -e /proc/"+podstep+" ]")
	t.Logf("podstep had ended %v after it was killed", time.Since(begin).Round(100*time.Millisecond))
	n.until("started again: podstep", "systemctl is-active -q podstep")
	n.checkSeen(t, "after-kill")
	n.deletePod("killed")

	n.dropIn("once", "Restart=no")
	n.hold("killed-again", "cri.RunPodSandbox")
	n.kill()
	t.Logf("podstep killed, pod killed-again was Ready after %v", n.readyAfter("killed-again"))
	a.gone()
	n.deletePod("killed-again")
	n.dropIn("once", "")
}

// inside: podstep sees steps in the kubelet's process, holds a pod at one of them and lets it go. All of podstep is
// killed while another pod is held: that one goes on when its lease ends.
func inside(t *testing.T, n *node) {
	a := n.attach(t, "--allow-holds")
	t.Logf("probes: %s", n.Must("doctor"))
	t.Logf("links of podstep, one a place: %s", n.must("ls -l /proc/"+n.mainPID()+"/fd | grep -c perf_event"))
	kubelet := n.must("systemctl show -P MainPID kubelet")
	n.hold("inside", "sync.pod")
	n.Must("continue", "inside")
	t.Logf("pod inside was Ready after %v", n.readyAfter("inside"))
	n.checkInside(t)
	n.deletePod("inside")
	n.letsGoKilled(t)
	a.gone()
	if now := n.must("systemctl show -P MainPID kubelet"); now != kubelet {
		t.Errorf("the kubelet was process %s and is %s", kubelet, now)
	}
}

// checkInside checks that the story of pod inside has steps of the kubelet's process.
func (n *node) checkInside(t *testing.T) {
	t.Helper()
	story := n.Story("inside")
	seen := map[string]bool{}
	for _, e := range story {
		seen[e.Step] = true
	}
	for _, step := range []string{"worker.loop", "sync.pod", "sync.volumes", "rt.sync", "rt.sandbox", "cri.RunPodSandbox", "rt.startcontainer", "cri.StartContainer"} {
		if !seen[step] {
			t.Errorf("step %s was not seen in %d events", step, len(story))
		}
	}
	t.Logf("%d events of %d steps of pod inside", len(story), len(seen))
}

// letsGoKilled: a held pod goes on though neither podstep nor its hold process nor podstep restore is there to let it go.
func (n *node) letsGoKilled(t *testing.T) {
	t.Helper()
	n.dropIn("once", "Restart=no\nExecStopPost=")
	n.hold("leased", "sync.pod")
	n.must("pkill -KILL -f '^podstep holder$'; systemctl kill --kill-whom=main --signal=KILL podstep")
	t.Logf("podstep and its hold process killed, pod leased was Ready after %v", n.readyAfter("leased"))
	n.deletePod("leased")
	// The kernel detaches all uprobes before systemd sees the end. Until then the unit's settings count.
	n.until("failed: unit podstep", "systemctl is-failed -q podstep")
	n.dropIn("once", "")
}

// refused: podstep starts no probe that does not know the machine's architecture, and prints why. The path is given back.
func refused(t *testing.T, n *node) {
	if len(n.arch.refused) == 0 {
		t.Skipf("all probes know %s", n.arch.name)
	}
	for probe, want := range n.arch.refused {
		a := &attached{n: n, t: t, before: n.must(runtimeSocket)}
		out, err := n.run("podstep attach --no-tui --allow-holds --risk-the-kubelet --probe " + probe)
		t.Log(out)
		if err == nil || !strings.Contains(out, want) {
			t.Errorf("podstep attach with the %s probe: %v; want why not: %s", probe, err, want)
		}
		a.gone()
	}
}
