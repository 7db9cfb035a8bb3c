//go:build node

package attach_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podstep/podstep/agent/labtest"
)

// gaps measures for how long no call through the runtime's path was answered.
type gaps struct {
	stop    context.CancelFunc
	wg      sync.WaitGroup
	longest time.Duration
}

// watchPath makes calls through the path, one after the other, each over a new connection, so that it goes where the
// path leads at that moment.
func watchPath(t *testing.T, l *labtest.Lab) *gaps {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	g := &gaps{stop: cancel}
	g.wg.Go(func() {
		for last := time.Now(); ctx.Err() == nil; {
			if version(ctx, l.State.CRI) == nil {
				g.longest = max(g.longest, time.Since(last))
				last = time.Now()
			}
			time.Sleep(20 * time.Millisecond)
		}
	})
	t.Cleanup(cancel)
	return g
}

func (g *gaps) end() time.Duration {
	g.stop()
	g.wg.Wait()
	return g.longest
}

// version asks the runtime for its version through the path.
func version(ctx context.Context, path string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	c, err := grpc.NewClient("unix:"+path, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = runtimeapi.NewRuntimeServiceClient(c).Version(ctx, &runtimeapi.VersionRequest{})
	return err
}

// TestComesBack: a podstep that was killed finds its relay process at work, and goes on with it. The relay process waits a
// few seconds for it; a machine that is too busy to start podstep by then gets more tries.
func TestComesBack(t *testing.T) {
	l := shared.For(t)
	b := comesBack(t, l)
	for tries := 1; b == nil && tries < 5; tries++ {
		b = comesBack(t, l)
	}
	if b == nil {
		t.Fatal("no podstep found the relay process that was there")
	}
	c := labtest.StartChurn(t, l, "back", others)
	l.UntilAnyEvent("start of a container", ended("cri.StartContainer"))
	b.End(syscall.SIGINT)
	c.Check(t)
	labtest.Eventually(t, "gone: all of it", func() bool { return len(l.AttachTraces()) == 0 })
}

// comesBack kills a podstep and returns the next one, or nil if that one came too late for the relay process.
func comesBack(t *testing.T, l *labtest.Lab) *labtest.Attached {
	t.Helper()
	a := attach(t, l)
	relays := a.Relays()
	a.Signal(syscall.SIGKILL)
	a.Wait()
	b := l.Attach()
	if now := socketOf(t, l); now.Server != relays[0] {
		t.Logf("process %d has the path, not the relay process %d that was there", now.Server, relays[0])
		b.End(syscall.SIGINT)
		return nil
	}
	return b
}

// TestAllKilled: podstep, its relay process and its guard are killed at once, in any order. The record of the
// takeover is left: with it podstep restore gives the path back, or the next podstep attach takes it over.
func TestAllKilled(t *testing.T) {
	l := shared.For(t)
	h := labtest.WatchHealth(t, l)
	before := socketOf(t, l)
	c := labtest.StartChurn(t, l, "killed", others)
	var took []time.Duration
	for i := range labtest.Times(t, "PODSTEP_KILLS", kills) {
		took = append(took, killAll(t, l, attach(t, l)))
		if i%2 == 1 {
			b := l.Attach()
			l.UntilAnyEvent("start of a container", ended("cri.StartContainer"))
			b.End(syscall.SIGINT)
		}
		labtest.Eventually(t, "given back by podstep restore: the socket", func() bool {
			l.Must("restore")
			now, err := l.Socket()
			return err == nil && now == before
		})
		if left := l.AttachTraces(); len(left) > 0 {
			t.Fatalf("left behind: %q", left)
		}
	}
	c.Check(t)
	h.End(t)
	t.Logf("all three were killed %d times, within %v to %v", len(took), slices.Min(took), slices.Max(took))
}

// killAll kills a podstep, its relay process and its guard, and returns how long that took.
func killAll(t *testing.T, l *labtest.Lab, a *attached) time.Duration {
	t.Helper()
	all := []int{a.Guards()[0], a.Relays()[0], a.PID}
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	began := time.Now()
	for _, pid := range all {
		kill(t, pid)
	}
	took := time.Since(began)
	a.Wait()
	labtest.Eventually(t, "ended: its processes", func() bool { return noProcesses(l) })
	// A guard that was killed last may just have given the path back.
	if now, err := l.Socket(); (err != nil || now != a.before) && !slices.ContainsFunc(l.AttachTraces(), func(s string) bool { return strings.HasSuffix(s, ".json") }) {
		t.Errorf("the socket is %+v, and no record is left of who had it: %q", now, l.AttachTraces())
	}
	return took
}

// TestSurvives: the relay process and its guard have left podstep's control groups, and the kernel ends them last
// when memory runs out, if this machine lets a process ask for that.
func TestSurvives(t *testing.T) {
	l := shared.For(t)
	may := exec.Command("sh", "-c", "echo -1000 >/proc/self/oom_score_adj").Run() == nil
	a := attach(t, l)
	for pid, score := range map[int]string{a.Relays()[0]: "-999", a.Guards()[0]: "-1000"} {
		groups := read(t, pid, "cgroup")
		for line := range strings.Lines(groups) {
			if group := strings.TrimSpace(line[strings.LastIndexByte(line, ':')+1:]); group != "/" {
				t.Errorf("process %d is in %s", pid, line)
			}
		}
		if got := strings.TrimSpace(read(t, pid, "oom_score_adj")); may && got != score {
			t.Errorf("process %d has oom_score_adj %s, not %s", pid, got, score)
		}
		t.Logf("process %d: %s", pid, strings.Join(strings.Fields(read(t, pid, "status")[strings.Index(read(t, pid, "status"), "VmRSS"):])[:3], " "))
	}
	a.End(syscall.SIGINT)
	a.left()
}

func read(t *testing.T, pid int, name string) string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// stoppedFor is for how long podstep is stopped, in seconds; PODSTEP_STOPPED_SECONDS=60 makes the long test.
const stoppedFor = 12

// TestStoppedForLong: podstep is stopped while pods are held at a call and inside the kubelet. They go on when their leases
// end, as others do, and podstep goes on as before.
func TestStoppedForLong(t *testing.T) {
	l := shared.For(t)
	h := labtest.WatchHealth(t, l)
	a := attach(t, l, "--allow-holds")
	held := map[string]string{"stopped-call": "cri.CreateContainer", "stopped-inside": "sync.pod"}
	for pod, at := range held {
		l.Must("break", "add", "default/"+pod, "--step", at, "--times", "1", "--lease", "10m")
		l.Create(labtest.TinyPod(pod))
		untilHeld(l, pod, at)
	}
	relay := a.Relays()[0]
	a.Signal(syscall.SIGSTOP)
	g := watchPath(t, l)
	began := time.Now()
	for pod := range held {
		l.UntilReady(pod)
		t.Logf("%s was Ready %v after podstep was stopped", pod, time.Since(began).Round(100*time.Millisecond))
	}
	c := labtest.StartChurn(t, l, "stopped", others)
	time.Sleep(time.Duration(labtest.Times(t, "PODSTEP_STOPPED_SECONDS", stoppedFor))*time.Second - time.Since(began))
	c.Until(t, others)
	a.Signal(syscall.SIGCONT)
	seen(t, l, "continued")
	if now := a.Relays(); !slices.Equal(now, []int{relay}) {
		t.Errorf("the relay processes are %v, and %d has worked all the time", now, relay)
	}
	t.Logf("no call through the path was answered for %v at most", g.end().Round(time.Millisecond))
	for pod := range held {
		l.Delete(pod)
		l.UntilGone(pod)
	}
	a.End(syscall.SIGTERM)
	a.left()
	c.Check(t)
	h.End(t)
}
