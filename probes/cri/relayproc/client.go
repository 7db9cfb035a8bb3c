package relayproc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/podstep/podstep/probes/companion"
	"github.com/podstep/podstep/probes/cri/relay"
	"github.com/podstep/podstep/probes/cri/takeover"
	"github.com/podstep/podstep/probes/kubelets"
)

// Client is podstep's side of a relay process.
type Client struct {
	h     Handler
	link  *link
	calls map[uint64]*call // of run alone

	mu     sync.Mutex
	pid    int           // of the relay process
	pidfd  *os.File      // nil if it is out of sight
	armed  chan struct{} // gets a token when have changes
	number uint64        // of the last message to arm, and the last one that was answered
	have   uint64
	came   uint64 // messages
	left   *Left
	unused string        // why the path is given back although nobody asked for that
	news   chan struct{} // gets a token when left is set
	ready  chan answer
	done   chan struct{} // closed when the link has ended
}

// call is a call that was reported, with what ends its gate.
type call struct {
	*relay.Call
	cancel context.CancelFunc
}

type answer struct {
	ready *Ready
	err   error
}

// Handler gets what a relay process reports.
type Handler struct {
	// Watcher gets the kubelet's calls, in their order, on one goroutine. A gate that its
	// Request returns is asked on another one, with a context in which Looked works.
	Watcher relay.Watcher
	// Note gets what happens to the runtime's socket, and Lost how many calls could not be
	// reported.
	Note func(takeover.Note)
	Lost func(calls int)
	// Count, if not nil, gets what the relay process counts, about twice a second.
	Count func(*Counts)
}

// leaveWithin is how long a relay process is waited for that gives the path back just now.
const leaveWithin = 5 * time.Second

// Start takes a path over by a relay process: by the one that is there already, or by one
// that command starts; none is this program with "relay". It returns when a call of the
// kubelet went through it, and was answered. If it fails, all is as before.
func Start(ctx context.Context, o Options, command []string, h Handler) (*Client, *Ready, error) {
	for began := time.Now(); ; {
		c, ready, err := start(ctx, o, command, h)
		var f *failure
		if err == nil || ctx.Err() != nil || !errors.As(err, &f) || !f.Leaves || time.Since(began) > leaveWithin {
			return c, ready, err
		}
		select {
		case <-time.After(beatEvery / 5):
		case <-ctx.Done():
			return nil, nil, fmt.Errorf("wait for the relay process that leaves: %w", ctx.Err())
		}
	}
}

func start(ctx context.Context, o Options, command []string, h Handler) (*Client, *Ready, error) {
	conn, err := dialLink(o)
	if err != nil {
		if conn, err = companion.Start("relay", command); err != nil {
			return nil, nil, err
		}
	}
	c := newClient(conn, h)
	ready, err := c.begin(ctx, o)
	if err != nil {
		c.abandon()
		return nil, nil, err
	}
	return c, ready, nil
}

func newClient(conn *net.UnixConn, h Handler) *Client {
	c := &Client{
		h: h, link: newLink(conn), calls: map[uint64]*call{},
		ready: make(chan answer, 1), armed: make(chan struct{}, 1), news: make(chan struct{}, 1), done: make(chan struct{}),
	}
	go c.run()
	go c.beat()
	return c
}

// begin says what is to be done, and waits until it is.
func (c *Client) begin(ctx context.Context, o Options) (*Ready, error) {
	c.link.send(message{Options: &o})
	select {
	case a := <-c.ready:
		if a.err == nil {
			c.remember(a.ready.PID)
		}
		return a.ready, a.err
	case <-c.done:
		select {
		case a := <-c.ready:
			return a.ready, a.err
		default:
		}
		return nil, errors.New("the relay process has ended at once")
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for the relay process: %w", ctx.Err())
	}
}

// remember opens the process, so that it cannot be mistaken for another one later.
func (c *Client) remember(pid int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pid = pid
	if fd, err := unix.PidfdOpen(pid, 0); err == nil {
		c.pidfd = os.NewFile(uintptr(fd), fmt.Sprintf("process %d", pid))
	}
}

// release closes what remember has opened.
func (c *Client) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pidfd != nil {
		_ = c.pidfd.Close()
		c.pidfd = nil
	}
}

// abandon has the relay process give all back, if it is there.
func (c *Client) abandon() {
	c.link.send(message{Leave: true})
	select {
	case <-c.done:
	case <-time.After(leaveWithin):
	}
	c.link.fail()
}

// Done is closed when the relay process has ended, or has hung up.
func (c *Client) Done() <-chan struct{} { return c.done }

// beat shows the relay process that this one works, and ends one that answers no more.
func (c *Client) beat() {
	tick := time.NewTicker(beatEvery)
	defer tick.Stop()
	// While this process was stopped itself, nobody was silent.
	for use := (usage{}); ; {
		select {
		case <-c.done:
			return
		case <-tick.C:
		}
		c.link.send(message{Beat: true, Count: c.h.Count != nil})
		c.mu.Lock()
		silent := use.look(time.Now(), c.came, c.pidfd != nil)
		c.mu.Unlock()
		if silent > hangsAfter {
			c.kill()
		}
	}
}

// hangsAfter is the silence of a relay process after which this one ends it. Its guard is
// about as quick, if it can be.
const hangsAfter = silentAfter + beatEvery

// kill ends a relay process that hangs, and a guard of it that does nothing about that
// because it is stopped.
func (c *Client) kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pidfd != nil {
		guards := stoppedChildren(c.pid)
		_ = unix.PidfdSendSignal(int(c.pidfd.Fd()), unix.SIGKILL, nil, 0)
		for _, pid := range guards {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
	}
	c.link.fail()
}

