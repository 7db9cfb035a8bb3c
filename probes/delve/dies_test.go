//go:build linux && amd64

package delve

import (
	"context"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/podstep/podstep/probes/companion"
	"github.com/podstep/podstep/probes/delve/rescue"
	"github.com/podstep/podstep/probes/delve/rescue/victim"
	"github.com/podstep/podstep/probes/inside/park"
	"github.com/podstep/podstep/probes/inside/reading"
	"github.com/podstep/podstep/probes/kubelets"
)

// TestMain makes the test binary also the victim, podstep's debugger process and the rescuer.
func TestMain(m *testing.M) {
	victim.Play()
	switch {
	case len(os.Args) > 1 && os.Args[1] == Role:
		os.Exit(Main())
	case len(os.Args) > 1 && os.Args[1] == rescue.Role:
		os.Exit(rescue.Main())
	}
	os.Exit(m.Run())
}

// placesIn returns breakpoints' places in a victim: where its functions make their frames.
func placesIn(t *testing.T, v *victim.Victim) (out []reading.Place) {
	t.Helper()
	program, err := park.Open(v.PID())
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	for _, name := range victim.Functions {
		found, err := findPlaces(program, name)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, reading.Place{Address: found[0].Address + program.Bias(), Linked: found[0].Address})
	}
	return out
}

// debugVictim starts a debugger process that stops the victim all the time.
func debugVictim(t *testing.T, v *victim.Victim) (*Client, int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c, ready := startOn(ctx, t, v, Bounds{})
	if _, err := c.Begin(ctx, reading.Plan{Places: placesIn(t, v)}); err != nil {
		t.Fatal(err)
	}
	return c, ready.Self
}

// startOn starts a debugger process for the victim.
func startOn(ctx context.Context, t *testing.T, v *victim.Victim, b Bounds) (*Client, Ready) {
	t.Helper()
	started, err := kubelets.Started(v.PID())
	if err != nil {
		t.Fatal(err)
	}
	c, ready, err := Start(ctx, Options{PID: v.PID(), Started: started, Bounds: b}, nil, Handler{
		Begun: func(Begun) {}, Records: func([]reading.Record) {}, Stats: func(Stats) {}, Note: func(text string) { t.Log(text) }, Lost: func(int) {},
	})
	if err != nil {
		t.Fatal(err)
	}
	if ready.NoNet != "" {
		t.Fatalf("there is no net: %s", ready.NoNet)
	}
	return c, ready
}

// TestDebuggerDies: a debugger process that is killed, or stopped, at any moment of a busy program leaves a program that
// runs on, without a breakpoint or a net; also if its rescuer dies before, or soon after.
func TestDebuggerDies(t *testing.T) {
	v := victim.Start(t, os.Stderr)
	places := placesIn(t, v)
	for round, how := range []string{"kill", "kill", "kill", "stop", "kill both", "kill rescuer", "leave", "kill", "kill both", "kill", "kill"} {
		c, debugger := debugVictim(t, v)
		v.AwaitSteps(uint64(1 + 7*round))
		t.Logf("round %d: %s", round, how)
		rescuer := childOf(t, debugger)
		switch how {
		case "kill":
			signalTo(t, debugger, unix.SIGKILL)
		case "stop":
			signalTo(t, debugger, unix.SIGSTOP)
		case "kill both":
			signalTo(t, debugger, unix.SIGKILL)
			<-c.Done()
			signalTo(t, rescuer, unix.SIGKILL)
		case "kill rescuer":
			signalTo(t, rescuer, unix.SIGKILL)
			victim.AwaitTracer(t, debugger, rescuer)
			v.AwaitSteps(10)
			signalTo(t, debugger, unix.SIGKILL)
		case "leave":
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
		<-c.Done()
		v.AwaitSteps(500)
		for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
			if n, err := rescue.Find(v.PID()); n == nil && err == nil {
				break
			}
			if time.Since(began) > time.Minute {
				t.Fatalf("round %d, %s: a net is left", round, how)
			}
		}
		for _, at := range places {
			if b := v.Byte(at.Address); b == 0xcc {
				t.Errorf("round %d, %s: %#x is at a place", round, how, b)
			}
		}
		v.AwaitSteps(100)
	}
}

// TestRescuerEndsDebugger: the rescuer ends a debugger process that keeps the program stopped for longer than it may, and
// podstep gets that reason.
func TestRescuerEndsDebugger(t *testing.T) {
	v := victim.Start(t, os.Stderr)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	b := Bounds{Watchdog: spareOfWatchdog + 2*time.Millisecond}
	if got := b.longestStill(); got != time.Millisecond {
		t.Fatalf("the victim may stand still for %v", got)
	}
	c, _ := startOn(ctx, t, v, b)
	_, begins := c.Begin(ctx, reading.Plan{Places: placesIn(t, v)})
	<-c.Done()
	const want = "the rescuer process ended the debugger process, which kept process "
	if err := c.Err(); !strings.HasPrefix(err.Error(), want) {
		t.Errorf("the debugger process ended: %v; want %s...; it began: %v", err, want, begins)
	}
	v.AwaitSteps(500)
}

func signalTo(t *testing.T, pid int, s syscall.Signal) {
	t.Helper()
	if err := unix.Kill(pid, s); err != nil {
		t.Fatal(err)
	}
}

// childOf returns the one child of a process.
func childOf(t *testing.T, pid int) int {
	t.Helper()
	for began := time.Now(); time.Since(began) < time.Minute; time.Sleep(time.Millisecond) {
		for _, child := range companion.Children(pid) {
			if state := kubelets.State(child); state != 0 && state != 'Z' {
				return child
			}
		}
	}
	t.Fatalf("process %d has no child", pid)
	return 0
}
