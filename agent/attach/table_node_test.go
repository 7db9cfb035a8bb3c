//go:build node

package attach_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/podstep/podstep/agent/labtest"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/delve/rescue"
	"github.com/podstep/podstep/probes/delve/rescue/victim"
)

// fault is a cell of the table of faults: what happens to which of podstep's processes, and when. Several processes
// have it at once.
type fault struct {
	probe string // that looks into the kubelet: uprobe or delve
	who   string
	how   string
	when  string
}

func (f fault) String() string {
	return fmt.Sprintf("%s %s, %s, beside %s", f.how, strings.ReplaceAll(f.who, " ", " and "), f.when, f.probe)
}

// The rows and columns of the table.
var (
	broken = map[string][]string{
		"uprobe": {"podstep", "relay", "guard", "hold", "podstep relay", "podstep guard", "podstep hold", "relay guard"},
		// The rescuer's successor comes before the debugger process dies: ADR 23 has what remains.
		"delve": {"podstep", "relay", "debugger", "rescuer", "rescuer debugger"},
	}
	hows = []string{"kill", "stop", "freeze", "starve"}
	// mishaps are the places at which a goroutine of a process blocks or panics. All else of the process goes on.
	mishaps = map[string][]string{
		"podstep":  {"handle"},
		"relay":    {"receive", "send", "call"},
		"guard":    {"receive", "send", "beat"},
		"hold":     {"receive", "send", "stop"},
		"debugger": {"receive", "send", "stop"},
		"rescuer":  {"receive", "send"},
	}
	whens = []string{"idle", "calls under way", "pods held"}
)

// faultTable returns all cells.
func faultTable() (out []fault) {
	wanted := regexp.MustCompile(os.Getenv("PODSTEP_FAULT"))
	for probe, rows := range broken {
		for _, who := range rows {
			how := slices.Clone(hows)
			for _, place := range mishaps[who] {
				how = append(how, "block at "+place, "panic at "+place)
			}
			for _, how := range how {
				for _, when := range whens {
					if f := (fault{probe, who, how, when}); f.can() && wanted.MatchString(f.String()) {
						out = append(out, f)
					}
				}
			}
		}
	}
	return out
}

// can reports whether a cell can be tried here. In a frozen group of version 1 no process ends before another one moves it,
// and the hold process has podstep alone for that. A thread comes to a stop only where something is armed.
func (f fault) can() bool {
	_, err := os.Stat("/sys/fs/cgroup/cgroup.controllers")
	return !(f.how == "freeze" && f.who == "podstep hold" && err != nil) &&
		!(f.who == "hold" && strings.HasSuffix(f.how, " at stop") && f.when != "pods held") &&
		!(strings.HasSuffix(f.how, " at call") && f.when == "idle")
}

// drawFaults returns n random cells, those beside one probe together. No cell comes twice before all have come once.
func drawFaults(n int) (out []fault) {
	for len(out) < n {
		all := faultTable()
		rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		all = all[:min(len(all), n-len(out))]
		slices.SortStableFunc(all, func(a, b fault) int { return strings.Compare(b.probe, a.probe) })
		out = append(out, all...)
	}
	return out
}

// faultsDrawn is how many cells are tried; PODSTEP_FAULTS=500 makes the long test. With PODSTEP_FAULT these are cells whose
// text that expression matches.
const faultsDrawn = 24

// TestFaultTable: podstep and each process beside it are killed, run out of memory, panic, are stopped or frozen, or one of
// their goroutines blocks for ever, alone or with another one, while the
// kubelet is idle, makes calls, or has pods that are held. The kubelet lives, calls go through the path again, no pod
// fails, the node stays Ready, podstep says what happened, and nothing is left.
func TestFaultTable(t *testing.T) {
	l := shared.For(t)
	h := labtest.WatchHealth(t, l)
	defer showIfFailed(t, l)
	b := &breaker{t: t, l: l.WithProgram(labtest.ProgramWithMishaps), kubelet: l.KubeletPID()}
	faults := drawFaults(labtest.Times(t, "PODSTEP_FAULTS", faultsDrawn))
	for i, f := range faults {
		began := time.Now()
		longest := b.try(i, f)
		t.Logf("%d of %d, %v: passed after %v; no call through the path was answered for %v at most",
			i+1, len(faults), f, time.Since(began).Round(100*time.Millisecond), longest.Round(time.Millisecond))
	}
	b.detach()
	h.End(t)
}

