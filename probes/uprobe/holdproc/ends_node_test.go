//go:build node && (amd64 || arm64)

package holdproc

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/podstep/podstep/probes/inside"
	"github.com/podstep/podstep/probes/inside/park"
	"github.com/podstep/podstep/probes/inside/toy"
)

var calm = toy.Options{Workers: 4, Garbage: 1, Pace: time.Millisecond}

// hold holds worker 1 of a toy.
func (c *client) hold(g *trigger, place park.Place, lease time.Duration) inside.Held {
	c.t.Helper()
	c.arm(place, lease)
	g.want(1, true)
	return next(c.t, c.held, "hold")
}

// TestLease: a hold ends with its lease, which the kernel ends. A hold that is renewed does not.
func TestLease(t *testing.T) {
	y, g, c, place := setup(t, "", calm)
	h := c.hold(g, place, 50*time.Millisecond)
	before := y.Counts()
	if e := next(t, c.ended, "end"); e.Hold != h.Hold || e.How != inside.LeaseOver || e.At < h.Until {
		t.Errorf("ended is %+v, of %+v", e, h)
	}
	y.Moved(before, y.All()...)

	h = c.hold(g, place, time.Minute)
	before = y.Counts()
	for range 20 {
		c.Renew(h.Hold, time.Minute)
	}
	c.Renew(h.Hold, time.Hour)
	until := func() time.Duration {
		if waits, err := park.Waits(y.PID); err == nil && len(waits) == 1 && waits[0].Hold == h.Hold {
			return waits[0].Until - park.Now()
		}
		return 0
	}
	wait(t, "the hold is renewed", func() bool { return until() > 50*time.Minute })
	if now := y.Moved(before, y.All(1)...); now.Calls[1] > before.Calls[1] {
		t.Error("the goroutine went on while its hold was renewed")
	}
	c.Renew(h.Hold, 20*time.Millisecond)
	if e := next(t, c.ended, "end"); e.How != inside.LeaseOver {
		t.Errorf("ended is %+v", e)
	}
	y.Moved(before, y.All()...)
}

// TestSignals: signals to a thread that is held, and to the program, have their effect and do not end the hold.
func TestSignals(t *testing.T) {
	y, g, c, place := setup(t, "", calm)
	h := c.hold(g, place, time.Hour)
	before := y.Counts()
	for range 50 {
		for _, s := range []unix.Signal{unix.SIGURG, unix.SIGCHLD, unix.SIGIO} {
			if err := unix.Tgkill(y.PID, h.TID, s); err != nil {
				t.Fatal(err)
			}
		}
		before = y.Moved(before, y.All(1)...)
	}
	kill(t, y.PID, unix.SIGSTOP)
	wait(t, "the program is stopped", func() bool { return state(y.PID) == "T" || state(y.PID) == "t" })
	kill(t, y.PID, unix.SIGCONT)
	before = y.Moved(before, y.All(1)...)
	// While the thread handles a signal it is not in the system call.
	wait(t, "the goroutine waits as before", func() bool {
		waits, err := park.Waits(y.PID)
		return err == nil && len(waits) == 1 && waits[0].Until-park.Now() > 50*time.Minute
	})
	if len(c.ended) > 0 {
		t.Errorf("the hold ended: %+v", <-c.ended)
	}
	c.LetGo(h.Hold)
	if e := next(t, c.ended, "end"); e.How != inside.LetGo {
		t.Errorf("ended is %+v", e)
	}
	y.Moved(before, y.All()...)
}

// TestSignalsUntraced: signals to a thread that is held, and to the program, do not end the hold either while nobody
// traces the thread. The thread gets them when the hold is over. One signal does end it: the one by which every
// thread is to make a system call, because the program waits for this thread.
func TestSignalsUntraced(t *testing.T) {
	const everyThread = unix.Signal(33)
	for _, ends := range []unix.Signal{park.Signal, everyThread} {
		t.Run(fmt.Sprintf("ended by %d", ends), func(t *testing.T) { signalsUntraced(t, ends) })
	}
}

func signalsUntraced(t *testing.T, ends unix.Signal) {
	y, g, c, place := setup(t, "", calm)
	h := c.hold(g, place, time.Hour)
	kill(t, c.PID(), unix.SIGKILL)
	<-c.Done()
	before := y.Moved(y.Counts(), y.All(1)...)
	w := parked(t, y.PID)
	for range 50 {
		for _, s := range []unix.Signal{unix.SIGURG, unix.SIGCHLD, unix.SIGIO} {
			kill(t, y.PID, s)
			if err := unix.Tgkill(y.PID, h.TID, s); err != nil {
				t.Fatal(err)
			}
		}
		before = y.Moved(before, y.All(1)...)
	}
	kill(t, y.PID, unix.SIGSTOP)
	wait(t, "the program is stopped", func() bool { return state(y.PID) == "T" })
	kill(t, y.PID, unix.SIGCONT)
	before = y.Moved(before, y.All(1)...)
	if now := parked(t, y.PID); now.TID != w.TID || now.Since != w.Since || now.Until != w.Until {
		t.Errorf("parked is %+v, and was %+v", now, w)
	}
	if err := unix.Tgkill(y.PID, w.TID, ends); err != nil {
		t.Fatal(err)
	}
	y.Moved(before, y.All()...)
}

