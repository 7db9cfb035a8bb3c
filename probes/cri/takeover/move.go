package takeover

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Connection is a connection of the kubelet's that goes to the runtime past us.
type Connection struct {
	PID   int    // the process that made it
	Inode uint64 // of the runtime's end, as /proc/PID/fd has it
	Seen  time.Time
	Asked time.Time // to come over; zero if it has not been quiet yet
	// Forced is when it was shut down; zero if it was not.
	Forced time.Time

	next   time.Time // when it is to be asked again
	speaks speech
}

const (
	// settled is how old a connection must be to be asked: the runtime's first
	// frame must have been its own.
	settled = 100 * time.Millisecond
	// After the path is ours, connections that were being made still appear.
	movePitch, moveOften = 50 * time.Millisecond, 3 * time.Second
	moveSeldom           = 2 * time.Second
	// Looking for a quiet moment costs a part of a processor.
	askAgain = 10 * time.Second
	// Most speak soon. To wait for that holds a connection open, and costs nothing else.
	speakSoon, lookAgain = 10 * time.Second, 100 * time.Millisecond
)

// mover asks the kubelet's connections to come over.
type mover struct {
	runtime *process
	name    string // of the runtime's socket, as it was made
	mixed   bool   // not all that comes to the runtime is gRPC
	o       *Options
	note    func(what, text string, err error)

	mu   sync.Mutex
	skip map[uint64]bool
	old  map[uint64]*Connection
}

func newMover(rt *process, name string, o *Options, note func(what, text string, err error)) *mover {
	return &mover{
		runtime: rt, name: name, mixed: speaksMore(rt.PID), o: o, note: note,
		skip: map[uint64]bool{}, old: map[uint64]*Connection{},
	}
}

// look finds the connections that are there now and, if may is set, asks those that are ready.
func (m *mover) look(may bool) ([]Connection, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	ends, err := m.runtime.connectionEnds(m.name, m.o.Kubelet, m.skip)
	if err != nil {
		return nil, err
	}
	defer closeAll(ends)
	now := time.Now()
	there := map[uint64]*Connection{}
	for _, e := range ends {
		c := m.old[e.inode]
		if c == nil {
			c = &Connection{PID: e.peer, Inode: e.inode, Seen: now}
		}
		there[e.inode] = c
	}
	m.old = there
	if may {
		m.askAll(ends)
		m.leaveOthers()
	}
	return m.left(), nil
}

// leaveOthers forgets connections that do not speak gRPC.
func (m *mover) leaveOthers() {
	for inode, c := range m.old {
		if c.speaks == speaksElse {
			m.skip[inode] = true
			delete(m.old, inode)
		}
	}
}

// askAll asks all connections at once: each may take a while to be quiet. Our duplicates keep a connection from
// being closed, so they are held no longer than that.
func (m *mover) askAll(ends []end) {
	var all sync.WaitGroup
	for _, e := range ends {
		c := m.old[e.inode]
		all.Go(func() { m.bring(c, e) })
	}
	all.Wait()
}

// bring takes the next step for one connection.
func (m *mover) bring(c *Connection, e end) {
	now := time.Now()
	if c.Asked.IsZero() && c.Forced.IsZero() && now.Sub(c.Seen) >= settled && now.After(c.next) {
		var err error
		c.speaks, err = askToMove(e.fd, c.speaks, m.mixed)
		m.asked(c, e, err)
	}
	known := c.speaks == speaksGRPC || c.speaks == unseen && !m.mixed
	if known && m.o.ForceAfter > 0 && c.Asked.IsZero() && c.Forced.IsZero() && time.Since(c.Seen) >= m.o.ForceAfter {
		m.force(c, e, nil)
	}
}

// asked handles the result of asking a connection.
func (m *mover) asked(c *Connection, e end, err error) {
	now := time.Now()
	switch {
	case err == nil:
		c.Asked = now
	case errors.Is(err, errElse):
		// It is left alone.
	case errors.Is(err, errShort):
		// Half a frame is in it, so it is of no use any more.
		m.force(c, e, err)
	case errors.Is(err, errUnseen) && now.Sub(c.Seen) < speakSoon:
		c.next = now.Add(lookAgain)
	case errors.Is(err, errUnseen):
		c.next = now.Add(askAgain)
	default:
		if c.next.IsZero() {
			m.note(ConnectionBusy, fmt.Sprintf("a connection of process %d cannot be asked to come over yet", c.PID), err)
		}
		c.next = now.Add(askAgain)
	}
}

func (m *mover) force(c *Connection, e end, why error) {
	if err := unix.Shutdown(e.fd, unix.SHUT_RDWR); err != nil && !errors.Is(err, unix.ENOTCONN) {
		why = errors.Join(why, err)
	}
	c.Forced = time.Now()
	m.note(ConnectionForced, fmt.Sprintf("a connection of process %d had to be shut down; its calls under way fail", c.PID), why)
}

// left returns the connections that there are, oldest first.
func (m *mover) left() []Connection {
	var out []Connection
	for _, c := range m.old {
		out = append(out, *c)
	}
	slices.SortFunc(out, func(a, b Connection) int { return a.Seen.Compare(b.Seen) })
	return out
}

// run looks until ctx ends, or nothing has been left for a while.
func (m *mover) run(ctx context.Context) {
	start := time.Now()
	for {
		left, err := m.look(true)
		passed := time.Since(start)
		if err != nil || (len(left) == 0 && passed > moveOften) {
			return // the runtime has ended, or all are with us
		}
		pitch := movePitch
		if passed > moveOften {
			pitch = moveSeldom
		}
		select {
		case <-time.After(pitch):
		case <-ctx.Done():
			return
		}
	}
}

// waitGone returns when no connection is left. If ctx ends first, it returns those that are left.
func (m *mover) waitGone(ctx context.Context) ([]Connection, error) {
	for {
		left, err := m.look(true)
		if err != nil || len(left) == 0 {
			return left, err
		}
		select {
		case <-time.After(movePitch):
		case <-ctx.Done():
			return left, nil
		}
	}
}
