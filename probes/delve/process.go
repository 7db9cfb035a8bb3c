//go:build linux && amd64

package delve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/podstep/podstep/probes/companion"
	"github.com/podstep/podstep/probes/delve/rescue"
	"github.com/podstep/podstep/probes/inside"
	"github.com/podstep/podstep/probes/inside/reading"
	"github.com/podstep/podstep/probes/kubelets"
)

// Unsupported is why Delve shows nothing on this architecture; nil: it does.
var Unsupported error

const (
	// score is the debugger process's oom_score_adj. With it, the kernel ends the process after all others.
	score = -999
	// stuckAfter is how long the handling of a stop, or what podstep asks for meanwhile, may take. Then this process takes
	// itself to hang and ends, and the rescuer lets the kubelet go on.
	stuckAfter = 10 * time.Second
	// maxMemory is the memory that the garbage collector tries not to exceed. If the kubelet has tables of variables,
	// Delve keeps an index of them.
	maxMemory = 1 << 30
)

// process is the debugger process. Only the goroutine of drive uses it, except for requests.
type process struct {
	link    *companion.Duplex[message]
	options Options
	target  *target
	rescuer *rescue.Client // nil: a headless Delve looks after its breakpoints itself, or there is no net
	plan    reading.Plan
	reader  *reading.Reader
	begun   Begun

	bounds    atomic.Pointer[Bounds]
	wanted    Wanted
	holds     map[uint64]*hold        // by number
	number    uint64                  // of the last hold
	places    map[uint64]int          // numbers by address
	rules     map[uint64]inside.Place // which goroutines are held at a place, by address
	notWithin map[string]bool
	rested    time.Time // when a hold last stopped the whole kubelet
	stats     Stats
	leaving   bool
	lines     map[uint64]bool      // addresses of breakpoints at lines
	linesID   int                  // Delve's number of them; 0: there are none
	steps     map[uint64]*lineStep // goroutines that go on by line
	passing   map[uint64]uint64    // by g, the addresses at which goroutines go on and meet a breakpoint again
	inside    nesting
	twice     twice
	noted     map[string]bool // notes that were sent about lines at which no goroutine is held
	kick      chan struct{}   // there are requests
	busy      companion.Work  // while the kubelet stands still, and not for a person

	mu       sync.Mutex
	requests []func() // for the goroutine of drive, while the kubelet stands still
	running  bool
	ended    chan struct{} // closed when drive has returned
}

// Main is the main function of the debugger process. It returns the exit code.
func Main() int {
	c, err := companion.Link()
	if err != nil {
		fmt.Fprintln(os.Stderr, "podstep debugger process: podstep attach starts it, not a person")
		return 2
	}
	signal.Ignore(unix.SIGCHLD)
	log.SetOutput(io.Discard) // Delve logs there what it cannot do
	debug.SetMemoryLimit(maxMemory)
	companion.Survive(score)
	companion.EndIfStill()
	p := &process{
		link:  companion.NewDuplex[message](c),
		holds: map[uint64]*hold{}, places: map[uint64]int{}, rules: map[uint64]inside.Place{}, notWithin: map[string]bool{},
		lines: map[uint64]bool{}, steps: map[uint64]*lineStep{}, passing: map[uint64]uint64{}, inside: nesting{}, noted: map[string]bool{},
		kick: make(chan struct{}, 1), ended: make(chan struct{}),
	}
	first, err := p.link.Receive()
	if err != nil || first.Options == nil {
		return 2
	}
	if err := p.open(*first.Options); err != nil {
		p.fail(err)
		return 1
	}
	p.link.Send(message{Ready: &Ready{PID: p.pid(), Self: os.Getpid(), Delve: delveVersion(), NoNet: p.spread()}})
	p.link.Heed(endWithin)
	companion.EndIfStuck("a stop of the kubelet", stuckAfter, p.busy.Since)
	p.serve()
	p.link.Close()
	return 0
}

func (p *process) fail(err error) {
	p.link.Send(message{Failed: err.Error()})
	p.link.Close()
}

