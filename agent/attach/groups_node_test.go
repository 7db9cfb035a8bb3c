//go:build node

package attach_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/moby/sys/mountinfo"

	"github.com/podstep/podstep/agent/labtest"
	"github.com/podstep/podstep/probes/kubelets"
)

// group is a control group of the test's own.
type group struct {
	t       *testing.T
	dir     string
	unified bool
}

// newGroup makes a group in the hierarchy that has a controller.
func newGroup(t *testing.T, controller string) *group {
	t.Helper()
	all, err := mountinfo.GetMounts(mountinfo.FSTypeFilter("cgroup", "cgroup2"))
	if err != nil {
		t.Fatal(err)
	}
	has := func(m *mountinfo.Info) bool {
		if m.FSType == "cgroup" {
			return slices.Contains(strings.Split(m.VFSOptions, ","), controller)
		}
		text, _ := os.ReadFile(filepath.Join(m.Mountpoint, "cgroup.subtree_control"))
		return controller == "freezer" || slices.Contains(strings.Fields(string(text)), controller)
	}
	// On a machine with both versions, version 1 has the controllers.
	slices.SortStableFunc(all, func(a, b *mountinfo.Info) int { return strings.Compare(a.FSType, b.FSType) })
	at := slices.IndexFunc(all, has)
	if at < 0 {
		t.Skipf("no hierarchy of control groups here has %s", controller)
	}
	g := &group{t: t, unified: all[at].FSType == "cgroup2"}
	if g.dir, err = os.MkdirTemp(all[at].Mountpoint, "podstep-test-"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		labtest.Eventually(t, "removed: the test's control group", func() bool { return os.Remove(g.dir) == nil })
	})
	return g
}

func (g *group) write(file, text string) {
	g.t.Helper()
	if err := os.WriteFile(filepath.Join(g.dir, file), []byte(text), 0); err != nil {
		g.t.Fatal(err)
	}
}

