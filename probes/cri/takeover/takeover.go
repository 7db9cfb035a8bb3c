package takeover

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Takeover is a runtime's socket that is ours for a while.
type Takeover struct {
	o     Options
	root  rootDir
	ns    string
	end   context.Context // ours, ended by Give
	stop  context.CancelFunc
	looks chan struct{} // something has changed: look
	done  chan struct{} // closed when the watch has ended

	mu    sync.Mutex // held by the one that changes something
	state *stateFile
	guard *guard
	last  gone // what the previous taken left
	noted map[string]string
	given bool
	err   error // of giving back

	noting sync.Mutex // notes come one after the other

	// see is held for moments only: connections are served while things change.
	see sync.Mutex
	now *taken    // nil while there is no runtime to stand before; changed with mu
	up  *upstream // nil before and after all
}

// gone is what is remembered of a runtime's socket that we do not have any more.
type gone struct {
	socket fileID
	pid    int
	what   string // why we do not have it: RuntimeGone or PathLost
	looks  int    // how often a socket that is not served yet was looked at
}

// taken is the path while it is ours.
type taken struct {
	place   *place
	theirs  pinned
	up      *upstream // to their socket, as long as it is dialed
	ours    fileID
	in      *door
	runtime *process // nil if it is out of sight
	move    *mover   // nil if no connection is to be touched
	ctx     context.Context
	end     context.CancelFunc
	moving  sync.WaitGroup
	missed  int // how often the path was not there
}

// Take takes the path over. It returns when the path is ours. From then on the kubelet's connections are asked to
// come over, and Came waits for them: the function that serves them may need the Takeover that Take returns. If
// Take fails, all is as it was.
func Take(ctx context.Context, o Options) (*Takeover, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	root, err := openRoot(o.Root)
	if err != nil {
		return nil, explain(o.Path, err)
	}
	t := &Takeover{
		o: o, root: root, ns: namespaceOf(o.Root), noted: map[string]string{},
		looks: make(chan struct{}, 1), done: make(chan struct{}),
	}
	t.end, t.stop = context.WithCancel(context.Background())
	if err := t.begin(ctx); err != nil {
		t.stop()
		return nil, errors.Join(explain(o.Path, err), t.leave(ctx))
	}
	return t, nil
}

// begin takes the path and begins to watch it.
func (t *Takeover) begin(ctx context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.takeFirst(ctx); err != nil {
		return err
	}
	go newWatcher(t).run()
	return nil
}

// takeFirst takes the path for the first time. It finds all obstacles that can be known before it changes anything.
func (t *Takeover) takeFirst(ctx context.Context) error {
	p, err := findPlace(t.root, t.o.Path)
	if err != nil {
		return err
	}
	defer p.close()
	s, err := p.pin(p.name)
	if err != nil {
		return err
	}
	s.close()
	if !s.socket {
		return errNoSocket
	}
	// There is a guard, which removes our files, before there is the first of them.
	if t.guard, err = startGuard(t.o.GuardCommand, t.o.Heartbeat); err != nil {
		return err
	}
	if err := t.guard.send(order{Name: p.name, State: statePath(t.o.Dir, p)}, p); err != nil {
		return err
	}
	if err := t.prepare(p); err != nil {
		return err
	}
	return t.takePath(ctx)
}

// prepare makes the state of the path ours, and checks whether the path can be taken.
func (t *Takeover) prepare(p *place) (err error) {
	if t.state, err = openState(t.o.Dir, p); err != nil {
		return err
	}
	if _, err := p.tidy(); err != nil {
		return err
	}
	if !p.whoServes(p.name).alive {
		return unix.ECONNREFUSED
	}
	return nil
}

var (
	errNoSocket = errors.New("it is not a socket")
	errReplaced = errors.New("it is replaced all the time")
)

