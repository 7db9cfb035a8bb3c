//go:build linux && amd64

package rescue

import (
	"errors"
	"fmt"
	"net"
	"os"
	"runtime/debug"
	"time"

	"golang.org/x/sys/unix"

	"github.com/podstep/podstep/probes/companion"
	"github.com/podstep/podstep/probes/inside/park"
	"github.com/podstep/podstep/probes/kubelets"
)

const (
	// score is the rescuer's oom_score_adj: the kernel never ends it for want of memory.
	score = -1000
	// maxMemory is the memory that the garbage collector tries not to exceed.
	maxMemory = 32 << 20
	// lookEvery is how often the rescuer looks at both processes.
	lookEvery = 250 * time.Millisecond
	// removeWithin bounds how long a net is tried to be taken away.
	removeWithin = 30 * time.Second
)

// rescuer is the rescuer process.
type rescuer struct {
	link     *companion.Duplex[message]
	claim    net.Listener
	net      *Net
	pid      int           // of the kubelet
	mayStand time.Duration // how long it may be kept stopped
	debugger int           // its PID
	process  *os.File      // a pidfd of it
	gone     chan struct{} // closed when it has ended
	still    time.Time     // since when the kubelet was always found stopped; zero: it runs
}

// Main is the main function of the rescuer process. It returns the exit code.
func Main() int {
	c, err := companion.Link()
	if err != nil {
		fmt.Fprintln(os.Stderr, "podstep rescuer process: podstep attach starts it, not a person")
		return 2
	}
	debug.SetMemoryLimit(maxMemory)
	companion.Survive(score)
	companion.EndIfStill()
	r := &rescuer{link: companion.NewDuplex[message](c)}
	first, err := r.link.Receive()
	if err != nil || first.Options == nil {
		return 2
	}
	if err := r.open(*first.Options); err != nil {
		r.link.Send(message{Failed: err.Error()})
		r.link.Close()
		return 1
	}
	r.link.Send(message{Ready: os.Getpid()})
	companion.EndIfStuck("a message", companion.SilentAfter, r.link.Handles)
	go r.listen()
	if left := r.serve(); !left {
		r.awaitEnd()
	}
	if err := r.takeAway(); err != nil {
		return 1
	}
	r.link.Close()
	return 0
}

// claim makes this process the only one that changes the net of a process.
func claim(o Options) (net.Listener, error) {
	l, err := net.Listen("unix", fmt.Sprintf("@podstep-net-%d-%d", o.PID, o.Started))
	if err != nil {
		return nil, fmt.Errorf("another process of podstep's looks after the net below process %d: %w", o.PID, err)
	}
	return l, nil
}

var errNoDebugger = errors.New("the debugger process has ended")

// claimWithin is how long a rescuer that has died may keep its claim.
const claimWithin = 2 * time.Second

func (r *rescuer) open(o Options) error {
	var err error
	for began := time.Now(); ; time.Sleep(lookEvery / 10) {
		if r.claim, err = claim(o); err == nil || time.Since(began) > claimWithin {
			break
		}
	}
	if err != nil {
		return err
	}
	if !kubelets.Same(o.PID, o.Started) {
		return fmt.Errorf("process %d is another one by now", o.PID)
	}
	r.debugger, r.pid, r.mayStand = o.Debugger, o.PID, o.Still
	fd, err := unix.PidfdOpen(r.debugger, 0)
	if err != nil {
		return fmt.Errorf("open the debugger process: %w", err)
	}
	r.process = os.NewFile(uintptr(fd), "debugger")
	if os.Getppid() != r.debugger { // otherwise the number is still the debugger process's
		return errNoDebugger
	}
	if r.net, err = Install(o.PID); err != nil {
		return err
	}
	if err := r.watchEnd(); err != nil {
		return errors.Join(err, r.net.rescue())
	}
	return nil
}

