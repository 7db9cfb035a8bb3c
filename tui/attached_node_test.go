//go:build node

package tui_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/podstep/podstep/agent/labtest"
	"github.com/podstep/podstep/tui/tuitest"
)

// TestAttachedScreen runs podstep attach on an unmodified kubelet, by keys. A pod is held before its sandbox, goes
// from call to call, and is let go. After the screen is left, the runtime has its socket back.
func TestAttachedScreen(t *testing.T) {
	l := start(t, "--kubelet", labtest.Bin(t, "kubelet"))
	before, err := l.Socket()
	if err != nil {
		t.Fatal(err)
	}
	command := []string{labtest.Bin(t, "podstep"), "attach", "--pid", strconv.Itoa(l.KubeletPID()), "--kubeconfig", l.State.Kubeconfig, "--socket", l.State.Agent, "--probe", "cri,api,kubelet"}
	p := &place{t: t, lab: l, own: true, Terminal: tuitest.Start(t, 120, 36, utf8, command...)}
	p.Until(" live ")
	p.Until(" cri ")
	p.agent = dial(t, l.State.Agent)
	if now, err := l.Socket(); err != nil || now.Server == before.Server {
		t.Errorf("the socket is still that of process %d: %v", now.Server, err)
	}

	p.holdAtSandbox("web")
	p.choose("web")
	p.UntilThat("the pod held before its sandbox, and what is to come", func(s string) bool {
		return strings.Contains(s, "before cri.RunPodSandbox") && strings.Contains(s, "timer caller") &&
			strings.Contains(s, "inside the kubelet") && strings.Contains(s, "StartContainer")
	})
	p.Press("y")
	p.Until("turns of the worker are not seen")
	p.Press("s")
	p.Until("before cri.CreateContainer")
	p.Press("o")
	p.Until("before cri.StartContainer")
	p.Press("c")
	p.UntilGone("HELD")
	l.UntilReady("web")
	p.Until("web runs and is ready")
	p.Press("B", "x") // the breakpoint would hold the next pod of that name
	p.nothingLeft()
	p.Press("q")
	p.Usable()
	if now, err := l.Socket(); err != nil || now != before {
		t.Errorf("the socket was %+v and is %+v: %v", before, now, err)
	}
}