// takePath makes the path ours. The caller holds mu.
func (t *Takeover) takePath(ctx context.Context) error {
	for range rounds {
		p, err := findPlace(t.root, t.o.Path)
		if err != nil {
			return err
		}
		n, err := t.takeAt(ctx, p)
		if err != nil {
			p.close()
			if errors.Is(err, errMoved) {
				continue
			}
			return err
		}
		t.follow(n)
		return nil
	}
	return errReplaced
}

// follow keeps up with the runtime whose path is ours now.
func (t *Takeover) follow(n *taken) {
	n.ctx, n.end = context.WithCancel(t.end)
	if n.runtime != nil {
		n.moving.Go(func() {
			n.runtime.Wait()
			t.requestLook()
		})
	}
	if n.move != nil {
		n.moving.Go(func() { n.move.run(n.ctx) })
	}
	t.see.Lock()
	defer t.see.Unlock()
	t.now = n
}

// errMoved: the runtime made its socket anew just now.
var errMoved = errors.New("it was replaced meanwhile")

func (t *Takeover) takeAt(ctx context.Context, p *place) (*taken, error) {
	if _, err := p.tidy(); err != nil {
		return nil, err
	}
	theirs, err := p.pin(p.name)
	if err != nil {
		return nil, err
	}
	n := &taken{place: p, theirs: theirs, up: t.newUpstream(theirs)}
	err = t.meet(ctx, n)
	if err == nil {
		err = t.stand(n)
	}
	if err != nil {
		if n.runtime != nil {
			n.runtime.Close()
		}
		n.up.drop()
		return nil, err
	}
	return n, nil
}

// stand puts a socket of ours before the runtime's.
func (t *Takeover) stand(n *taken) error {
	// The guard knows the directory before anything is in it.
	if err := t.register(n); err != nil {
		return err
	}
	l, ours, err := n.place.listen(n.place.backup(), n.theirs, n.pid())
	if err != nil {
		return err
	}
	n.ours, n.in = ours, newDoor(l, n.up, t.o.Serve)
	// Clients that connect from now on are served, so the way to the runtime is open first.
	before := t.setUpstream(n.up)
	if err := t.change(n); err != nil {
		_, back := n.place.giveBack(ours, n.theirs.id)
		t.setUpstream(before)
		n.in.close(0)
		return errors.Join(err, back)
	}
	return nil
}

