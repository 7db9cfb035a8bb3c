//go:build node

package tui_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podstep/podstep/agent/labtest"
	"github.com/podstep/podstep/tui/tuitest"
)

// TestConnectOnNode runs kubectl podstep POD against a real API server, as somebody does who has just installed podstep and
// has nothing but a kubeconfig. By keys it makes a pod of podstep, holds a pod through it, steps it and lets it go. Then
// nothing of podstep is left on the node. The second time somebody deletes podstep's pod at once, while a pod is held: that
// pod goes on, and the runtime's path is the runtime's again.
func TestConnectOnNode(t *testing.T) {
	l := start(t, "--kubelet", labtest.Bin(t, "kubelet"))
	v := &visit{t: t, l: l, image: l.ImportPodstep()}
	l.Create(labtest.BusyboxPod("web", labtest.Sleep))
	l.UntilReady("web")
	before, err := l.Socket()
	if err != nil {
		t.Fatal(err)
	}
	health := labtest.WatchHealth(t, l)

	term := v.connect()
	// The screen is there before all probes work.
	labtest.Eventually(t, "the runtime's path is podstep's", func() bool {
		now, err := l.Socket()
		return err == nil && now.Server != before.Server
	})
	p := &place{t: t, lab: l, own: true, Terminal: term}
	p.holdAtSandbox("first")
	p.Press("i")
	p.Until("cri.CreateContainer")
	if text := v.podstep("holds", "-o", "json"); !strings.Contains(text, "cri.CreateContainer") {
		t.Errorf("after a step by a key, podstep holds --node prints %s", text)
	}
	p.Press("c")
	p.UntilGone("HELD")
	l.UntilReady("first")
	term.Press("q")
	term.Usable()
	v.untilGone()
	if now, err := l.Socket(); err != nil || now != before {
		t.Errorf("the socket was %+v and is %+v: %v", before, now, err)
	}

	term = v.connect()
	v.hold("second")
	pod := v.pods()[0]
	if err := l.Client.CoreV1().Pods(pod.Namespace).Delete(l.Context(), pod.Name, *metav1.NewDeleteOptions(0)); err != nil {
		t.Fatal(err)
	}
	l.UntilReady("second")
	v.untilGone()
	term.Press("q")
	term.Usable()
	if now, err := l.Socket(); err != nil || now != before {
		t.Errorf("the socket was %+v and is %+v: %v", before, now, err)
	}
	health.End(t)
}

// visit is podstep connect on a lab.
type visit struct {
	t     *testing.T
	l     *labtest.Lab
	image string
}

// connect starts kubectl podstep in a terminal, agrees, and waits for the screen. The home is empty.
func (v *visit) connect() *tuitest.Terminal {
	v.t.Helper()
	home := v.t.TempDir()
	programs := filepath.Join(home, "bin")
	kubectl := fmt.Sprintf("#!/bin/sh\nexec %s kubectl --dir %s \"$@\"\n", labtest.Bin(v.t, "podstep-lab"), v.l.Dir)
	err := errors.Join(os.Mkdir(programs, 0o755), os.WriteFile(filepath.Join(programs, "kubectl"), []byte(kubectl), 0o755),
		os.Symlink(labtest.Bin(v.t, "podstep"), filepath.Join(programs, "kubectl-podstep"))) // as the packages and krew have it
	if err != nil {
		v.t.Fatal(err)
	}
	env := append(slices.Clone(utf8), "HOME="+home, "PATH="+programs+":"+os.Getenv("PATH"), "PODSTEP_SOCKET=")
	term := tuitest.Start(v.t, 120, 36, env, "kubectl", "podstep", "web",
		"--image", v.image, "--allow-holds", "--for", "10m", "--attach-flag=--pid="+strconv.Itoa(v.l.KubeletPID()))
	term.Until("Make it? [y/N]")
	term.Type("y")
	term.Press("Enter")
	term.Until(" live ")
	term.Until("web runs and is ready")
	return term
}

// podstep runs a command that reaches the agent through the API server.
func (v *visit) podstep(args ...string) string {
	v.t.Helper()
	return v.l.Must(append(args, "--node", v.l.State.Node, "--kubeconfig", v.l.State.Kubeconfig)...)
}

// hold creates a pod, and returns when it is held before its sandbox.
func (v *visit) hold(pod string) {
	v.t.Helper()
	v.podstep("break", "add", "default/"+pod, "--step", "cri.RunPodSandbox", "--lease", "5m", "--times", "1")
	v.l.Create(labtest.BusyboxPod(pod, labtest.Sleep))
	v.podstep("trace", "default/"+pod, "--until", "held", "--for", "2m")
}

// pods returns the pods of podstep.
func (v *visit) pods() []corev1.Pod {
	v.t.Helper()
	list, err := v.l.Client.CoreV1().Pods("").List(v.l.Context(), metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=podstep"})
	if err != nil {
		v.t.Fatal(err)
	}
	return list.Items
}

// untilGone waits until there is no pod and no process of podstep.
func (v *visit) untilGone() {
	v.t.Helper()
	for end := time.Now().Add(labtest.Patience); ; time.Sleep(100 * time.Millisecond) {
		pods, traces := v.pods(), v.l.AttachTraces()
		if len(pods) == 0 && len(traces) == 0 {
			return
		}
		if time.Now().After(end) {
			v.t.Fatalf("left are the pods %v, and %v", pods, traces)
		}
	}
}
