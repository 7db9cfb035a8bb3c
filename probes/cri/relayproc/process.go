package relayproc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"github.com/podstep/podstep/probes/companion"
	"github.com/podstep/podstep/probes/cri/relay"
	"github.com/podstep/podstep/probes/cri/takeover"
	"github.com/podstep/podstep/probes/kubelets"
)

const (
	// maxMemory is what the garbage collector keeps the process below if it can. The relay itself bounds what is
	// under way.
	maxMemory = 64 << 20

	// silentAfter is the silence after which a side is taken not to work.
	silentAfter = 2 * time.Second
	// comeWithin is how long the process waits for the kubelet's connections.
	comeWithin = 3 * time.Second
	// settle is how long no call may have been under way before the process leaves a client that does not hang up:
	// one with an endless stream, or one that cannot be asked to go.
	settle = time.Second
	// lookAgain is how often the process looks whether calls have ended.
	lookAgain = 20 * time.Millisecond
)

// process is the relay process.
type process struct {
	o     Options
	taken *takeover.Takeover
	ready chan struct{} // closed when taken is set
	conns *conns
	see   *watcher
	count *counters
	door  *net.UnixListener // for podsteps that come back

	looking companion.Work // of keep

	mu      sync.Mutex
	peer    *peer
	since   time.Time // when the last peer went
	leaving bool
	gone    chan struct{} // closed when the process is to end
}

// peer is a podstep that is linked.
type peer struct {
	*link
	pid int
}

// Main is the main function of the relay process. It returns the exit code.
func Main() int {
	c, err := companion.Link()
	if err != nil {
		fmt.Fprintln(os.Stderr, "podstep relay: podstep attach starts it, not a person")
		return 2
	}
	debug.SetMemoryLimit(maxMemory)
	companion.Survive(relayScore)
	p := &process{ready: make(chan struct{}), gone: make(chan struct{}), since: time.Now()}
	l := newLink(c)
	first, err := l.Receive()
	if err != nil || first.Options == nil {
		return 2
	}
	l.Send(message{PID: os.Getpid()})
	if err := p.begin(*first.Options); err != nil {
		l.Send(message{Failed: failureOf(err)})
		l.Close()
		return 1
	}
	// Whatever one goroutine waits for: a process that keeps calls back ends, and its guard gives the path back.
	companion.EndIfStuck("a call", companion.SilentAfter, p.conns.busy)
	companion.EndIfStuck("a look at podstep", companion.SilentAfter, p.looking.Since)
	companion.EndIfStuck("a message of podstep", companion.SilentAfter, p.handles)
	go p.listen()
	go p.serve(l, os.Getppid(), *first.Options)
	p.keep()
	p.drain()
	return 0
}

// relayScore is the relay process's oom_score_adj: the kernel ends all other processes first, but for its guard.
const relayScore = -999

func failureOf(err error) *failure {
	// A relay process that holds the path and lets no podstep in is about to leave.
	return &failure{Text: err.Error(), Leaves: takeover.IsHeld(err)}
}

// begin takes the path over.
func (p *process) begin(o Options) error {
	p.o, p.see, p.count = o, newWatcher(o.Methods, o.Bare), newCounters(o.Known)
	p.conns = &conns{kubelet: p.isKubelet, see: p.see, meter: p.count.call, unseen: p.unseen, dial: p.dial, all: map[*relay.Conn]bool{}}
	var err error
	p.taken, err = takeover.Take(context.Background(), takeover.Options{
		Path: o.Path, Root: o.Root, Dir: o.Dir, ForceAfter: o.ForceAfter, GuardCommand: o.GuardCommand,
		Kubelet: p.isKubelet, Serve: p.conns.serve, Note: p.note, Heartbeat: p.count.heartbeat,
	})
	close(p.ready)
	return err
}

// dial makes a connection to the runtime, once the path is taken.
func (p *process) dial(ctx context.Context) (*net.UnixConn, error) {
	<-p.ready
	if p.taken == nil {
		return nil, errors.New("connect to the runtime: the path was not taken")
	}
	return p.taken.Dial(ctx)
}

// isKubelet reports whether a process is the kubelet, or one that was started in its place. A kubelet that was
// named by its pid may have any name.
func (p *process) isKubelet(pid int) bool {
	return pid == p.o.PID && kubelets.Same(pid, p.o.Started) || kubelets.Is(pid, p.o.Program)
}

// note passes on what happens to the runtime's socket.
func (p *process) note(n takeover.Note) {
	p.report(message{Note: newNote(n)})
}

// unseen notes that a connection of the kubelet is not looked at any more. If that is the fault of this process, the next
// call may meet it again, and fail: then the kubelet gets its path back.
func (p *process) unseen(why error) {
	if fault := (*relay.PanicError)(nil); errors.As(why, &fault) {
		p.report(message{Unused: "podstep failed to look at a call of the kubelet"})
		p.leave()
		return
	}
	p.note(takeover.Note{
		What: takeover.ConnectionUnseen, At: time.Now(), Err: why,
		Text: "podstep passes a connection of the kubelet on as bytes, and sees no calls on it, until the kubelet connects again",
	})
}

// report sends a message to podstep, if it is there.
func (p *process) report(m message) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.peer != nil {
		p.peer.Send(m)
	}
}

// listen lets podsteps in that come back.
func (p *process) listen() {
	l, err := listenAt(p.o)
	if err != nil {
		return // then no podstep comes back, and the next one waits until this process has left
	}
	p.mu.Lock()
	p.door = l
	p.mu.Unlock()
	for {
		c, err := l.AcceptUnix()
		if err != nil {
			return
		}
		go p.welcome(c)
	}
}