// serve does what the debugger process asks for. It returns when that process has ended, or, with left, when it has
// left the kubelet.
func (r *rescuer) serve() (left bool) {
	for {
		m, err := r.link.Receive()
		if err != nil {
			return false
		}
		if m.Leave {
			go r.link.Attend()
			return true
		}
		if m.Add != nil {
			answer := added{Number: m.Add.Number}
			if err := r.net.Add(m.Add.Addresses, m.Add.Short); err != nil {
				answer.Err = err.Error()
			}
			r.link.Send(message{Added: &answer})
		}
	}
}

// listen ends the debugger process, and with it serve, if that process is silent or keeps the kubelet stopped. Before, it
// reports why: to the kernel's log, and to the debugger process, which passes the reason on to podstep if it can.
func (r *rescuer) listen() {
	why := ""
	for ; why == ""; time.Sleep(lookEvery) {
		switch {
		case r.stands():
			why = fmt.Sprintf("kept process %d stopped for more than %v", r.pid, r.mayStand)
		case r.link.Silent() > companion.SilentAfter:
			why = fmt.Sprintf("was silent for %v", companion.SilentAfter)
		}
	}
	select {
	case <-r.gone: // by itself
	default:
		companion.Report(fmt.Sprintf("process %d of podstep's %s, and is ended", r.debugger, why))
		r.link.Send(message{Ends: why})
		select {
		case <-r.gone:
		case <-time.After(lookEvery): // the kubelet stands still
		}
	}
	r.kill()
	r.link.Fail()
}

// stands reports whether a tracer has kept the kubelet stopped for too long.
func (r *rescuer) stands() bool {
	state := park.StatusOf(fmt.Sprintf("/proc/%d", r.pid), "State")
	if state == "" || state[0] != 't' {
		r.still = time.Time{}
		return false
	}
	if r.still.IsZero() {
		r.still = time.Now()
	}
	return time.Since(r.still) > r.mayStand
}

// kill ends the debugger process.
func (r *rescuer) kill() { companion.KillBy(int(r.process.Fd()), r.debugger) }

// awaitEnd returns when the debugger process has ended. It ends one that has closed the link and does not end.
func (r *rescuer) awaitEnd() {
	select {
	case <-r.gone:
	case <-time.After(companion.SilentAfter):
		r.kill()
		<-r.gone
	}
}

// takeAway lets the kubelet run if the signals by which Delve stops a program have stopped it, and takes the net away.
func (r *rescuer) takeAway() (err error) {
	for began := time.Now(); time.Since(began) < removeWithin; time.Sleep(lookEvery / 5) {
		if park.StatusOf(fmt.Sprintf("/proc/%d", r.pid), "State") == "" {
			return nil // the kubelet has ended
		}
		if err = r.net.rescue(); err == nil {
			return nil
		}
	}
	return err
}

// rescue writes a process's instructions back, lets the process run that a dead tracer or Freeze has left stopped, and
// takes the net away.
func (n *Net) rescue() error {
	back := n.WriteBack()
	// Delve stops a program by SIGSTOPs. Those that it has not taken back stop the process. SIGCONT drops them, also
	// those that are pending.
	if err := unix.Kill(n.pid, unix.SIGCONT); err != nil {
		return fmt.Errorf("let process %d go on: %w", n.pid, err)
	}
	if back != nil {
		return back
	}
	return n.Remove()
}

// TakeAway takes the net away that processes which have died left below a process, unless a rescuer does. It reports
// whether there was one.
func TakeAway(pid int, started uint64) (found bool, err error) {
	if at, err := find(pid); err != nil || at == 0 {
		return false, err
	}
	l, err := claim(Options{PID: pid, Started: started})
	if err != nil {
		return false, nil //nolint:nilerr // a rescuer is at it
	}
	defer l.Close()
	n, err := Find(pid)
	if err != nil || n == nil {
		return false, err
	}
	defer n.Close()
	if park.TracerOf(pid, pid) != 0 {
		return true, errors.New("another process traces the kubelet: end that one first")
	}
	return true, n.rescue()
}
