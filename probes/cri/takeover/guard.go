package takeover

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/podstep/podstep/probes/companion"
)

// guardRole is the argument by which this program is the guard.
const guardRole = "guard"

// message is a message of the link to the guard. One of its parts is set. The process that has the path sends orders, the
// guard the others.
type message struct {
	Order *order

	PID  int // the guard's; it is the first message
	Has  int // the number of the order that the guard has now
	Beat *Heartbeat
}

// order is what the guard would have to give back.
type order struct {
	Number int
	Name   string
	State  string // the state file
	Ours   fileID
	Theirs fileID
	// Dir is the socket's directory, and FD the sender's descriptor of it: the guard opens the same.
	Dir fileID
	FD  int
	// Done: all was given back, and the guard ends.
	Done bool
}

const (
	// guardAnswer is how long a guard that lives may take to answer an order. No client waits meanwhile: an order precedes
	// the exchange of the names.
	guardAnswer = 10 * time.Second
	// guardEnd is how long a guard may take to end.
	guardEnd = 2 * time.Second
	// guardStart is how long a guard may take from its start to its first message: a slow machine takes seconds to load a
	// program.
	guardStart = 30 * time.Second
)

// guard is our side of the guard process.
type guard struct {
	link   *companion.Client[message]
	has    chan int
	number int // of the last order
}

// startGuard starts a process that survives what ends us. It calls heartbeat with each call of the guard through the path
// that was answered.
func startGuard(command []string, heartbeat func(Heartbeat)) (*guard, error) {
	conn, err := companion.Start(guardRole, command, "GOMAXPROCS=1")
	if err != nil {
		return nil, err
	}
	g := &guard{link: companion.NewClient[message](conn, "guard"), has: make(chan int, 8)}
	ready := make(chan error, 1)
	go g.link.Run(func(m *message) {
		switch {
		case m.PID != 0:
			ready <- g.link.Watch(m.PID, companion.SilentAfter, guardEnd)
		case m.Beat != nil:
			heartbeat(*m.Beat)
		case m.Has != 0:
			select {
			case g.has <- m.Has:
			default: // nobody waits for it any more
			}
		}
	})
	select {
	case err = <-ready:
	case <-g.link.Done():
		err = g.link.Err()
	case <-time.After(guardStart):
		err = fmt.Errorf("it does not answer within %v", guardStart)
	}
	if err != nil {
		g.link.Kill()
		return nil, fmt.Errorf("start guard: %w", err)
	}
	return g, nil
}

// send sends the guard an order about a place, and returns when the guard has it.
func (g *guard) send(o order, p *place) error {
	g.number++
	o.Number, o.Dir, o.FD = g.number, p.id, p.dir
	return g.ask(o)
}

func (g *guard) ask(o order) error {
	g.link.Send(message{Order: &o})
	late := time.After(guardAnswer)
	for {
		select {
		case has := <-g.has:
			if has == o.Number {
				return nil
			}
		case <-g.link.Done():
			return fmt.Errorf("notify guard: %w", g.link.Err())
		case <-late:
			return fmt.Errorf("notify guard: no answer within %v", guardAnswer)
		}
	}
}

// end lets the guard end, with nothing left to give back.
func (g *guard) end() {
	g.link.Send(message{Order: &order{Done: true}})
	select {
	case <-g.link.Done():
	case <-time.After(guardEnd):
		// Else it may act on an order that does not hold any more.
		g.link.Kill()
		<-g.link.Done()
	}
}

// ended is closed when the guard has ended, also since it was silent.
func (g *guard) ended() <-chan struct{} { return g.link.Done() }

// Guard is the main function of the guard process. It waits until the process that has the path has ended, gives
// the path back if that process has not, and returns the exit code.
func Guard() int {
	conn, err := companion.Link()
	if err != nil {
		fmt.Fprintln(os.Stderr, "podstep guard: podstep attach starts it, not a person")
		return 2
	}
	companion.Survive(guardScore)
	w := &watchman{link: companion.NewDuplex[message](conn), dir: -1, ours: pinned{fd: -1}}
	companion.EndIfStuck("a call of the guard", stuckAfter, w.calling.Since)
	w.link.Send(message{PID: os.Getpid()})
	if w.serve() {
		return 0 // and the link ends with this process
	}
	if err := w.giveBack(); err != nil {
		companion.Report(fmt.Sprintf("the guard could not give %s back, podstep restore tries again: %v", w.Name, err))
		return 1
	}
	return 0
}

