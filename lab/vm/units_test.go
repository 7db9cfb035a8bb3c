//go:build vm

package vm_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/podstep/podstep/agent/labtest"
	"github.com/podstep/podstep/probes"
)

// runtimeSocket prints what stands at the path of the runtime: the file's inode, owner, mode, and label, if there are
// labels.
const runtimeSocket = "stat -c 'inode %i, %U:%G, mode %a, label %C' /run/containerd/containerd.sock 2>/dev/null || true"

// processes matches the beginnings of the command lines of podstep's processes.
const processes = "^(/usr/bin/)?podstep "

// attached is podstep's unit, with what must be as before when the unit has ended.
type attached struct {
	n      *node
	t      *testing.T
	before string // runtimeSocket
}

// attach starts the package's unit, with more flags if there are any. It returns when systemd
// reports the unit started, which means that podstep is attached.
func (n *node) attach(t *testing.T, flags ...string) *attached {
	t.Helper()
	a := &attached{n: n, t: t, before: n.must(runtimeSocket)}
	n.dropIn("flags", "ExecStart=\nExecStart=/usr/bin/podstep attach --no-tui --metrics :9090 "+strings.Join(flags, " "))
	begin := time.Now()
	n.must("systemctl start podstep")
	t.Logf("attached after %v", time.Since(begin).Round(100*time.Millisecond))
	if now := n.must(runtimeSocket); afterInode(now) != afterInode(a.before) || now == a.before {
		t.Errorf("the runtime's socket was %s; while podstep is attached %s is there", a.before, now)
	}
	return a
}

func afterInode(socket string) string {
	_, after, _ := strings.Cut(socket, ",")
	return after
}

// dropIn makes the unit differ from the package's, until the drop-in is removed or the machine ends.
func (n *node) dropIn(name, settings string) {
	n.tb.Helper()
	n.must(fmt.Sprintf(`dir=/run/systemd/system/podstep.service.d
		mkdir -p $dir
		printf '%%s\n' '[Service]' '%s' >$dir/%s.conf
		systemctl daemon-reload`, settings, name))
}

// leave stops the unit, and checks that the node is then as it was.
func (a *attached) leave() {
	a.t.Helper()
	begin := time.Now()
	a.n.must("systemctl stop podstep")
	a.t.Logf("left after %v", time.Since(begin).Round(100*time.Millisecond))
	a.gone()
	if left := a.n.must("find /run/podstep ! -type d"); left != "" {
		a.t.Errorf("left behind in /run/podstep: %s", left)
	}
}

// gone waits until nothing of podstep is left, and checks that the path is as before.
func (a *attached) gone() {
	a.t.Helper()
	a.n.until("gone: podstep's processes", "! pgrep -f '"+processes+"' >/dev/null")
	if now := a.n.must(runtimeSocket); now != a.before {
		a.t.Errorf("the runtime's socket was %s and is %s", a.before, now)
	}
	// A podstep that is killed leaves the agent's socket, until the next one makes it anew.
	if left := a.n.must("find /run/containerd -maxdepth 1 -name '*podstep*'; find /run/podstep ! -type d ! -name agent.sock 2>/dev/null || true"); left != "" {
		a.t.Errorf("left behind: %s", left)
	}
}

// until waits until a command in the machine succeeds.
func (n *node) until(what, command string) {
	n.tb.Helper()
	wait := fmt.Sprintf("until %s; do [ $SECONDS -lt %.0f ] || exit 1; sleep 0.5; done", command, labtest.Patience.Seconds())
	if out, err := n.run(wait); err != nil {
		n.tb.Fatalf("not %s: %v: %s", what, err, out)
	}
}

// createPod creates a pod on the machine's node.
func (n *node) createPod(name string) {
	n.tb.Helper()
	p := labtest.BusyboxPod(name, labtest.Sleep)
	p.Spec.NodeName = nodeName
	n.Create(p)
}

// deletePod deletes a pod.
func (n *node) deletePod(name string) {
	n.tb.Helper()
	n.Delete(name)
	n.UntilGone(name)
}

// checkSeen creates and deletes a pod, and checks that podstep shows its calls.
func (n *node) checkSeen(t *testing.T, name string) {
	t.Helper()
	begin := time.Now()
	n.createPod(name)
	for _, step := range []string{"cri.RunPodSandbox", "cri.CreateContainer", "cri.StartContainer"} {
		n.UntilEvent(name, "end of "+step, func(e probes.Event) bool {
			return e.Kind == probes.Exit && e.Step == step && e.Error == ""
		})
	}
	n.UntilReady(name)
	t.Logf("pod %s was seen, and Ready after %v", name, time.Since(begin).Round(100*time.Millisecond))
	n.deletePod(name)
}

// hold creates a pod, and returns when the pod is held at a step, before the runtime has anything of it.
func (n *node) hold(name, step string) {
	n.tb.Helper()
	n.Must("break", "add", "default/"+name, "--step", step, "--times", "1")
	n.createPod(name)
	n.UntilEvent(name, "hold at "+step, func(e probes.Event) bool { return e.Kind == probes.Held && e.Step == step })
	if has := n.must(`ctr -n k8s.io containers list -q 'labels."io.kubernetes.pod.name"==` + name + `'`); has != "" {
		n.tb.Errorf("pod %s is held at %s, and the runtime has %s of it; its story is\n%s", name, step, has, n.Must("trace", name, "--for", "1s"))
	}
}

// mainPID returns podstep's process number.
func (n *node) mainPID() string {
	n.tb.Helper()
	return n.must("systemctl show -P MainPID podstep")
}

// kill kills podstep alone, as the kernel does when memory runs out.
func (n *node) kill() {
	n.tb.Helper()
	n.must("systemctl kill --kill-whom=main --signal=KILL podstep")
}

// readyAfter returns how long a pod took to become Ready.
func (n *node) readyAfter(name string) time.Duration {
	n.tb.Helper()
	begin := time.Now()
	n.UntilReady(name)
	return time.Since(begin).Round(100 * time.Millisecond)
}