// meet finds out which process the runtime is, and whether its connections can be had.
func (t *Takeover) meet(ctx context.Context, n *taken) error {
	if !n.theirs.socket {
		return errNoSocket
	}
	c, err := n.theirs.dial(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	if t.o.Kubelet == nil {
		pid := peerOf(c)
		if pid == 0 {
			return nil
		}
		n.runtime, err = openProcess(pid)
		return err
	}
	if n.runtime, err = holder(ctx, c); err != nil {
		return err
	}
	n.move = newMover(n.runtime, boundName(c), &t.o, t.note)
	_, err = n.move.look(false)
	return err
}

// change makes the exchange, once guard and state file know of it.
func (t *Takeover) change(n *taken) error {
	if err := t.register(n); err != nil {
		return err
	}
	t.keepSpare(n)
	if err := n.place.exchange(); err != nil {
		return err
	}
	if n.place.idOf(n.place.backup()) == n.theirs.id {
		return nil
	}
	// The file that we got is not the one that we looked at, and that one has lost its name to another process.
	return errors.Join(errMoved, n.place.unlink(n.place.spare()), n.place.exchange())
}

// register writes to the state file what is to be given back, and sends it to the guard.
func (t *Takeover) register(n *taken) error {
	err := t.state.write(state{
		Path: t.o.Path, Root: t.o.Root, RootDir: t.root.id, Namespace: t.ns, PID: os.Getpid(), Since: time.Now().UTC(),
		Dir: n.place.id, Name: n.place.name, Ours: n.ours, Theirs: n.theirs.id,
	})
	if err != nil {
		return err
	}
	if t.guard == nil {
		return errors.New("there is no guard, that would give the path back if podstep died")
	}
	return t.guard.send(order{Name: n.place.name, State: t.state.path, Ours: n.ours, Theirs: n.theirs.id}, n.place)
}

// untake gives the path back, and closes what is ours. The caller holds mu.
func (t *Takeover) untake(ctx context.Context, what string) error {
	n := t.now
	if n == nil {
		return nil
	}
	_, err := n.place.giveBack(n.ours, n.theirs.id)
	if err == nil && n.place.idOf(n.place.name) == (fileID{}) && n.theirs.served().alive {
		err = errors.New("somebody removed both names of the runtime's socket: restart the runtime, so that it makes a new one")
	}
	t.see.Lock()
	t.now = nil
	t.see.Unlock()
	n.end()
	after := linger
	if ctx.Err() != nil {
		after = 0
	}
	n.in.close(after)
	t.last = gone{socket: n.theirs.id, what: what}
	if n.runtime != nil {
		t.last.pid = n.runtime.PID
		n.runtime.Close()
	}
	n.moving.Wait()
	n.up.drop()
	n.place.close()
	return err
}

// leave ends all that is ours, except connections that are being served.
func (t *Takeover) leave(ctx context.Context) error {
	err := t.untake(ctx, "")
	if err != nil && t.state != nil {
		// podstep restore gives back what could not be given back here.
		t.state.close()
		t.state = nil
	}
	// As long as there is the state, there is a guard to remove it.
	if t.state != nil {
		err = errors.Join(err, t.state.remove())
		t.state = nil
	}
	if t.guard != nil {
		t.guard.end()
		t.guard = nil
	}
	t.root.close()
	return err
}

// Came waits until no connection of the kubelet goes past us any more. If ctx ends first, it returns those that are
// left: a long stream stays as long as it lasts, which is no failure.
func (t *Takeover) Came(ctx context.Context) ([]Connection, error) {
	t.see.Lock()
	n := t.now
	if n == nil || n.move == nil {
		t.see.Unlock()
		return nil, nil
	}
	n.moving.Add(1)
	t.see.Unlock()
	defer n.moving.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(n.ctx, cancel)()
	left, err := n.move.waitGone(ctx)
	if err != nil && n.ctx.Err() == nil {
		return left, fmt.Errorf("wait for the kubelet's connections: %w", err)
	}
	return left, nil
}

// RuntimePID returns the process that serves the runtime's socket; 0 if there is none, or it is out of sight.
func (t *Takeover) RuntimePID() int {
	t.see.Lock()
	defer t.see.Unlock()
	if t.now == nil || t.now.runtime == nil {
		return 0
	}
	return t.now.runtime.PID
}

// Give gives the path back, and then stops listening. Connections that are being served go on. Only the first call
// does something; all return its error.
func (t *Takeover) Give(ctx context.Context) error {
	t.stop()
	select {
	case <-t.done:
	case <-ctx.Done():
		return fmt.Errorf("give %s back: %w", t.o.Path, ctx.Err())
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.given {
		t.given = true
		n := t.now
		if err := t.leave(ctx); err != nil {
			t.err = fmt.Errorf("give %s back: %w; podstep restore tries again", t.o.Path, err)
		}
		if n != nil {
			t.noteMounted(n.place.name, n.ours)
		}
	}
	return t.err
}

// noteOnce notes a failure of what is tried again and again, until the reason is another one.
func (t *Takeover) noteOnce(what, text string, err error) {
	key := fmt.Sprint(text, err)
	if t.noted[what] != key {
		t.noted[what] = key
		t.note(what, text, err)
	}
}

func (t *Takeover) note(what, text string, err error) {
	// The kubelet's connections are asked all at once.
	t.noting.Lock()
	defer t.noting.Unlock()
	t.o.Note(Note{What: what, Text: text, Err: err, At: time.Now()})
}

// requestLook asks for a look at the path.
func (t *Takeover) requestLook() {
	select {
	case t.looks <- struct{}{}:
	default:
	}
}
