//go:build linux && (amd64 || arm64)

package holdproc

import (
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/podstep/podstep/probes/companion"
	"github.com/podstep/podstep/probes/inside"
	"github.com/podstep/podstep/probes/inside/park"
	"github.com/podstep/podstep/probes/inside/ptrace"
)

// tracer traces the program's threads while places are armed or goroutines are held. It does so on a thread of its
// own. When that thread ends, the kernel lets go of the program's threads.
type tracer struct {
	bell
	program *park.Program
	started uint64 // when the program's process was started; 0: it is not known
	report  func(message)
	next    func() uint64 // the number of the next hold
	stats   *stats
	known   inside.Known

	// Only the thread uses these.
	armed   map[uint64]inside.Place // by the address behind the place's instruction
	threads map[int]*thread
	holds   map[uint64]*hold
	gone    bool

	ended chan struct{}
}

// thread is a thread of the program.
type thread struct {
	hold *hold
}

// stats are the Stats that other goroutines read.
type stats struct{ stops, stood, worst atomic.Int64 }

func (s *stats) addStop(d time.Duration) {
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
	companion.OnThread(func() {
		t.tid = unix.Gettid()
		err := t.seize()
		started <- err
		if err == nil {
			t.trace()
		}
	})
	return <-started
}

// busy is the handling of a stop.
var busy companion.Work

// trace handles the threads' events until nothing is left to do.
func (t *tracer) trace() {
	defer close(t.ended)
	for !t.run(t.idle) {
		var status unix.WaitStatus
		tid, err := unix.Wait4(-1, &status, unix.WALL, nil)
		switch {
		case err == unix.EINTR:
		case err != nil: // no thread is left
			t.programGone()
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

// programGone handles the end of the program, or its exec of another one.
func (t *tracer) programGone() {
	t.gone = true
	for _, h := range t.holds {
		t.endHold(h, inside.ProgramGone)
	}
}

// handle handles one event of a thread.
func (t *tracer) handle(tid int, status unix.WaitStatus) {
	began := park.Now()
	busy.Begin()
	defer busy.End()
	companion.Mishap("stop")
	if !status.Stopped() {
		if th := t.threads[tid]; th != nil && th.hold != nil {
			t.endHold(th.hold, inside.ProgramGone)
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
		t.programGone()
		return
	case unix.PTRACE_EVENT_STOP:
		if th.hold != nil {
			t.stood(tid, th.hold)
		}
		if ptrace.StopsProcess(signal) {
			_ = ptrace.Call(unix.PTRACE_LISTEN, tid, 0, 0) // it stays stopped until SIGCONT
			return
		}
		signal = 0
	default:
		signal = 0
	}
	_ = unix.PtraceCont(tid, int(signal))
	t.stats.addStop(park.Now() - began)
}
