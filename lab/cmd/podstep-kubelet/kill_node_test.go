//go:build node

package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/labtest"
	"github.com/podstep/podstep/probes"
)

// A hold that lives as long as a command ends when the command is killed.
func TestClientKilled(t *testing.T) {
	l := shared.For(t)
	const pod = "watched"
	l.Create(labtest.TinyPod(pod))
	l.UntilReady(pod)
	cmd := l.PodstepCmd("hold", "default/"+pod, "--while-running", "-o", "json")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var h held
	// By itself the kubelet looks at a running pod only every minute or so.
	l.Worked(pod, func() { err = json.NewDecoder(bufio.NewReader(out)).Decode(&h) })
	if err != nil {
		t.Fatalf("podstep hold prints no hold: %v", err)
	}
	if s := podState(t, l, pod); s.State != "held" || s.Step != h.Step {
		t.Errorf("podstep hold says it is held at %s, podstep pods that it is %s at %s", h.Step, s.State, s.Step)
	}
	killed := time.Now()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	story := l.UntilEvent(pod, "release", func(e probes.Event) bool { return e.Kind == probes.Released })
	_ = cmd.Wait()
	last := story[len(story)-1]
	if last.Fields["reason"] != agentpb.ReleaseClientGone {
		t.Errorf("it is released because %v", last.Fields["reason"])
	}
	// The agent notices the kill at once; the lease would last a minute.
	if took := last.Time.Sub(killed); took > 30*time.Second {
		t.Errorf("it is released %v after its client was killed", took)
	}
	bye(l, pod)
}

// If the kubelet ends in any way while it holds a pod, it ends soon. The next kubelet goes on with the pod and knows
// of no hold.
func TestKubeletEnds(t *testing.T) {
	l := labtest.Start(t, "--restart-kubelet")
	for _, signal := range []unix.Signal{unix.SIGKILL, unix.SIGTERM, unix.SIGINT} {
		pod := fmt.Sprintf("survivor-%d", signal)
		// The pod is held on its worker, and where a volume is mounted.
		l.Must("break", "add", "default/"+pod, "--step", "sync.cgroup", "--lease", "20m")
		l.Must("break", "add", "default/"+pod, "--step", "vol.domount", "--lease", "20m")
		createWeb(t, l, pod)
		holds := map[string]bool{}
		l.UntilEvent(pod, "second hold", func(e probes.Event) bool {
			if e.Kind == probes.Held {
				holds[e.Step] = true
			}
			return len(holds) == 2
		})
		took, err := endProcess(l.State.Pids["kubelet"], signal)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%v: the kubelet ended after %v", signal, took.Round(time.Millisecond))
		l.UntilReady(pod)
		l.Reload()
		if s := podState(t, l, pod); s.State == "held" {
			t.Errorf("%v: the new kubelet holds it at %s", signal, s.Step)
		}
		for _, e := range l.Story(pod) {
			if e.Kind == probes.Held {
				t.Errorf("%v: the new kubelet held it at %s", signal, e.Step)
			}
		}
		bye(l, pod)
	}
}

// endProcess signals a process and waits until it is gone. A hold lasts 20 minutes in these tests. A kubelet that
// waited for it would not end within 30 seconds.
func endProcess(pid int, signal unix.Signal) (time.Duration, error) {
	const soon = 30 * time.Second
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return 0, err
	}
	defer unix.Close(fd)
	begin := time.Now()
	if err := unix.PidfdSendSignal(fd, signal, nil, 0); err != nil {
		return 0, err
	}
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(soon.Milliseconds()))
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return 0, err
		case n == 0:
			return 0, fmt.Errorf("process %d does not end in %v after %v", pid, soon, signal)
		default:
			return time.Since(begin), nil
		}
	}
}
