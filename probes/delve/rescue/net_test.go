//go:build linux && amd64

package rescue

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/podstep/podstep/probes/delve/rescue/victim"
	"github.com/podstep/podstep/probes/kubelets"
)

func TestMain(m *testing.M) {
	victim.Play()
	tries = 1<<19 + 1000 // no rescuer is there for most tests
	os.Exit(m.Run())
}

// TestNet: breakpoints without a tracer end no program that has a net: its threads write the bytes back. When the net
// is taken away, nothing of it is left.
func TestNet(t *testing.T) {
	v := victim.Start(t, os.Stderr)
	pid := v.PID()
	maps := mapsOf(t, pid)
	for range 5 {
		n, err := Install(pid)
		if err != nil {
			t.Fatal(err)
		}
		original := v.Byte(v.Step)
		if err := n.Add([]uint64{v.Step}, false); err != nil {
			t.Fatal(err)
		}
		if err := n.image.write(v.Step, []byte{int3}); err != nil {
			t.Fatal(err)
		}
		v.AwaitSteps(1000)
		if got := v.Byte(v.Step); got != original {
			t.Fatalf("the program runs on with %#x at the place, not with %#x", got, original)
		}
		if err := n.Remove(); err != nil {
			t.Fatal(err)
		}
		v.AwaitSteps(1000)
	}
	if at, err := find(pid); at != 0 || err != nil {
		t.Errorf("a net is left at %#x, %v", at, err)
	}
	if now := mapsOf(t, pid); now != maps {
		t.Errorf("the program has %d pieces of executable memory; before there were %d", now, maps)
	}
}

// TestHotNet: threads that come into the net all the time do not keep it from being taken away.
func TestHotNet(t *testing.T) {
	before := tries
	tries = 1 << 40 // no handler writes a byte back
	t.Cleanup(func() { tries = before })
	v := victim.Start(t, os.Stderr)
	n, err := Install(v.PID())
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Add([]uint64{v.Step}, false); err != nil {
		t.Fatal(err)
	}
	if err := n.image.write(v.Step, []byte{int3}); err != nil {
		t.Fatal(err)
	}
	if err := n.Remove(); err != nil {
		t.Fatal(err)
	}
	v.AwaitSteps(1000)
}

func mapsOf(t *testing.T, pid int) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(text), "r-xp")
}

// TestStraySignals: SIGTRAPs that a debugger has sent, and did not take back, reach the program and do nothing.
func TestStraySignals(t *testing.T) {
	v := victim.Start(t, os.Stderr)
	n, err := Install(v.PID())
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		_ = unix.Kill(v.PID(), unix.SIGTRAP)
	}
	v.AwaitSteps(1000)
	if err := n.Remove(); err != nil {
		t.Fatal(err)
	}
}

// TestAdopt: a second Install adopts the net with its places, and Remove writes them back.
func TestAdopt(t *testing.T) {
	v := victim.Start(t, os.Stderr)
	pid := v.PID()
	first, err := Install(pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Add([]uint64{v.Step, after(t, v)}, false); err != nil {
		t.Fatal(err)
	}
	first.Close()
	n, err := Install(pid)
	if err != nil {
		t.Fatal(err)
	}
	if n.at != first.at || len(n.entries) != 2 {
		t.Fatalf("another net, at %#x with %d places", n.at, len(n.entries))
	}
	original := v.Byte(v.Step)
	if err := n.image.write(v.Step, []byte{int3}); err != nil {
		t.Fatal(err)
	}
	if err := n.Spread(); err != nil {
		t.Fatal(err)
	}
	if got := v.Byte(v.Step + 1); got != int3 {
		t.Errorf("%#x is behind the first byte", got)
	}
	if err := n.Remove(); err != nil {
		t.Fatal(err)
	}
	if got := v.Byte(v.Step); got != original {
		t.Errorf("%#x is at the place, not %#x", got, original)
	}
	v.AwaitSteps(1000)
}

// TestForeignTrap: an INT3 that is not podstep's ends the program as it always would.
func TestForeignTrap(t *testing.T) {
	v := victim.Start(t, nil)
	n, err := Install(v.PID())
	if err != nil {
		t.Fatal(err)
	}
	if err := n.image.write(v.Step, []byte{int3}); err != nil {
		t.Fatal(err)
	}
	if err := v.Cmd.Wait(); err == nil {
		t.Error("the program ran on")
	}
}

// TestTakeAway: while a rescuer looks after a net, TakeAway leaves it alone and keeps nothing open, however often it is
// asked. Without a rescuer it takes the net away.
func TestTakeAway(t *testing.T) {
	v := victim.Start(t, os.Stderr)
	started, err := kubelets.Started(v.PID())
	if err != nil {
		t.Fatal(err)
	}
	n, err := Install(v.PID())
	if err != nil {
		t.Fatal(err)
	}
	n.Close()
	l, err := claim(Options{PID: v.PID(), Started: started})
	if err != nil {
		t.Fatal(err)
	}
	before := openFiles(t)
	for range 10 {
		if found, err := TakeAway(v.PID(), started); found || err != nil {
			t.Fatalf("found %v, %v", found, err)
		}
	}
	if now := openFiles(t); now > before {
		t.Errorf("%d files are open, and were %d", now, before)
	}
	l.Close()
	if found, err := TakeAway(v.PID(), started); !found || err != nil {
		t.Errorf("found %v, %v", found, err)
	}
	if n, err := Find(v.PID()); n != nil || err != nil {
		t.Errorf("a net is left: %v, %v", n, err)
	}
	v.AwaitSteps(1000)
}

func openFiles(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

// after returns the address of the second instruction of a victim's step.
func after(t *testing.T, v *victim.Victim) uint64 {
	t.Helper()
	m, err := openImage(v.PID())
	if err != nil {
		t.Fatal(err)
	}
	defer m.close()
	code, err := m.instruction(v.Step)
	if err != nil {
		t.Fatal(err)
	}
	return v.Step + uint64(len(code))
}
