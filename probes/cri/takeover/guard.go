package takeover

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/podstep/podstep/probes/companion"
)

// order is what the guard is told: what it would have to give back. The open directory comes with it, unless it is
// the last order.
type order struct {
	Name   string `json:"name"`
	State  string `json:"state"` // the state file
	Ours   fileID `json:"ours"`
	Theirs fileID `json:"theirs"`
	// Ping: nothing has changed; the guard shows that it works.
	Ping bool `json:"ping,omitempty"`
	// Done: all was given back, and the guard ends.
	Done bool `json:"done,omitempty"`
}

// answer is what the guard answers to an order.
type answer struct {
	Heartbeats []Heartbeat `json:"heartbeats,omitempty"`
}

const (
	guardFD       = 3 // the guard's end of the pipe, its first file after stderr
	maxOrder      = 16 << 10
	maxAnswer     = 4 << 10 // of the guard to an order
	guardPatience = 2 * time.Second
	// guardStart is how long a guard may take from its start to its first answer: a slow machine
	// takes seconds to load a program.
	guardStart = 30 * time.Second
	pingEvery  = time.Second
)

// guard is our side of the guard process.
type guard struct {
	cmd   *exec.Cmd
	fd    int
	ended chan struct{} // closed when the process has

	pinged time.Time // when it was last asked whether it works
}

// startGuard starts a process that survives what ends us.
func startGuard(command []string) (*guard, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("start guard: %w", err)
	}
	theirs := os.NewFile(uintptr(fds[1]), "guard")
	defer theirs.Close()
	g := &guard{cmd: exec.Command(command[0], command[1:]...), fd: fds[0], ended: make(chan struct{})}
	g.cmd.Args[0], g.cmd.Dir = "podstep", "/" // so that ps shows whose it is
	g.cmd.Env = []string{"GOMAXPROCS=1"}
	g.cmd.ExtraFiles = []*os.File{theirs}
	g.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := g.cmd.Start(); err != nil {
		_ = unix.Close(fds[0])
		return nil, fmt.Errorf("start guard: %w", err)
	}
	go func() {
		_ = g.cmd.Wait()
		close(g.ended)
	}()
	g.wait(guardStart)
	if _, err := g.ask(order{Ping: true}, -1); err != nil {
		_ = g.cmd.Process.Kill()
		<-g.ended
		g.close()
		return nil, fmt.Errorf("start guard: %w", err)
	}
	g.wait(guardPatience)
	return g, nil
}

// wait sets how long the guard has for an answer: a guard that is alive, but does not answer, must not stop us for
// good.
func (g *guard) wait(most time.Duration) {
	t := unix.NsecToTimeval(int64(most))
	_ = unix.SetsockoptTimeval(g.fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &t)
	_ = unix.SetsockoptTimeval(g.fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &t)
}

// send sends the guard an order, and returns when the guard has it.
func (g *guard) send(o order, dir int) error {
	_, err := g.ask(o, dir)
	return err
}

// ask is send for an order whose answer matters.
func (g *guard) ask(o order, dir int) (a answer, err error) {
	b, err := json.Marshal(o)
	if err != nil {
		return a, fmt.Errorf("notify guard: %w", err)
	}
	var rights []byte
	if !o.Done && !o.Ping {
		rights = unix.UnixRights(dir)
	}
	if err := retry(func() error { return unix.Sendmsg(g.fd, b, rights, nil, unix.MSG_NOSIGNAL) }); err != nil {
		return a, fmt.Errorf("notify guard: %w", err)
	}
	text := make([]byte, maxAnswer)
	var n int
	err = retry(func() (err error) { n, err = unix.Read(g.fd, text); return err })
	if err != nil {
		return a, fmt.Errorf("notify guard: no answer: %w", err)
	}
	if n == 0 {
		return a, errors.New("notify guard: it ended without an answer")
	}
	if err := json.Unmarshal(text[:n], &a); err != nil {
		return a, fmt.Errorf("notify guard: read its answer: %w", err)
	}
	return a, nil
}

