//go:build node

package attach_test

import (
	"bufio"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/labtest"
	"github.com/podstep/podstep/probes"
)

// headless is Delve's own command, dlv, without a terminal.
type headless struct {
	address string
	cmd     *exec.Cmd
	ended   chan struct{}
}

// startHeadless starts a headless Delve with these arguments.
func startHeadless(t *testing.T, args ...string) *headless {
	t.Helper()
	d := &headless{ended: make(chan struct{})}
	d.cmd = exec.Command(labtest.Bin(t, "dlv"), append(args, "--headless", "--listen=127.0.0.1:0", "--accept-multiclient")...)
	out, err := d.cmd.StdoutPipe()
	if err == nil {
		err = d.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	listens := make(chan string, 1)
	go func() {
		defer close(d.ended)
		for s := bufio.NewScanner(out); s.Scan(); {
			if _, address, ok := strings.Cut(s.Text(), "API server listening at: "); ok {
				listens <- address
			}
		}
		_ = d.cmd.Wait()
	}()
	t.Cleanup(func() { d.end(t) })
	select {
	case d.address = <-listens:
	case <-d.ended:
		t.Fatalf("dlv %v does not listen", args)
	}
	return d
}

// end ends the Delve. A program to which it was attached goes on.
func (d *headless) end(t *testing.T) {
	t.Helper()
	_ = d.cmd.Process.Signal(syscall.SIGTERM)
	<-d.ended
}

// TestDelveRemote: podstep sees the steps by a headless Delve that somebody else has started for the kubelet. When
// podstep ends, the kubelet goes on under that Delve; when that Delve ends, podstep reports it. podstep refuses a
// Delve of another program.
func TestDelveRemote(t *testing.T) {
	l := shared.For(t)
	kubelet := l.KubeletPID()
	other := startHeadless(t, "exec", labtest.Bin(t, "crictl"))
	a := l.StartAttach("--probe", "cri,delve,api", "--delve", other.address)
	labtest.Eventually(t, "podstep refuses a Delve of another program", func() bool {
		return strings.Contains(a.Printed(), fmt.Sprintf("the Delve at %s debugs process", other.address))
	})
	a.End(syscall.SIGINT)
	other.end(t)

	d := startHeadless(t, "attach", fmt.Sprint(kubelet))
	byDelve := func(pod string) {
		t.Helper()
		l.Create(threePod(pod))
		l.UntilReady(pod)
		l.Delete(pod)
		l.UntilGone(pod)
		for _, step := range []string{"sync.pod", "rt.sync", "rt.start", "term.terminating"} {
			if !slices.ContainsFunc(l.Story(pod), func(e probes.Event) bool { return e.Step == step && e.Probe == "delve" }) {
				t.Errorf("%s of pod %s was not seen", step, pod)
			}
		}
	}
	for _, pod := range []string{"by-headless", "by-headless-again"} {
		a := l.Attach("--probe", "cri,delve,api", "--delve", d.address, "--allow-holds")
		byDelve(pod)
		holdsWhole(t, l, "held-"+pod)
		a.End(syscall.SIGINT)
		life(t, l, "without-"+pod)
	}
	a = l.Attach("--probe", "cri,delve,api", "--delve", d.address)
	byDelve("before-its-end")
	if now := l.KubeletPID(); now != kubelet {
		t.Errorf("the kubelet was process %d and is %d", kubelet, now)
	}
	d.end(t)
	// To leave the kubelet, Delve stops it by SIGTRAP. If a breakpoint stops it at the same moment, the signal stays
	// pending, and kills the kubelet after Delve has left. Then podstep reports that one's end.
	labtest.Eventually(t, "podstep reports that Delve is gone, or its kubelet with it", func() bool {
		ended := fmt.Sprintf("the kubelet that the Delve at %s debugged, process %d, has ended", d.address, kubelet)
		return strings.Contains(a.Printed(), fmt.Sprintf("the Delve at %s is gone", d.address)) ||
			strings.Contains(a.Printed(), ended) && l.KubeletPID() != kubelet
	})
	life(t, l, "after-its-end")
	a.End(syscall.SIGINT)
	notTraced(t, l)
	if now := l.KubeletPID(); now != kubelet {
		t.Logf("that Delve's end was the kubelet's too: it was process %d and is %d", kubelet, now)
	}
}

// holdsWhole holds a pod by a Delve that cannot stop one goroutine alone: the whole kubelet stands still. The hold
// reports that, and ends by itself.
func holdsWhole(t *testing.T, l *labtest.Lab, pod string) {
	t.Helper()
	l.Must("break", "add", "default/"+pod, "--step", "sync.pod", "--times", "1")
	l.Create(labtest.TinyPod(pod))
	if held := untilHeld(l, pod, "sync.pod").Fields; held["node"] != true || held["endsBy"] != "debugger" {
		t.Errorf("it is held with %v", held)
	}
	if why := released(l, pod, "sync.pod").Fields; why["reason"] != agentpb.ReleaseTimer || why["timer"] != "debugger" {
		t.Errorf("it goes on with %v", why)
	}
	l.UntilReady(pod)
	l.Delete(pod)
	l.UntilGone(pod)
}