// breaker makes faults happen to a podstep that is attached.
type breaker struct {
	t       *testing.T
	l       *labtest.Lab
	kubelet int
	probe   string
	a       *attached // nil: none is
	frozen  *group    // nil: none is
}

// try makes a fault happen, and returns when all works again. It returns for how long no call was answered.
func (b *breaker) try(i int, f fault) time.Duration {
	t, l := b.t, b.l
	t.Helper()
	if b.probe != f.probe {
		b.detach()
		b.probe = f.probe
	}
	if b.a == nil {
		b.attach()
	}
	churn := func() *labtest.Churn { return labtest.StartChurn(t, l, fmt.Sprintf("fault-%d", i), 3) }
	var c *labtest.Churn
	switch f.when {
	case "calls under way":
		c = churn()
		l.UntilAnyEvent("start of a container", ended("cri.StartContainer"))
	case "pods held":
		for _, at := range map[string][]string{"uprobe": {"sync.pod", "sync.volumes", "rt.sync"}, "delve": {"sync.volumes"}}[f.probe] {
			l.Must("break", "add", "default/*", "--step", at, "--lease", "2s")
		}
		c = churn()
		l.UntilAnyEvent("hold", func(e probes.Event) bool { return e.Kind == probes.Held })
	}
	time.Sleep(rand.N(time.Second)) // any moment is one
	g := watchPath(t, l)
	b.breakAll(f)
	if c == nil {
		c = churn()
	}
	labtest.Eventually(t, f.String()+": answered: a call through the path", func() bool { return version(t.Context(), l.State.CRI) == nil })
	c.Until(t, 3)
	b.recover(f)
	longest := g.end()
	c.Check(t)
	if now := l.KubeletPID(); now != b.kubelet {
		t.Fatalf("%v: the kubelet was process %d and is %d", f, b.kubelet, now)
	}
	if b.a != nil && f.when == "pods held" {
		b.removeBreakpoints()
	}
	if t.Failed() {
		t.Fatalf("after: %v", f)
	}
	return longest
}

func (b *breaker) attach() {
	b.t.Helper()
	if b.probe == "delve" {
		b.a = attachDelve(b.t, b.l, "--allow-holds")
		return
	}
	b.a = attach(b.t, b.l, "--allow-holds")
}

// detach ends the podstep that is attached, if one is.
func (b *breaker) detach() {
	b.t.Helper()
	if b.a != nil {
		b.a.End(syscall.SIGTERM)
		b.a.left()
		b.a = nil
		b.untouched()
	}
}

// untouched waits until nobody traces the kubelet, and nothing is left in it.
func (b *breaker) untouched() {
	b.t.Helper()
	notTraced(b.t, b.l)
	labtest.Eventually(b.t, "gone: the net", func() bool {
		n, err := rescue.Find(b.kubelet)
		return n == nil && err == nil
	})
}

// pids returns the processes of a name.
func (b *breaker) pids(name string) []int {
	switch name {
	case "podstep":
		return []int{b.a.PID}
	case "relay":
		return b.a.Relays()
	case "guard":
		return b.a.Guards()
	case "hold":
		return b.a.Holders()
	case "debugger":
		return b.a.Debuggers()
	}
	return b.a.Rescuers()
}

// one waits until there is one process of a name, other than before, and returns it.
func (b *breaker) one(name string, before int) (pid int) {
	b.t.Helper()
	labtest.Eventually(b.t, fmt.Sprintf("there: a %s process, not %d", name, before), func() bool {
		all := b.pids(name)
		if len(all) == 1 {
			pid = all[0]
		}
		return len(all) == 1 && pid != before
	})
	return pid
}