func retry(do func() error) error {
	for {
		if err := do(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// end lets the guard end, with nothing left to give back.
func (g *guard) end() {
	if g.send(order{Done: true}, -1) != nil {
		// Else it may act on an order that does not hold any more.
		_ = g.cmd.Process.Kill()
	}
	<-g.ended
	_ = unix.Close(g.fd)
}

// works reports whether the guard answers. It ends a guard that does not. It passes what the guard reports to
// heartbeat.
func (g *guard) works(heartbeat func(Heartbeat)) bool {
	if time.Since(g.pinged) < pingEvery {
		return true
	}
	g.pinged = time.Now()
	if a, err := g.ask(order{Ping: true}, -1); err == nil {
		for _, b := range a.Heartbeats {
			heartbeat(b)
		}
		return true
	}
	_ = g.cmd.Process.Kill()
	<-g.ended
	return false
}

// close closes our end of a guard that has ended.
func (g *guard) close() { _ = unix.Close(g.fd) }

// Guard is the main function of the guard process. It waits until the process that has the path has ended, gives
// the path back if that process has not, and returns the exit code.
func Guard() int {
	// A person or system that ends podstep often sends the signal to all its processes.
	signal.Ignore(unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT, unix.SIGPIPE, unix.SIGTSTP, unix.SIGUSR1, unix.SIGUSR2)
	if _, err := unix.Getpeername(guardFD); err != nil {
		fmt.Fprintln(os.Stderr, "podstep guard: it is started by podstep attach, not by hand")
		return 2
	}
	unix.CloseOnExec(guardFD)
	companion.Survive(guardScore)
	w := &watchman{dir: -1, ours: pinned{fd: -1}}
	var h *heart
	for {
		o, dir, err := receive(guardFD)
		if errors.Is(err, errOrder) {
			continue // and no answer: then the sender gives up on us
		}
		if err != nil {
			break // podstep has ended
		}
		if !o.Ping {
			h.end()
			h = nil
			if !o.Done {
				w.takeOrder(o, dir)
			}
			if !o.Done && o.Ours != (fileID{}) {
				h = watchPath(o, dir, os.Getppid())
			}
		}
		text, _ := json.Marshal(answer{h.take()})
		_ = retry(func() error { return unix.Sendmsg(guardFD, text, nil, nil, unix.MSG_NOSIGNAL) })
		if o.Done {
			return 0
		}
	}
	h.end()
	if err := w.giveBack(); err != nil {
		Report(fmt.Sprintf("the guard could not give %s back, podstep restore tries again: %v", w.Name, err))
		return 1
	}
	return 0
}

// guardScore is the guard's oom_score_adj: the kernel never ends it for want of memory.
const guardScore = -1000

var (
	errEnded = errors.New("podstep has ended")
	errOrder = errors.New("this is no order")
)

// receive reads one order.
func receive(fd int) (order, int, error) {
	b, rights := make([]byte, maxOrder), make([]byte, unix.CmsgSpace(4))
	var n, extra int
	err := retry(func() (err error) {
		n, extra, _, _, err = unix.Recvmsg(fd, b, rights, unix.MSG_CMSG_CLOEXEC)
		return err
	})
	if err != nil {
		return order{}, -1, fmt.Errorf("read order: %w", err)
	}
	if n == 0 {
		return order{}, -1, errEnded
	}
	dir := rightIn(rights[:extra])
	o, err := parseOrder(b[:n])
	if err != nil && dir >= 0 {
		_ = unix.Close(dir)
	}
	return o, dir, err
}

func parseOrder(b []byte) (order, error) {
	var o order
	if err := json.Unmarshal(b, &o); err != nil {
		return order{}, fmt.Errorf("read order: %w: %w", errOrder, err)
	}
	return o, nil
}

// rightIn returns the file that came along, or -1.
func rightIn(b []byte) int {
	messages, err := unix.ParseSocketControlMessage(b)
	if err != nil || len(messages) == 0 {
		return -1
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) == 0 {
		return -1
	}
	return fds[0]
}

// watchman is what the guard knows.
type watchman struct {
	order
	dir int
	// ours is our socket held open: while it is, no other file gets its identity.
	ours pinned
}

func (w *watchman) takeOrder(o order, dir int) {
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
			return
		}
		s.close()
	}
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

// claim locks the state. If another podstep, or a restore, has it by now, the work is theirs.
func (w *watchman) claim() (*stateFile, error) {
	const tries, pitch = 100, 10 * time.Millisecond
	var err error
	for range tries {
		var s *stateFile
		s, err = lockState(w.State, 0)
		var held *servedError
		if err == nil || !errors.As(err, &held) {
			if errors.Is(err, os.ErrNotExist) {
				err = nil // removed by somebody; our names may still be there
			}
			return s, err
		}
		time.Sleep(pitch)
	}
	return nil, err
}
