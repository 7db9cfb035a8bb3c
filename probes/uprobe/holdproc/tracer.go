//go:build linux && amd64

package holdproc

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/podstep/podstep/probes/uprobe/park"
)

// tracer traces the program's threads, on one thread of its own, while places are armed or
// goroutines are held. When that thread ends, the kernel lets go of them all.
type tracer struct {
	bell
	program *park.Program
	report  func(message)
	next    func() uint64 // the number of the next hold
	stats   *stats
	// notWithin are functions under which nobody is held.
	notWithin map[string]bool

	// These are of the thread alone.
	armed   map[uint64]Place // by the address behind the instruction
	threads map[int]*thread
	holds   map[uint64]*hold
	gone    bool

	ended chan struct{}
}

// thread is a thread of the program.
type thread struct {
	hold *hold
}

// stats are Stats, which other goroutines read.
type stats struct{ stops, stood, worst atomic.Int64 }

func (s *stats) add(d time.Duration) {
	s.stops.Add(1)
	s.stood.Add(int64(d))
	for worst := s.worst.Load(); int64(d) > worst && !s.worst.CompareAndSwap(worst, int64(d)); worst = s.worst.Load() {
	}
}

func (s *stats) all() Stats {
	return Stats{uint64(s.stops.Load()), time.Duration(s.stood.Load()), time.Duration(s.worst.Load())}
}

// start begins to trace.
func (t *tracer) start() error {
	t.threads, t.holds, t.ended = map[int]*thread{}, map[uint64]*hold{}, make(chan struct{})
	started := make(chan error)
	onThread(func() {
		t.tid = unix.Gettid()
		err := t.seize()
		started <- err
		if err == nil {
			t.trace()
		}
	})
	return <-started
}

// busy is since when a stop is being handled, as park.Now has it; 0: none is.
var busy atomic.Int64

// onThread runs f on a thread that ends with it. The first thread of a process never ends
// before the process does.
func onThread(f func()) {
	go func() {
		runtime.LockOSThread() // never unlocked: then the thread ends with the goroutine
		if unix.Gettid() != unix.Getpid() {
			f()
			return
		}
		began := make(chan struct{})
		onThread(func() { close(began); f() })
		<-began
		runtime.UnlockOSThread()
	}()
}

// trace handles what happens to the threads until there is nothing left to do.
func (t *tracer) trace() {
	defer close(t.ended)
	for !t.run(t.idle) {
		var status unix.WaitStatus
		tid, err := unix.Wait4(-1, &status, unix.WALL, nil)
		switch {
		case err == unix.EINTR:
		case err != nil: // no thread is left
			t.leaveAll()
		default:
			t.handle(tid, status)
		}
	}
	if t.gone {
		t.report(message{Failed: fmt.Sprintf("process %d has ended, or runs another program now", t.program.PID)})
	}
}

// idle reports whether there is nothing left to do.
func (t *tracer) idle() bool { return t.gone || len(t.armed) == 0 && len(t.holds) == 0 }

// leaveAll is that the program has ended, or has become another one.
func (t *tracer) leaveAll() {
	t.gone = true
	for _, h := range t.holds {
		t.end(h, ProgramGone)
	}
}

// handle handles one event of a thread.
func (t *tracer) handle(tid int, status unix.WaitStatus) {
	began := park.Now()
	busy.Store(int64(began))
	defer busy.Store(0)
	if !status.Stopped() {
		if th := t.threads[tid]; th != nil && th.hold != nil {
			t.end(th.hold, ProgramGone)
		}
		delete(t.threads, tid)
		return
	}
	th := t.threads[tid]
	if th == nil { // a thread that a traced one has made
		th = &thread{}
		t.threads[tid] = th
	}
	signal := status.StopSignal()
	switch event := int(status) >> 16; event {
	case 0:
		signal = t.signalled(tid, th, signal, began)
	case unix.PTRACE_EVENT_EXEC:
		t.leaveAll()
		return
	case unix.PTRACE_EVENT_STOP:
		if th.hold != nil {
			t.stood(tid, th.hold)
		}
		if stops(signal) {
			_ = ptrace(unix.PTRACE_LISTEN, tid, 0, 0) // it stays stopped until SIGCONT
			return
		}
		signal = 0
	default:
		signal = 0
	}
	_ = ptrace(unix.PTRACE_CONT, tid, 0, uintptr(signal))
	t.stats.add(park.Now() - began)
}

// stops reports whether a signal is one that stops a whole process.
func stops(s unix.Signal) bool {
	return s == unix.SIGSTOP || s == unix.SIGTSTP || s == unix.SIGTTIN || s == unix.SIGTTOU
}
