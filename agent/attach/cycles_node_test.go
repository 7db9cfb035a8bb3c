//go:build node

package attach_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/podstep/podstep/agent/labtest"
	"github.com/podstep/podstep/probes"
)

// The counts are small by default; PODSTEP_CYCLES=1000 PODSTEP_KILLS=100 makes the whole test.
const (
	cycles, kills = 6, 5
	others        = 4 // pods that come and go meanwhile
)

// used has the open files of a process, and its memory.
type used struct{ files, mib int }

func (u used) String() string { return fmt.Sprintf("%d files, %d MiB", u.files, u.mib) }

// usage has what the kubelet and its runtime use.
type usage struct{ kubelet, runtime used }

func usageOf(t *testing.T, l *labtest.Lab) usage {
	t.Helper()
	of := func(pid int) used { return used{labtest.Files(t, pid), resident(t, pid)} }
	return usage{of(l.KubeletPID()), of(l.RuntimePID())}
}

// resident is how many MiB of memory a process has.
func resident(t *testing.T, pid int) (kib int) {
	t.Helper()
	_, after, _ := strings.Cut(read(t, pid, "status"), "VmRSS:")
	if _, err := fmt.Sscan(after, &kib); err != nil {
		t.Fatalf("VmRSS of process %d: %v", pid, err)
	}
	return kib >> 10
}

// A node may use a little more by itself in the end: one more connection to the API server, and the garbage of pods
// that come and go. If each round left something, it would be more than that.
const (
	someFiles = 4
	someMiB   = 48
)

// more reports whether a process uses more than before, by more than it may.
func (u used) more(before used) bool {
	return u.files > before.files+someFiles || u.mib > before.mib+someMiB
}

// settled waits until the node uses hardly more than before: it takes a moment to clean up after pods.
func (u usage) settled(t *testing.T, l *labtest.Lab) {
	t.Helper()
	labtest.Eventually(t, fmt.Sprintf("back to about %+v", u), func() bool {
		now := usageOf(t, l)
		return !now.kubelet.more(u.kubelet) && !now.runtime.more(u.runtime)
	})
}

// quiet makes some pods come and go, so that the node has open what it opens once. It counts when they are gone.
func quiet(t *testing.T, l *labtest.Lab) usage {
	t.Helper()
	c := labtest.StartChurn(t, l, "warm", others)
	c.Until(t, others)
	c.Check(t)
	return usageOf(t, l)
}

// TestCycles: podstep attaches and detaches again and again while pods come and go, and is also killed at any moment.
// Nothing is lost, and nothing is left.
func TestCycles(t *testing.T) {
	l := shared.For(t)
	used := quiet(t, l)
	h := labtest.WatchHealth(t, l)
	c := labtest.StartChurn(t, l, strings.ToLower(t.Name()), others)
	before := socketOf(t, l)
	comeAndGo(t, l, labtest.Times(t, "PODSTEP_CYCLES", cycles))
	beKilled(t, l, labtest.Times(t, "PODSTEP_KILLS", kills))
	// The killed podstep's agent socket is still there; the next podstep removes it.
	a := attach(t, l)
	a.End(syscall.SIGINT)
	a.left()
	if a.before != before {
		t.Errorf("the socket was %+v and is %+v", before, a.before)
	}
	c.Check(t)
	h.End(t)
	used.settled(t, l)
	t.Logf("%d pods came and went meanwhile; used %+v before, %+v after", c.Count(), used, usageOf(t, l))
}

// comeAndGo attaches and detaches n times.
func comeAndGo(t *testing.T, l *labtest.Lab, n int) {
	t.Helper()
	signals := []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP}
	var attaching, ending []time.Duration
	var own, relays []int // MiB
	for i := range n {
		begin := time.Now()
		a := attach(t, l)
		attaching = append(attaching, time.Since(begin))
		// Each podstep is attached: it sees a pod come.
		l.UntilAnyEvent("start of a container", ended("cri.StartContainer"))
		own, relays = append(own, resident(t, a.PID)), append(relays, resident(t, a.Relays()[0]))
		ending = append(ending, a.End(signals[i%len(signals)]))
		a.left()
		if t.Failed() {
			t.Fatalf("in round %d", i)
		}
		if i%50 == 49 {
			t.Logf("after %d rounds the node uses %+v", i+1, usageOf(t, l))
		}
	}
	t.Logf("attached %d times, in %v, at most %v; ended in %v, at most %v; podstep had %d to %d MiB, its relay process %d to %d", n,
		median(attaching), slices.Max(attaching), median(ending), slices.Max(ending),
		slices.Min(own), slices.Max(own), slices.Min(relays), slices.Max(relays))
}

// longestUntilKilled is about how long podstep takes to attach.
const longestUntilKilled = 1500 * time.Millisecond