func (g *group) read(file string) string {
	g.t.Helper()
	text, err := os.ReadFile(filepath.Join(g.dir, file))
	if err != nil {
		g.t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

func (g *group) add(pids ...int) {
	g.t.Helper()
	for _, pid := range pids {
		g.write("cgroup.procs", strconv.Itoa(pid))
	}
}

// freeze returns when all processes of the group stand still.
func (g *group) freeze() {
	g.t.Helper()
	g.t.Cleanup(g.thaw)
	if g.unified {
		g.write("cgroup.freeze", "1")
		labtest.Eventually(g.t, "frozen", func() bool { return strings.Contains(g.read("cgroup.events"), "frozen 1") })
		return
	}
	g.write("freezer.state", "FROZEN")
	labtest.Eventually(g.t, "frozen", func() bool { return g.read("freezer.state") == "FROZEN" })
}

func (g *group) thaw() {
	g.t.Helper()
	if g.unified {
		g.write("cgroup.freeze", "0")
		return
	}
	g.write("freezer.state", "THAWED")
}

// limit makes the kernel end processes of the group when they use more memory than that.
func (g *group) limit(bytes int64) {
	g.t.Helper()
	if g.unified {
		g.write("memory.max", fmt.Sprint(bytes))
		return
	}
	g.write("memory.limit_in_bytes", fmt.Sprint(bytes))
}

// starve makes the kernel end a process for want of memory, and returns when it has.
func (g *group) starve(pid int) {
	g.t.Helper()
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/oom_score_adj", pid), []byte("1000"), 0); err != nil {
		g.t.Fatal(err) // the kernel is to end it before the process that takes the memory
	}
	g.add(pid)
	g.limit(64 << 20)
	hog := exec.Command("sh", "-c", `echo $$ >"$0"/cgroup.procs && exec tail /dev/zero`, g.dir)
	if err := hog.Start(); err != nil {
		g.t.Fatal(err)
	}
	defer func() { _ = hog.Process.Kill(); _ = hog.Wait() }()
	labtest.Eventually(g.t, "ended for want of memory", func() bool { return strings.ContainsRune("\x00ZX", rune(kubelets.State(pid))) })
}

// TestFrozen: podstep's control group is frozen, as by docker pause. The relay process and the guard have left it:
// pods come and go, and one that is held goes on.
func TestFrozen(t *testing.T) {
	l, g := shared.For(t), newGroup(t, "freezer")
	h := labtest.WatchHealth(t, l)
	a := attach(t, l.WithGroups(g.dir))
	if got := g.read("cgroup.procs"); got != strconv.Itoa(a.PID) {
		t.Errorf("in podstep's control group are the processes %q, want %d alone", got, a.PID)
	}
	relay := a.Relays()[0]
	const pod = "heldfrozen"
	l.Must("break", "add", "default/"+pod, "--step", "cri.CreateContainer", "--times", "1")
	l.Create(labtest.TinyPod(pod))
	untilHeld(l, pod, "cri.CreateContainer")
	g.freeze()
	w := watchPath(t, l)
	c := labtest.StartChurn(t, l, "frozen", others)
	l.UntilReady(pod)
	c.Until(t, others)
	t.Logf("no call through the path was answered for %v at most", w.end())
	g.thaw()
	seen(t, l, "thawed")
	if now := a.Relays(); !slices.Equal(now, []int{relay}) {
		t.Errorf("the relay processes are %v, and %d has worked all the time", now, relay)
	}
	l.Delete(pod)
	l.UntilGone(pod)
	a.End(syscall.SIGINT)
	a.left()
	c.Check(t)
	h.End(t)
}

// TestAllFrozen: podstep, its relay process and its guard are all frozen, as if they could not leave their control
// group. Then no process can give the path back, and podstep restore names the one that has it. When they go on, so
// do the calls, and podstep is attached as before.
func TestAllFrozen(t *testing.T) {
	l, g := shared.For(t), newGroup(t, "freezer")
	h := labtest.WatchHealth(t, l)
	a := attach(t, l)
	c := labtest.StartChurn(t, l, "allfrozen", others)
	l.UntilAnyEvent("start of a container", ended("cri.StartContainer"))
	relay := a.Relays()[0]
	g.add(a.PID, relay, a.Guards()[0])
	g.freeze()
	// That is longer than any of the three waits for another.
	for range 4 {
		if version(t.Context(), l.State.CRI) == nil {
			t.Error("a call through the path is answered although all that is in it is frozen")
		}
	}
	out := l.Must("restore")
	if want := fmt.Sprintf("process %d still has it", relay); !strings.Contains(out, want) {
		t.Errorf("podstep restore prints %q, want %q", out, want)
	}
	g.thaw()
	labtest.Eventually(t, "answered: a call through the path", func() bool { return version(t.Context(), l.State.CRI) == nil })
	c.Until(t, others)
	seen(t, l, "allthawed")
	if now := a.Relays(); !slices.Equal(now, []int{relay}) {
		t.Errorf("the relay processes are %v, and %d was frozen with the others", now, relay)
	}
	a.End(syscall.SIGINT)
	a.left()
	c.Check(t)
	h.End(t)
}

// TestOutOfMemory: the kernel ends podstep since its control group has no memory left. The relay process and the
// guard have left the group, and calls go on.
func TestOutOfMemory(t *testing.T) {
	l, g := shared.For(t), newGroup(t, "memory")
	h := labtest.WatchHealth(t, l)
	a := attach(t, l.WithGroups(g.dir))
	relay, guard := a.Relays()[0], a.Guards()[0]
	c := labtest.StartChurn(t, l, "memory", others)
	l.UntilAnyEvent("start of a container", ended("cri.StartContainer"))
	w := watchPath(t, l)
	g.limit(512 << 20)
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/oom_score_adj", a.PID), []byte("1000"), 0); err != nil {
		t.Fatal(err) // the kernel is to end it before the process that takes the memory
	}
	hog := exec.Command("sh", "-c", `echo $$ >"$0"/cgroup.procs && exec tail /dev/zero`, g.dir)
	if err := hog.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = hog.Process.Kill(); _ = hog.Wait() })
	if code := a.Wait(); code != -1 {
		t.Errorf("podstep ended with code %d, and was not killed", code)
	}
	for name, pid := range map[string]int{"relay": relay, "guard": guard} {
		if slices.Contains(strings.Fields(g.read("cgroup.procs")), strconv.Itoa(pid)) {
			t.Errorf("the %s process %d is in podstep's control group", name, pid)
		}
	}
	b := l.Attach()
	l.UntilAnyEvent("start of a container", ended("cri.StartContainer"))
	t.Logf("no call through the path was answered for %v at most; the relay process was %d, and is %d", w.end(), relay, socketOf(t, l).Server)
	b.End(syscall.SIGINT)
	labtest.Eventually(t, "gone: all of it", func() bool { return len(l.AttachTraces()) == 0 })
	c.Check(t)
	h.End(t)
}
