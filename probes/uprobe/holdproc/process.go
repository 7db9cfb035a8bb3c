//go:build linux && (amd64 || arm64)

package holdproc

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/podstep/podstep/probes/companion"
	"github.com/podstep/podstep/probes/inside"
	"github.com/podstep/podstep/probes/inside/park"
	"github.com/podstep/podstep/probes/kubelets"
)

const (
	// score is the hold process's oom_score_adj. With it, the kernel ends the process after all others.
	score = -999
	// maxMemory is the memory that the garbage collector tries not to exceed.
	maxMemory = 64 << 20
	// hangsAfter is how long the stop of one thread may be handled. After that, this process takes itself to hang,
	// and ends so that the kernel lets go of all threads.
	hangsAfter = 3 * time.Second
)

// process is the hold process. Only its link's goroutine uses it, except for the numbers.
type process struct {
	link    *companion.Duplex[message]
	program *park.Program
	tracer  *tracer
	stats   stats
	holds   atomic.Uint64
	known   inside.Known
	started uint64 // Options.Started
}

// Main is the main function of the hold process. It returns the exit code.
func Main() int {
	c, err := companion.Link()
	if err != nil {
		fmt.Fprintln(os.Stderr, "podstep hold process: podstep attach starts it, not a person")
		return 2
	}
	signal.Ignore(unix.SIGCHLD) // one comes with every stop of a thread
	debug.SetMemoryLimit(maxMemory)
	companion.Survive(score)
	companion.EndIfStill()
	p := &process{link: companion.NewDuplex[message](c)}
	first, err := p.link.Receive()
	if err != nil || first.Options == nil {
		return 2
	}
	if err := p.open(*first.Options); err != nil {
		p.link.Send(message{Failed: err.Error()})
		p.link.Close()
		return 1
	}
	p.link.Send(message{Ready: &ready{os.Getpid(), p.program.Go}})
	p.link.Heed(endWithin)
	companion.EndIfStuck("the stop of a thread", hangsAfter, busy.Since)
	p.serve()
	p.link.Close()
	return 0
}

func (p *process) open(o Options) (err error) {
	p.known, p.started = inside.Known{NotWithin: map[string]bool{}, Packages: o.Packages}, o.Started
	for _, f := range o.NotWithin {
		p.known.NotWithin[f] = true
	}
	if err := makeBells(); err != nil {
		return fmt.Errorf("set a signal's action: %w", err)
	}
	if p.program, err = park.Open(o.PID); err != nil {
		return err
	}
	if o.Started != 0 && !kubelets.Same(o.PID, o.Started) {
		return fmt.Errorf("process %d is another one by now", o.PID)
	}
	return nil
}

// serve does what podstep asks for, until podstep goes. Then it lets all goroutines go.
func (p *process) serve() {
	for {
		m, err := p.link.Receive()
		if err != nil || m.Leave {
			break
		}
		p.do(&m)
	}
	p.letAllGo()
}

func (p *process) do(m *message) {
	switch {
	case m.Arm != nil:
		answer := &armed{Number: m.Arm.Number}
		if err := p.arm(m.Arm.Places, answer); err != nil {
			answer.Err = err.Error()
		}
		answer.Stats = p.stats.all()
		p.link.Send(message{Armed: answer})
	case p.tracer == nil:
	case m.LetGo != 0:
		p.tracer.do(func() { p.tracer.letGo(m.LetGo) })
	case m.Renew != nil:
		p.tracer.do(func() { p.tracer.extend(m.Renew.Hold, park.Now()+m.Renew.Lease) })
	}
}

// arm arms these places, and no others. It leaves out those at which nothing can be held.
func (p *process) arm(places []inside.Place, answer *armed) error {
	all := map[uint64]inside.Place{}
	for _, place := range places {
		known, why := p.program.Place(place.Address)
		switch {
		case why == nil && place.Lease > 0:
			all[known.Next] = place
			continue
		case why == nil:
			why = &park.RefusedError{Reason: park.Failed, Text: "a hold needs a lease"}
		}
		if answer.Refused == nil {
			answer.Refused = map[uint64]park.RefusedError{}
		}
		answer.Refused[place.Address] = *why
	}
	if p.tracer != nil && p.tracer.do(func() { p.tracer.armed = all }) {
		return p.settle(len(all) == 0)
	}
	if len(all) == 0 {
		return nil
	}
	t := &tracer{program: p.program, started: p.started, report: p.link.Send, next: func() uint64 { return p.holds.Add(1) }, stats: &p.stats, known: p.known, armed: all}
	if p.tracer != nil { // its threads are the kernel's to give back before they can be traced again
		if err := p.untraced(); err != nil {
			return err
		}
	}
	if err := t.start(); err != nil {
		return err
	}
	p.tracer = t
	return nil
}

// settle waits, if nothing is armed, until no thread is traced any more. It does not wait while goroutines are held.
func (p *process) settle(disarmed bool) error {
	held := 0
	if !disarmed || p.tracer.do(func() { held = len(p.tracer.holds) }) && held > 0 {
		return nil
	}
	<-p.tracer.ended
	return p.untraced()
}

// leaveWithin is how long the kernel may take to end the tracer's thread.
const leaveWithin = 2 * time.Second

func (p *process) untraced() error {
	for began := time.Now(); time.Since(began) < leaveWithin; time.Sleep(lookEvery / 4) {
		if _, err := os.Stat(fmt.Sprintf("/proc/self/task/%d", p.tracer.tid)); errors.Is(err, os.ErrNotExist) {
			return nil
		}
	}
	return errors.New("the thread that traces the kubelet's does not end")
}

// letAllGo lets all goroutines go, and all threads.
func (p *process) letAllGo() {
	if p.tracer == nil {
		return
	}
	p.tracer.do(func() { p.tracer.armed = nil; p.tracer.letGo(0) })
	select {
	case <-p.tracer.ended:
		_ = p.untraced()
	case <-time.After(leaveWithin):
	}
}