// breakAll makes the fault happen, and waits until podstep has replaced what it can replace.
func (b *breaker) breakAll(f fault) {
	b.t.Helper()
	names := strings.Fields(f.who)
	printed := len(b.a.Printed())
	was := map[string]int{}
	for _, name := range names {
		was[name] = b.one(name, 0)
	}
	for _, name := range names {
		if name == "debugger" && was["rescuer"] != 0 {
			b.one("rescuer", was["rescuer"])
			victim.AwaitTracer(b.t, was["debugger"], was["rescuer"])
		}
		b.strike(f.how, was[name])
	}
	if was["podstep"] != 0 {
		return // nobody replaces anything
	}
	defer b.thaw()
	for _, name := range names {
		if name != "debugger" && was["debugger"] == 0 {
			b.one(name, was[name])
		}
		want := map[string]string{"relay": "the relay process", "guard": "the guard had ended", "debugger": "the delve probe has failed", "hold": "podstep can hold pods inside the kubelet again", "rescuer": "the rescuer process had ended"}[name]
		if f.how == "panic at call" {
			want = "has its socket back" // it leaves: the next call would fail too
		}
		if name == "guard" && was["relay"] != 0 || name == "rescuer" && was["debugger"] != 0 {
			continue // the next relay process has a guard of its own, and the debugger process reports of its rescuer
		}
		labtest.Eventually(b.t, fmt.Sprintf("%v: podstep prints %q", f, want), func() bool { return strings.Contains(b.a.Printed()[printed:], want) })
	}
}

// strike makes the fault happen to a process.
func (b *breaker) strike(how string, pid int) {
	b.t.Helper()
	what, place, mishap := strings.Cut(how, " at ")
	switch {
	case mishap:
		dir := fmt.Sprintf("/tmp/podstep-mishaps/%d", pid)
		b.must(os.MkdirAll(dir, 0o700))
		b.t.Cleanup(func() { _ = os.RemoveAll(dir) })
		b.must(os.WriteFile(filepath.Join(dir, place), []byte(what), 0o600))
	case how == "kill":
		b.must(syscall.Kill(pid, syscall.SIGKILL))
	case how == "stop":
		b.must(syscall.Kill(pid, syscall.SIGSTOP))
	case how == "freeze":
		if b.frozen == nil {
			b.frozen = newGroup(b.t, "freezer")
		}
		b.frozen.add(pid)
		b.frozen.freeze()
	case how == "starve":
		newGroup(b.t, "memory").starve(pid)
	}
}

func (b *breaker) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// thaw lets what was frozen go on.
func (b *breaker) thaw() {
	if b.frozen != nil {
		b.frozen.thaw()
		b.frozen = nil
	}
}

// recover brings back a podstep that was broken. It leaves none if that is not attached as before.
func (b *breaker) recover(f fault) {
	t, l := b.t, b.l
	t.Helper()
	names := strings.Fields(f.who)
	switch {
	case slices.Contains(names, "podstep") && (f.how == "stop" || f.how == "freeze"):
		b.a.Signal(syscall.SIGCONT)
		b.thaw()
		b.one("relay", 0)
		b.one("guard", 0)
		labtest.Eventually(t, f.String()+": attached again", func() bool {
			now, err := l.Socket()
			return err == nil && labtest.Parent(now.Server) == b.a.PID
		})
		if f.probe == "delve" {
			b.detach() // the debugger process leaves when podstep is silent
		}
	case slices.Contains(names, "podstep"):
		if strings.HasPrefix(f.how, "block") {
			b.a.Signal(syscall.SIGKILL) // it does not end by itself
		}
		b.a.Wait()
		labtest.Eventually(t, f.String()+": given back by podstep restore, and nothing is left", func() bool {
			l.Must("restore")
			now, err := l.Socket()
			return err == nil && now == b.a.before && len(l.AttachTraces()) == 0
		})
		b.a = nil
		b.untouched()
	case slices.Contains(names, "debugger"):
		b.untouched()
		b.detach()
	}
}

func (b *breaker) removeBreakpoints() {
	b.t.Helper()
	var all []struct{ ID int }
	if err := json.Unmarshal([]byte(b.l.Must("break", "ls", "-o", "json")), &all); err != nil {
		b.t.Fatal(err)
	}
	for _, p := range all {
		b.l.Must("break", "rm", strconv.Itoa(p.ID))
	}
}