// TestLetGoByAnother: any process that finds a parked goroutine may let it go, whether the process that parked it
// lives or not.
func TestLetGoByAnother(t *testing.T) {
	for _, killed := range []bool{false, true} {
		t.Run(fmt.Sprintf("killed=%v", killed), func(t *testing.T) {
			y, g, c, place := setup(t, "", calm)
			c.hold(g, place, time.Hour)
			if killed {
				kill(t, c.PID(), unix.SIGKILL)
				<-c.Done()
			}
			before := y.Moved(y.Counts(), y.All(1)...)
			var waits []park.Wait
			wait(t, "the goroutine waits", func() bool { waits, _ = park.Waits(y.PID); return len(waits) == 1 })
			began := time.Now()
			if err := waits[0].LetGo(); err != nil {
				t.Fatal(err)
			}
			t.Logf("let go in %v", time.Since(began))
			y.Moved(before, y.All()...)
			if !killed {
				if e := next(t, c.ended, "end"); e.How != inside.LetGo {
					t.Errorf("ended is %+v", e)
				}
			}
		})
	}
}

// TestPodstepGoes: a podstep that is killed, is silent or leaves holds nothing any more.
func TestPodstepGoes(t *testing.T) {
	for name, goes := range map[string]func(*client){
		"killed": func(c *client) { c.link.Fail() },
		"silent": func(c *client) {
			defer c.link.Pause()()
			wait(t, "the hold process ends", func() bool { return state(c.PID()) == "" })
		},
		"leaves": func(c *client) { c.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			y, g, c, place := setup(t, "", calm)
			c.hold(g, place, time.Hour)
			before := y.Counts()
			goes(c)
			y.Moved(before, y.All()...)
			wait(t, "no thread is traced", func() bool { return untraced(y.PID) })
			wait(t, "the hold process ends", func() bool { return state(c.PID()) == "" })
		})
	}
}

// TestHangs: a hold process that hangs is ended, so that no thread waits for it.
func TestHangs(t *testing.T) {
	y, g, c, place := setup(t, "", calm)
	c.hold(g, place, time.Hour)
	before := y.Counts()
	kill(t, c.PID(), unix.SIGSTOP)
	<-c.Done()
	wait(t, "no thread is traced", func() bool { return untraced(y.PID) })
	w := parked(t, y.PID)
	if err := w.LetGo(); err != nil {
		t.Fatal(err)
	}
	y.Moved(before, y.All()...)
}

// parked returns the one goroutine of a process that waits. A thread that handles a signal, or is stopped, is out of
// its wait for a moment.
func parked(t *testing.T, pid int) (w park.Wait) {
	t.Helper()
	wait(t, "one goroutine waits", func() bool {
		waits, err := park.Waits(pid)
		if err != nil || len(waits) != 1 {
			return false
		}
		w = waits[0]
		return true
	})
	return w
}

// TestProgramGoes: the end of a traced program is reported, and so are the ends of its holds.
func TestProgramGoes(t *testing.T) {
	for name, goes := range map[string]func(*toy.Toy){
		"killed": func(y *toy.Toy) { y.Kill() },
		"exec":   func(y *toy.Toy) { y.Exec() },
	} {
		t.Run(name, func(t *testing.T) {
			y, g, c, place := setup(t, "", calm)
			h := c.hold(g, place, time.Hour)
			goes(y)
			if e := next(t, c.ended, "end"); e.Hold != h.Hold || e.How != inside.ProgramGone {
				t.Errorf("ended is %+v", e)
			}
			t.Log(next(t, c.failed, "failure"))
			if name == "exec" {
				wait(t, "no thread is traced", func() bool { return untraced(y.PID) })
				y.Moved(y.Counts(), y.All()...)
			}
		})
	}
}

// wait returns when is reports true.
func wait(t testing.TB, what string, is func() bool) {
	t.Helper()
	for began := time.Now(); !is(); time.Sleep(time.Millisecond) {
		if time.Since(began) > time.Minute {
			t.Fatalf("not within a minute: %s", what)
		}
	}
}

func kill(t testing.TB, pid int, s unix.Signal) {
	t.Helper()
	if err := unix.Kill(pid, s); err != nil {
		t.Fatal(err)
	}
}

// state returns the letter of a process's state; empty if it has ended.
func state(pid int) string {
	s := park.StatusOf(fmt.Sprintf("/proc/%d", pid), "State")
	if s == "" || s[:1] == "Z" {
		return ""
	}
	return s[:1]
}

// untraced reports whether no thread of a process is traced.
func untraced(pid int) bool {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
	for _, thread := range threads {
		tid, _ := strconv.Atoi(filepath.Base(thread))
		if park.TracerOf(pid, tid) != 0 {
			return false
		}
	}
	return len(threads) > 0
}

// TestThreads: threads that a traced program makes are traced, and none is when nothing is
// armed any more.
func TestThreads(t *testing.T) {
	y, g, c, place := setup(t, "", calm)
	c.arm(place, time.Hour)
	for range 30 {
		y.NewThread()
	}
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", y.PID))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range threads {
		tid, _ := strconv.Atoi(e.Name())
		if by := park.TracerOf(y.PID, tid); by != c.PID() && state(tid) != "" {
			t.Errorf("thread %d is traced by %d", tid, by)
		}
	}
	if _, err := c.Disarm(t.Context()); err != nil || !untraced(y.PID) {
		t.Errorf("threads are traced although nothing is armed (%v)", err)
	}
	h := c.hold(g, place, time.Hour)
	if _, err := c.Disarm(t.Context()); err != nil || untraced(y.PID) {
		t.Errorf("a held thread is not traced (%v)", err)
	}
	c.LetGo(h.Hold)
	next(t, c.ended, "end")
	wait(t, "no thread is traced", func() bool { return untraced(y.PID) })
}