// welcome lets a podstep in that comes back. It has to send what it wants.
func (p *process) welcome(c *net.UnixConn) {
	pid, ok := peerOf(c)
	if !ok {
		c.Close()
		return
	}
	l := newLink(c)
	_ = c.SetReadDeadline(time.Now().Add(silentAfter))
	m, err := l.Receive()
	if err != nil || m.Options == nil {
		l.Fail()
		return
	}
	_ = c.SetReadDeadline(time.Time{})
	p.serve(l, pid, *m.Options)
}

// serve serves a podstep until it goes. o is what that one wants.
func (p *process) serve(l *link, pid int, o Options) {
	me := &peer{link: l, pid: pid}
	if !p.adopt(me, &o) {
		return
	}
	p.see.use(l)
	l.Send(message{PID: os.Getpid()})
	l.Send(message{Taken: true})
	go p.sendReady(me)
	for {
		m, err := l.Receive()
		if err != nil {
			break
		}
		p.handle(me, &m)
	}
	p.lose(me)
	l.Fail()
}

// adopt makes me the podstep that is linked, unless another one is linked that works. If me wants something else than
// the podstep before, this process leaves, and me starts another.
func (p *process) adopt(me *peer, o *Options) bool {
	p.mu.Lock()
	before := p.peer
	linked := before != nil && before.Silent() < silentAfter
	other := !linked && !p.o.agree(o)
	if p.leaving || linked || other {
		f := &failure{Text: "the relay process gives " + p.o.Path + " back just now", Leaves: true}
		if !p.leaving && linked {
			f = &failure{Text: fmt.Sprintf("%s is taken over already, by process %d: end that one first", p.o.Path, before.pid)}
		}
		p.mu.Unlock()
		if other {
			p.leave()
		}
		me.Send(message{Failed: f})
		me.Close()
		return false
	}
	p.peer = me
	p.mu.Unlock()
	if before != nil {
		before.Fail()
	}
	return true
}

// lose handles that a podstep has gone.
func (p *process) lose(me *peer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.peer != me {
		return
	}
	p.peer, p.since = nil, time.Now()
	p.see.use(nil)
}

// sendReady reports, once the kubelet has come over, that calls go through here.
func (p *process) sendReady(me *peer) {
	ctx, cancel := context.WithTimeout(context.Background(), comeWithin)
	defer cancel()
	past, _ := p.taken.Came(ctx)
	if err := p.works(answerWithin); err != nil {
		me.Send(message{Failed: &failure{Text: err.Error()}})
		return
	}
	me.Send(message{Ready: &Ready{PID: os.Getpid(), Past: len(past)}})
}

// handle does what podstep asks for.
func (p *process) handle(me *peer, m *message) {
	switch {
	case m.Arm != nil:
		p.see.arm(m.Arm.Wait)
		me.Send(message{Armed: m.Arm.Number})
	case m.Verdict != nil:
		p.see.decide(*m.Verdict)
	case m.Leave:
		p.leave()
	}
}

// keep returns when the path is to be given back: podstep asks for it, or none has come back for a while. Meanwhile
// it checks whether podstep works.
func (p *process) keep() {
	look := time.NewTicker(companion.BeatEvery / 2)
	defer look.Stop()
	var use companion.Silence
	for counts := false; ; counts = !counts {
		select {
		case <-p.gone:
			return
		case <-look.C:
		}
		p.looking.Begin()
		p.look(counts, &use)
		p.looking.End()
	}
}

// handles is when the present message of podstep came; 0: none is handled.
func (p *process) handles() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.peer == nil {
		return 0
	}
	return p.peer.Handles()
}

// look checks whether podstep works, and whether the path is still to be kept.
func (p *process) look(counts bool, use *companion.Silence) {
	p.mu.Lock()
	me, since := p.peer, p.since
	p.mu.Unlock()
	if me != nil {
		p.attend(me, counts)
	}
	switch {
	case me == nil && time.Since(since) > p.o.Stay:
		p.leave()
	case p.o.Unused > 0 && p.unused(use):
		why := fmt.Sprintf("the kubelet runs, and has made no call through podstep for %v: it may reach the runtime another way, or hang", p.o.Unused)
		p.report(message{Unused: why})
		p.leave()
	}
}

// attend looks whether a podstep works that is linked, and sends it what was counted.
func (p *process) attend(me *peer, counts bool) {
	silent := me.Silent() > silentAfter
	p.see.setSilent(silent)
	if !counts || silent || me.Crowded() {
		return
	}
	if all := p.count.take(); all != nil {
		me.Send(message{Counts: all})
	}
}

// leave ends keep, once.
func (p *process) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.leaving {
		p.leaving = true
		close(p.gone)
	}
}

// drain gives the path back, asks all clients to go there, and returns when their calls have ended, however long
// they take.
func (p *process) drain() {
	p.mu.Lock()
	if p.door != nil {
		_ = p.door.Close()
	}
	p.mu.Unlock()
	err := p.taken.Give(context.Background())
	p.conns.leave()
	p.sendLeft(err)
	busy, sent := time.Now(), time.Now()
	for {
		left := p.conns.left()
		if len(left.Calls) > 0 {
			busy = time.Now()
		}
		if left.Connections == 0 || time.Since(busy) > settle {
			break
		}
		if time.Since(sent) > companion.BeatEvery/2 {
			sent = time.Now()
			p.sendLeft(nil)
		}
		time.Sleep(lookAgain)
	}
	p.conns.hangUp()
	p.mu.Lock()
	me := p.peer
	p.mu.Unlock()
	if me != nil {
		me.Close()
	}
}

// sendLeft reports what is still under way.
func (p *process) sendLeft(err error) {
	left := p.conns.left()
	if err != nil {
		left.Err = err.Error()
	}
	p.report(message{Left: left})
}