// beKilled attaches n times and kills podstep at any moment, alone or with its relay process. The relay process gives
// the socket back, or its guard does.
func beKilled(t *testing.T, l *labtest.Lab, n int) {
	t.Helper()
	before := socketOf(t, l)
	var back []time.Duration
	ready := 0
	for i := range n {
		a := l.StartAttach()
		select {
		case <-time.After(rand.N(longestUntilKilled)):
		case <-a.Ended:
			t.Fatalf("in round %d it ended: %s", i, a.Printed())
		}
		select {
		case <-a.Ready:
			ready++
		default:
		}
		// A process that podstep has just started has nothing open yet that shows whose it is. It is looked for while
		// podstep can start no other one.
		a.Signal(syscall.SIGSTOP)
		relays, children := a.Relays(), a.Children()
		a.Signal(syscall.SIGKILL)
		if i%2 == 1 { // otherwise the relay process gives the socket back, since no podstep comes back
			for _, pid := range relays {
				kill(t, pid)
			}
		}
		begin := time.Now()
		labtest.Eventually(t, "given back: the socket", func() bool {
			now, err := l.Socket()
			return err == nil && now == before
		})
		back = append(back, time.Since(begin))
		// The next podstep would come back to a relay process that is still there.
		labtest.Eventually(t, "gone: its files and its processes", func() bool {
			return len(l.AttachTraces()) == 0 && !slices.ContainsFunc(children, func(pid int) bool { return labtest.Parent(pid) != 0 })
		})
		a.Wait()
	}
	t.Logf("killed %d times, %d of them after it was ready; the socket was back after %v, at most %v",
		n, ready, median(back), slices.Max(back))
}

// TestGuardKilled: the guard is killed, then podstep, and then podstep, relay process and guard together.
func TestGuardKilled(t *testing.T) {
	l := shared.For(t)
	h := labtest.WatchHealth(t, l)
	a := attach(t, l)
	first := a.Guards()
	if len(first) != 1 {
		t.Fatalf("there are the guards %v, want one", first)
	}
	kill(t, first[0])
	labtest.Eventually(t, "replaced: the guard", func() bool {
		now := a.Guards()
		// podstep prints this when the new guard knows what to do.
		return len(now) == 1 && now[0] != first[0] && strings.Contains(a.Printed(), "there is another one")
	})
	a.Signal(syscall.SIGKILL)
	labtest.Eventually(t, "given back: the socket", func() bool {
		now, err := l.Socket()
		return err == nil && now == a.before
	})
	a.Wait()
	labtest.Eventually(t, "ended: the guard", func() bool { return len(l.AttachTraces()) == 0 })

	a = attach(t, l)
	c := labtest.StartChurn(t, l, strings.ToLower(t.Name()), others)
	l.UntilAnyEvent("start of a container", ended("cri.StartContainer"))
	relay, guard := a.Relays()[0], a.Guards()[0]
	for _, pid := range []int{a.PID, guard, relay} {
		kill(t, pid)
	}
	a.Wait()
	// A process that was killed loses its arguments before its files. Until then its socket takes connections.
	labtest.Eventually(t, "ended: its processes, and all that they had open", func() bool {
		_, err := l.Socket()
		return err != nil && noProcesses(l)
	})
	out := l.Must("restore")
	if want := "gave containerd.sock back to the runtime"; !strings.Contains(out, want) {
		t.Errorf("podstep restore says %q, not that it %s", out, want)
	}
	if now := socketOf(t, l); now != a.before {
		t.Errorf("the socket was %+v and is %+v", a.before, now)
	}
	if left := l.AttachTraces(); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
	c.Check(t)
	h.End(t)
}

func kill(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

// noProcesses reports whether no process of a podstep attach is left at the lab's runtime.
func noProcesses(l *labtest.Lab) bool {
	return !slices.ContainsFunc(l.AttachTraces(), func(s string) bool { return strings.Contains(s, "process") })
}

// TestTerminalClosed: a terminal that is closed ends the screen, and with it podstep.
func TestTerminalClosed(t *testing.T) {
	l := shared.For(t)
	before := socketOf(t, l)
	master, terminal, err := labtest.Terminal()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = master.Close() })
	cmd := exec.Command(labtest.Bin(t, "podstep"), "attach", "--pid", fmt.Sprint(l.KubeletPID()), "--kubeconfig", l.State.Kubeconfig, "--socket", l.State.Agent)
	cmd.Env = append(os.Environ(), "TERM=xterm-256color")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = terminal, terminal, terminal
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	t.Cleanup(func() { _ = cmd.Process.Kill(); <-ended })
	_ = terminal.Close()
	go func() { // a terminal that nobody reads from blocks its writers
		for b := make([]byte, 4096); ; {
			if _, err := master.Read(b); err != nil {
				return
			}
		}
	}()
	labtest.Eventually(t, "attached", func() bool {
		s, err := l.Socket()
		return err == nil && labtest.Parent(s.Server) == cmd.Process.Pid
	})
	life(t, l, "unseen") // meanwhile the kubelet connects through podstep
	life(t, l, "seen")
	l.UntilEvent("seen", "start of its container", func(e probes.Event) bool { return e.Step == "cri.StartContainer" })
	_ = master.Close()
	select {
	case <-ended:
	case <-time.After(labtest.Patience):
		t.Fatal("podstep attach does not end with its terminal")
	}
	if now := socketOf(t, l); now != before {
		t.Errorf("the socket was %+v and is %+v", before, now)
	}
	labtest.Eventually(t, "cleaned up", func() bool { return len(l.AttachTraces()) == 0 })
	life(t, l, "after")
}
