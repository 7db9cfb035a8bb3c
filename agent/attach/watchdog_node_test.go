//go:build node

package attach_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/podstep/podstep/agent/labtest"
	"github.com/podstep/podstep/probes/kubelets"
)

// systemd is what a unit with WatchdogSec= gives a kubelet: the socket for its reports, and how often they must come.
type systemd struct {
	t       *testing.T
	dir     string
	mu      sync.Mutex
	last    time.Time
	longest time.Duration
	reports int
}

// watchKubelet returns a systemd, and the program that it starts as the kubelet.
func watchKubelet(t *testing.T) (s *systemd, kubelet string) {
	t.Helper()
	// A socket in a test's TempDir would have a name too long for the kernel.
	dir, err := os.MkdirTemp("", "notify")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	s = &systemd{t: t, dir: dir}
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(dir, "notify"), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	go func() {
		for b := make([]byte, 4096); ; {
			n, err := c.Read(b)
			if err != nil {
				return
			}
			if strings.Contains(string(b[:n]), "WATCHDOG=1") {
				s.report(time.Now())
			}
		}
	}()
	kubelet = filepath.Join(dir, "kubelet")
	script := fmt.Sprintf("#!/bin/sh\nexec env NOTIFY_SOCKET=%[1]s/notify WATCHDOG_USEC=$(cat %[1]s/usec) %[2]s/kubelet \"$@\"\n", dir, os.Getenv("PODSTEP_BIN"))
	if err := os.WriteFile(kubelet, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return s, kubelet
}

// within sets how often the next kubelet has to report.
func (s *systemd) within(d time.Duration) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, "usec"), fmt.Append(nil, d.Microseconds()), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

func (s *systemd) report(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.last.IsZero() {
		s.longest = max(s.longest, now.Sub(s.last))
	}
	s.reports, s.last = s.reports+1, now
}

func (s *systemd) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reports
}

// since returns how many reports came since the last call, and the longest time without one.
func (s *systemd) since() (reports int, longest time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	reports, longest = s.reports, s.longest
	if !s.last.IsZero() {
		longest = max(longest, time.Since(s.last))
	}
	s.reports, s.longest = 0, 0
	return reports, longest
}

// TestWatchdog: systemd waits for a kubelet's reports. They come while pods are held inside the kubelet, at the runtime and
// by Delve. Where the time is too short for a stop of the whole kubelet, Delve does not begin.
func TestWatchdog(t *testing.T) {
	// The debugger process has 20 s to read the kubelet's program, while that stands still: on a busy machine it takes more
	// than half of a shorter time.
	const long, longer, short = 12 * time.Second, 44 * time.Second, 4 * time.Second
	s, kubelet := watchKubelet(t)
	s.within(long)
	l := labtest.Start(t, "--kubelet", kubelet, "--restart-kubelet")
	if got := kubelets.Watchdog(l.KubeletPID()); got != long {
		t.Fatalf("the kubelet is to report within %v, want %v", got, long)
	}
	s.holds(l, "uprobe", long, func() *attached { return attach(t, l, "--allow-holds") })
	s.restart(l, longer)
	life(t, l, "again") // a kubelet that begins reports a node that is not Ready
	labtest.Eventually(t, "the node Ready again", func() bool { ready, _ := l.NodeReady(); return ready })
	s.holds(l, "delve", longer, func() *attached { return attachDelve(t, l, "--allow-holds") })

	s.restart(l, short)
	a := attach(t, l, "--probe", "cri,api,delve", "--risk-the-kubelet", "--allow-holds")
	const want = "systemd restarts a kubelet that it has not heard from for 4s (WatchdogSec= of its unit)"
	labtest.Eventually(t, "printed: "+want, func() bool { return strings.Contains(a.Printed(), want) })
	if all := a.Debuggers(); len(all) > 0 {
		t.Errorf("these debugger processes are there: %v", all)
	}
	a.End(syscall.SIGTERM)
	a.left()
}

// restart ends the kubelet. The next one is to report within another time.
func (s *systemd) restart(l *labtest.Lab, within time.Duration) {
	s.t.Helper()
	s.within(within)
	before := l.KubeletPID()
	kill(s.t, before)
	labtest.Eventually(s.t, "another kubelet, with another time", func() bool {
		return l.KubeletPID() != before && kubelets.Watchdog(l.KubeletPID()) == within
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reports, s.last, s.longest = 0, time.Time{}, 0
}

// holds attaches a probe, holds pods, and checks that the kubelet reports meanwhile.
func (s *systemd) holds(l *labtest.Lab, probe string, within time.Duration, attach func() *attached) {
	s.t.Helper()
	h := labtest.WatchHealth(s.t, l)
	s.since()
	a := attach()
	for _, at := range []string{"sync.volumes", "cri.StartContainer"} {
		pod := probe + "-" + strings.ToLower(strings.ReplaceAll(at, ".", "-"))
		l.Must("break", "add", "default/"+pod, "--step", at, "--times", "1", "--lease", "4m")
		l.Create(labtest.TinyPod(pod))
		untilHeld(l, pod, at)
		before := s.count()
		labtest.Eventually(s.t, "two reports while a pod is held", func() bool { return s.count() >= before+2 })
		l.LetGo(pod)
	}
	a.End(syscall.SIGTERM)
	a.left()
	reports, longest := s.since()
	if longest > within {
		s.t.Errorf("beside %s no report came for %v: systemd would have restarted the kubelet", probe, longest)
	}
	s.t.Logf("beside %s: %d reports, none for %v at most", probe, reports, longest.Round(time.Millisecond))
	h.End(s.t)
}