// stoppedChildren are the children of a process that a signal has stopped. They are its
// own, so no other process can have their numbers as long as it does not wait for them.
func stoppedChildren(pid int) (out []int) {
	var words []string
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, thread := range threads {
		text, _ := os.ReadFile(thread)
		words = append(words, strings.Fields(string(text))...)
	}
	for _, word := range words {
		child, err := strconv.Atoi(word)
		if err == nil && kubelets.State(child) == 'T' {
			out = append(out, child)
		}
	}
	return out
}

// run handles what the relay process sends.
func (c *Client) run() {
	defer close(c.done)
	defer c.endAll()
	defer c.release()
	for {
		m, err := c.link.receive()
		if err != nil {
			return
		}
		c.mu.Lock()
		c.came++
		c.mu.Unlock()
		c.handle(&m)
	}
}

func (c *Client) handle(m *message) {
	if m.Counts != nil && c.h.Count != nil {
		c.h.Count(m.Counts)
	}
	switch {
	case m.Begin != nil:
		c.began(m.Begin)
	case m.End != nil:
		c.ended(m.End)
	case m.Ready != nil:
		c.answer(answer{ready: m.Ready})
	case m.Failed != nil:
		c.answer(answer{err: m.Failed})
	case m.Armed != 0:
		c.setArmed(m.Armed)
	case m.Note != nil:
		c.h.Note(m.Note.note())
	case m.Lost > 0:
		c.h.Lost(m.Lost)
	case m.Unused != "":
		c.mu.Lock()
		c.unused = m.Unused
		c.mu.Unlock()
	case m.Left != nil:
		c.mu.Lock()
		c.left = m.Left
		c.mu.Unlock()
		offer(c.news)
	}
}

func (c *Client) answer(a answer) {
	select {
	case c.ready <- a:
	default:
	}
}

func offer(to chan struct{}) {
	select {
	case to <- struct{}{}:
	default:
	}
}

// looked is the key of the function that Looked calls.
type looked struct{}

// Looked says that the call of a gate's context was looked at: from now on the relay
// process waits for the verdict, however long it takes.
func Looked(ctx context.Context) {
	if f, ok := ctx.Value(looked{}).(func()); ok {
		f()
	}
}

// began reports a call to the watcher. One that does not wait in the relay process cannot
// be stopped any more, whatever the watcher says.
func (c *Client) began(b *begin) {
	k := &relay.Call{Method: b.Method, Began: b.Began, Deadline: b.Deadline}
	ctx, cancel := k.Context(context.Background())
	c.calls[b.ID] = &call{k, cancel}
	gate := c.h.Watcher.Request(k, b.Message)
	c.h.Watcher.Passed()
	switch {
	case !b.Waits && gate == nil:
	case !b.Waits:
		cancel()
		go func() { _ = gate(ctx) }()
	case gate == nil:
		c.decide(verdict{ID: b.ID})
	default:
		ctx = context.WithValue(ctx, looked{}, func() { c.decide(verdict{ID: b.ID, Looked: true}) })
		go func() {
			st := status.Convert(gate(ctx))
			c.decide(verdict{ID: b.ID, Code: st.Code(), Message: st.Message()})
		}()
	}
}

func (c *Client) decide(v verdict) { c.link.send(message{Verdict: &v}) }

// ended reports the end of a call, which also ends its gate.
func (c *Client) ended(e *end) {
	k := c.calls[e.ID]
	if k == nil {
		return
	}
	delete(c.calls, e.ID)
	k.cancel()
	if e.Answer == nil && !e.None {
		e.Answer = []byte{} // gob does not tell an empty one from none
	}
	c.h.Watcher.End(k.Call, e.Answer, status.New(e.Code, e.Message), e.At)
}

// endAll ends the calls whose end nobody reports any more.
func (c *Client) endAll() {
	for id, k := range c.calls {
		delete(c.calls, id)
		k.cancel()
		c.h.Watcher.End(k.Call, nil, status.New(codes.Unknown, "the relay process is gone; how the call ended is not known"), time.Now())
	}
}

// Arm has calls wait for the watcher's gates while wanted says so, as it is now. It returns
// when the relay process knows, or does not answer; if no call is to wait, at once.
func (c *Client) Arm(wanted func() bool) {
	c.mu.Lock()
	wait := wanted()
	c.number++
	number := c.number
	c.link.send(message{Arm: &arm{number, wait}})
	c.mu.Unlock()
	if !wait {
		return
	}
	late := time.After(lookWithin)
	for !c.hasArmed(number) {
		select {
		case <-c.armed:
		case <-late:
			return
		case <-c.done:
			return
		}
	}
	offer(c.armed) // for the next who waits
}

func (c *Client) hasArmed(number uint64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.have >= number
}

func (c *Client) setArmed(number uint64) {
	c.mu.Lock()
	c.have = max(c.have, number)
	c.mu.Unlock()
	offer(c.armed)
}

// Leave gives the path back, and reports what is still under way each time that it has
// changed, until nothing is, or ctx ends. The relay process ends by itself when the last
// call has. The error is why the path could not be given back.
func (c *Client) Leave(ctx context.Context, report func(*Left)) (err error) {
	c.link.send(message{Leave: true})
	defer c.link.fail()
	for {
		select {
		case <-c.news:
		case <-c.done:
			return err
		case <-ctx.Done():
			return err
		}
		c.mu.Lock()
		left := c.left
		c.mu.Unlock()
		if left.Err != "" {
			err = errors.New(left.Err)
		}
		report(left)
	}
}

// PID is the relay process.
func (c *Client) PID() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pid
}

// Unused is why the relay process has given the path back by itself; empty: it has not.
func (c *Client) Unused() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.unused
}