// open connects to the headless Delve, if there is one. A Delve in this process attaches at Begin: from then on the
// kubelet stands still.
func (p *process) open(o Options) (err error) {
	p.options = o
	p.bounds.Store(&o.Bounds)
	for _, f := range o.NotWithin {
		p.notWithin[f] = true
	}
	if o.Remote != "" {
		p.target, err = dial(context.Background(), o.Remote)
		return err
	}
	if o.Started != 0 && !kubelets.Same(o.PID, o.Started) {
		return fmt.Errorf("process %d is another one by now", o.PID)
	}
	return nil
}

func (p *process) pid() int {
	if p.target != nil {
		return p.target.pid
	}
	return p.options.PID
}

// serve does what podstep asks for, until podstep goes.
func (p *process) serve() {
	started := false
	for {
		m, err := p.link.Receive()
		if err != nil {
			break
		}
		if m.Leave {
			p.spawn(p.link.Attend)
			break
		}
		switch {
		case m.Begin != nil && !started:
			started = true
			p.plan = *m.Begin
			p.spawn(p.drive)
		case m.Wanted != nil:
			p.do(func() { p.wanted = *m.Wanted; p.setLines() })
		case m.Rules != nil:
			p.do(func() {
				for _, r := range m.Rules {
					p.rules[r.Address] = r
				}
			})
		case m.Bounds != nil:
			p.bounds.Store(m.Bounds)
		case m.Renew != 0:
			p.settled(settleTries, func() *hold { return p.holds[m.Renew] }, func() { p.renew(m.Renew) })
		case m.LetGo != 0:
			p.do(func() { p.letGo(m.LetGo) })
		case m.Look != nil:
			p.settled(settleTries, func() *hold { return p.holdOf(m.Look.Goroutine) }, func() { p.link.Send(message{Looked: p.look(m.Look)}) })
		}
	}
	if !started {
		if p.target != nil {
			_ = p.target.leave()
		}
		p.takeNet()
		return
	}
	p.do(func() { p.leaving = true })
	<-p.ended
}

// askAgain is how often a request asks the kubelet to stand still: Delve forgets a request that comes just before it
// lets the kubelet go on.
const askAgain = 100 * time.Millisecond

// do makes the goroutine of drive call what while the kubelet stands still. It does not wait for that.
func (p *process) do(what func()) {
	done := make(chan struct{})
	p.mu.Lock()
	p.requests = append(p.requests, func() { close(done); what() })
	p.mu.Unlock()
	select {
	case p.kick <- struct{}{}:
	default: // drive is to be woken already
	}
	p.spawn(func() {
		for {
			p.mu.Lock()
			running, t := p.running, p.target
			p.mu.Unlock()
			if running {
				p.twice.halting()
				p.spawn(func() { _ = t.halt(); p.twice.halting() })
			}
			select {
			case <-done:
				return
			case <-p.ended:
				return
			case <-time.After(askAgain):
			}
		}
	})
}

// runRequests runs the requests that have come.
func (p *process) runRequests() {
	p.mu.Lock()
	all := p.requests
	p.requests = nil
	p.mu.Unlock()
	p.busy.Begin()
	defer p.busy.End()
	for _, r := range all {
		r()
	}
}

// drive lets the kubelet go on and stand still, until podstep leaves or the kubelet ends.
func (p *process) drive() {
	defer close(p.ended)
	err := safely(p.begin)
	p.begun.Err = text(err)
	p.link.Send(message{Begun: &p.begun})
	if err == nil {
		err = safely(p.loop)
	}
	switch {
	case errors.Is(err, errExited):
		for _, h := range p.holds {
			p.endHold(h, inside.ProgramGone)
		}
	case p.target != nil:
		err = errors.Join(err, p.finish())
	}
	p.takeNet()
	if err != nil {
		p.link.Send(message{Failed: err.Error()})
	}
}

// spawn calls run on a goroutine of its own. A panic makes Delve leave the kubelet.
func (p *process) spawn(run func()) {
	go func() {
		err := safely(func() error { run(); return nil })
		if err == nil {
			return
		}
		p.note("%v", err)
		p.link.Fail() // then serve makes Delve leave
	}()
}

// safely runs a function that may panic, and returns the panic as an error: the breakpoints are taken back whatever
// fails.
func safely(run func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the debugger process failed: %v", r)
		}
	}()
	return run()
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
