//go:build vm

package vm_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/podstep/podstep/agent/lab/labtest"
)

// An emulated machine is some 30 times slower than this one, and takes minutes where others take seconds.
func TestMain(m *testing.M) {
	labtest.Patience = 15 * time.Minute
	os.Exit(m.Run())
}

// TestDebian: podstep attached to the kubelet of a machine as Debian and kubeadm make it.
func TestDebian(t *testing.T) {
	n := join(t)
	for _, part := range []struct {
		name string
		test func(*testing.T, *node)
	}{
		{"doctor", doctor},
		{"attach", attach},
		{"units restart", unitsRestart},
		{"killed", killed},
		{"inside", inside},
	} {
		t.Run(part.name, func(t *testing.T) { part.test(t, n.For(t)) })
	}
}

// TestSELinux: the same while SELinux enforces Debian's policy.
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

// byHand: podstep is started by a person, whose domain is not that of the runtime. Either it works,
// or it gives the path back and prints what SELinux did not let it do.
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
		n.seen(t, "by-hand")
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
		`ok +cri \d+ +possible`, `ok +uprobe \d+ +possible.* each place has a link of its own`,
	} {
		if !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("podstep doctor prints nothing like %q", want)
		}
	}
}

// attach: a pod is seen, another one is held before it has a sandbox, and podstep leaves.
func attach(t *testing.T, n *node) {
	a := n.attach(t)
	n.seen(t, "seen")

	n.hold("held", "cri.RunPodSandbox")
	n.Must("continue", "held")
	t.Logf("let go, pod held was Ready after %v", n.readyAfter("held"))
	n.end("held")

	// By the program in the machine, as a person would.
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
		n.seen(t, "after-"+unit)
		if now := n.mainPID(); now != podstep {
			t.Errorf("podstep was process %s before %s was restarted, and is %s", podstep, unit, now)
		}
	}
	// The runtime that was restarted has made another socket.
	n.must("systemctl stop podstep-attach")
	before := a.before
	if a.before = n.must(runtimeSocket); afterInode(a.before) != afterInode(before) {
		t.Errorf("the runtime's socket was %s and is %s", before, a.before)
	}
	a.gone()
}

// killed: podstep is killed while a pod is held. The pod goes on, systemd starts another podstep,
// and without one the path is given back.
func killed(t *testing.T, n *node) {
	a := n.attach(t)
	n.hold("killed", "cri.RunPodSandbox")
	podstep, begin := n.mainPID(), time.Now()
	n.kill()
	t.Logf("podstep killed, pod killed was Ready after %v", n.readyAfter("killed"))
	// The kernel takes all links back before it lets the process go.
	n.until("ended: podstep", "[ ! -e /proc/"+podstep+" ]")
	t.Logf("podstep had ended %v after it was killed", time.Since(begin).Round(100*time.Millisecond))
	n.until("started again: podstep", "systemctl is-active -q podstep-attach")
	n.seen(t, "after-kill")
	n.end("killed")

	n.dropIn("once", "Restart=no")
	n.hold("killed-again", "cri.RunPodSandbox")
	n.kill()
	t.Logf("podstep killed, pod killed-again was Ready after %v", n.readyAfter("killed-again"))
	a.gone()
	n.end("killed-again")
	n.dropIn("once", "")
}

// inside: steps are seen in the kubelet's process, a pod is held at one of them and let go, and
// another one goes on when its lease ends after all of podstep was killed.
func inside(t *testing.T, n *node) {
	a := n.attach(t, "--allow-holds")
	t.Logf("probes: %s", n.Must("doctor"))
	t.Logf("links of podstep, one a place: %s", n.must("ls -l /proc/"+n.mainPID()+"/fd | grep -c perf_event"))
	kubelet := n.must("systemctl show -P MainPID kubelet")
	n.hold("inside", "sync.pod")
	n.Must("continue", "inside")
	t.Logf("let go, pod inside was Ready after %v", n.readyAfter("inside"))
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
	n.end("inside")

	// Neither podstep nor its hold process is there to let this one go, nor podstep restore.
	n.dropIn("once", "Restart=no\nExecStopPost=")
	n.hold("leased", "sync.pod")
	n.must("pkill -KILL -f '^podstep holder$'; systemctl kill --kill-whom=main --signal=KILL podstep-attach")
	t.Logf("podstep and its hold process killed, pod leased was Ready after %v", n.readyAfter("leased"))
	a.gone()
	n.end("leased")
	n.dropIn("once", "")
	if now := n.must("systemctl show -P MainPID kubelet"); now != kubelet {
		t.Errorf("the kubelet was process %s and is %s", kubelet, now)
	}
}