const (
	// guardScore is the guard's oom_score_adj: the kernel never ends it for want of memory.
	guardScore = -1000
	// stuckAfter is how long the guard may take for a call through the path, and for those that prove that the path is to
	// blame. Each is bounded by silentAfter.
	stuckAfter = 4 * silentAfter
)

// serve takes orders. It returns true when all was given back, and false when the process that has the path has ended.
func (w *watchman) serve() (done bool) {
	var h *heart
	defer func() { h.end() }()
	for {
		m, err := w.link.Receive()
		switch {
		case err != nil:
			return false
		case m.Order == nil:
			continue
		case m.Order.Done:
			return true
		}
		h.end()
		h = nil
		if err := w.takeOrder(*m.Order); err != nil {
			companion.Report(fmt.Sprintf("the guard cannot look after %s: %v", m.Order.Name, err))
			continue // and no answer: then the sender gives up on this process
		}
		if w.Ours != (fileID{}) {
			h = w.watchPath(os.Getppid())
		}
		w.link.Send(message{Has: w.Number})
	}
}

// watchman is what the guard knows.
type watchman struct {
	order
	link    *companion.Duplex[message]
	calling companion.Work // of the present heart
	dir     int
	// ours is our socket held open: while it is, no other file gets its identity.
	ours pinned
}

func (w *watchman) takeOrder(o order) error {
	// The process that has the path has started this one. If it has died, its number may stand for another.
	dir, err := unix.Open(fmt.Sprintf("/proc/%d/fd/%d", os.Getppid(), o.FD), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open its directory: %w", err)
	}
	if f, err := statOf(dir); err != nil || f.id != o.Dir {
		_ = unix.Close(dir)
		return errors.Join(errors.New("its directory is another one"), err)
	}
	w.ours.close()
	if w.dir >= 0 {
		_ = unix.Close(w.dir)
	}
	w.order, w.dir, w.ours = o, dir, pinned{fd: -1}
	p := w.place()
	for _, name := range []string{p.backup(), p.name} {
		s, err := p.pin(name)
		if err == nil && s.id == o.Ours {
			w.ours = s
			return nil
		}
		s.close()
	}
	return nil
}

func (w *watchman) place() *place { return &place{dir: w.dir, name: w.Name} }

// giveBack gives back what a dead podstep cannot give back.
func (w *watchman) giveBack() error {
	if w.dir < 0 {
		return nil
	}
	s, err := w.claim()
	if err != nil {
		return err
	}
	p := w.place()
	if w.Ours == (fileID{}) {
		err = p.dropUnserved()
	} else {
		_, err = p.giveBack(w.Ours, w.Theirs)
	}
	if err != nil || s == nil {
		return err // the state stays for podstep restore
	}
	// Now go by the names alone: the runtime may have made its socket anew just when podstep died. That takes the
	// lock, or it could be another podstep's work.
	if _, err := p.tidy(); err != nil {
		return err
	}
	return s.remove()
}

// dropUnserved removes the socket of a podstep that died before it could put the socket at the path.
func (p *place) dropUnserved() error {
	f, err := p.stat(p.backup())
	if err != nil || !f.socket || p.whoServes(p.backup()).alive {
		return err
	}
	return p.unlink(p.backup())
}

// claim locks the state. If another podstep, or a restore, has it by now, the work is theirs. A process that was killed and
// stays keeps the lock, and does nothing with it: then there is no state to be removed.
func (w *watchman) claim() (*stateFile, error) {
	s, err := lockStateSoon(w.State)
	var held *servedError
	switch {
	case errors.Is(err, os.ErrNotExist): // removed by somebody; our names may still be there
		return nil, nil
	case errors.As(err, &held) && companion.Killed(held.pid):
		return nil, nil
	}
	return s, err
}
