package takeover

import (
	"context"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// lookPitch is how often the path is looked at for changes that the directory's events do not show.
	lookPitch = time.Second
	// A socket that was just made listens a moment later.
	soonPitch, soonLooks = 20 * time.Millisecond, 100
	retakePatience       = 5 * time.Second
	dirEvents            = unix.IN_CREATE | unix.IN_DELETE | unix.IN_MOVED_FROM | unix.IN_MOVED_TO |
		unix.IN_DELETE_SELF | unix.IN_MOVE_SELF | unix.IN_ONLYDIR
)

// watcher keeps the path ours.
type watcher struct {
	t      *Takeover
	events *os.File // inotify; nil where the kernel gives none
	dir    fileID   // that is watched
	wd     int
}

// newWatcher goes on without the kernel's events, which are bounded per user and may be used up: then the look
// every second has to do.
func newWatcher(t *Takeover) *watcher {
	w := &watcher{t: t, wd: -1}
	if fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC); err == nil {
		w.events = os.NewFile(uintptr(fd), "inotify")
	}
	w.follow(t.now.place)
	return w
}

// follow watches the directory of p.
func (w *watcher) follow(p *place) {
	if w.events == nil || p.id == w.dir {
		return
	}
	w.onInotify(func(fd int) {
		if w.wd >= 0 {
			_, _ = unix.InotifyRmWatch(fd, uint32(w.wd))
		}
		w.wd, w.dir = -1, fileID{}
		if wd, err := unix.InotifyAddWatch(fd, fmt.Sprintf("/proc/self/fd/%d", p.dir), dirEvents); err == nil {
			w.wd, w.dir = wd, p.id
		}
	})
}

func (w *watcher) onInotify(do func(fd int)) {
	if raw, err := w.events.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { do(int(fd)) })
	}
}

// listen begins to read events, until the function that it returns is called.
func (w *watcher) listen() (end func()) {
	if w.events == nil {
		return func() {}
	}
	ended := make(chan struct{})
	go w.read(ended)
	return func() {
		_ = w.events.Close()
		<-ended
	}
}

// read turns events into looks, which find out what has changed.
func (w *watcher) read(ended chan<- struct{}) {
	defer close(ended)
	buf := make([]byte, 16<<10)
	for {
		if _, err := w.events.Read(buf); err != nil {
			return
		}
		w.t.requestLook()
	}
}

// run looks until the takeover ends.
func (w *watcher) run() {
	defer close(w.t.done)
	defer w.listen()()
	tick := time.NewTicker(lookPitch)
	defer tick.Stop()
	for {
		select {
		case <-w.t.end.Done():
			return
		case <-w.t.looks:
		case <-tick.C:
		case <-w.t.guardEnded():
		}
		w.check()
	}
}

func (w *watcher) check() {
	t := w.t
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.end.Err() != nil {
		return
	}
	t.checkGuard()
	if t.now != nil {
		t.checkTaken()
	}
	if t.now == nil {
		w.checkGone()
	}
}

// guardEnded returns a channel that is closed when the guard of now has ended.
func (t *Takeover) guardEnded() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.guard == nil {
		return nil
	}
	return t.guard.ended()
}

// checkGuard starts another guard if the last one has ended.
func (t *Takeover) checkGuard() {
	if t.guard != nil {
		select {
		case <-t.guard.ended():
		default:
			return
		}
		t.guard = nil
	}
	g, err := startGuard(t.o.GuardCommand, t.o.Heartbeat)
	if err == nil {
		t.guard = g
		if t.now != nil {
			err = t.register(t.now)
		}
	}
	if err != nil {
		if t.guard != nil {
			t.guard.end()
			t.guard = nil
		}
		t.noteOnce(GuardMissing, "the guard has ended, and another one cannot be started: should podstep be killed now, podstep restore gives the path back", err)
		return
	}
	t.note(GuardRestarted, "the guard had ended; there is another one", nil)
}

// checkTaken checks whether the path is still ours, and gives it up where it is not ours to keep.
func (t *Takeover) checkTaken() {
	n := t.now
	if n.runtime != nil && n.runtime.Ended() {
		t.lose(RuntimeGone, fmt.Sprintf("the runtime, process %d, has ended", n.runtime.PID))
		return
	}
	p, err := findPlace(t.root, t.o.Path)
	if err != nil {
		t.lose(PathLost, fmt.Sprintf("the directory of %s is gone (%s), and the runtime's socket with it; podstep takes it again when it is back", t.o.Path, err))
		return
	}
	defer p.close()
	at := p.idOf(p.name)
	switch {
	case p.id != n.place.id || p.name != n.place.name:
		t.lose(PathLost, fmt.Sprintf("%s leads to another directory now, and the runtime's socket is in the one before: if none is served there now, restart the runtime", t.o.Path))
	case at == n.ours:
		t.checkAside(n)
	case !n.theirs.served().alive:
		t.lose(RuntimeGone, "the runtime does not listen any more")
	case at == (fileID{}) && n.missed == 0:
		// A runtime that ends removes the name a moment before it stops to listen.
		n.missed++
		time.AfterFunc(soonPitch, t.requestLook)
	case at == (fileID{}):
		t.lose(PathLost, fmt.Sprintf("somebody removed %s", t.o.Path))
	default:
		t.checkOther(p)
	}
}

// checkAside checks that the runtime's own socket still has its other names, and makes those anew that somebody
// removed.
func (t *Takeover) checkAside(n *taken) {
	p := n.place
	t.keepSpare(n)
	switch p.idOf(p.backup()) {
	case n.theirs.id:
		return
	case fileID{}:
		if p.link(n.theirs, p.backup()) == nil {
			t.noteOnce(AsideRestored, fmt.Sprintf("somebody removed %s, the runtime's own socket; podstep made the name again", p.backup()), nil)
			return
		}
	}
	if p.spareID() == n.theirs.id {
		t.noteOnce(PathLost, fmt.Sprintf("somebody put something else to %s; podstep gives %s back from %s", p.backup(), t.o.Path, p.spare()), nil)
		return
	}
	t.noteOnce(PathLost, fmt.Sprintf("somebody removed %s, the runtime's own socket, so %s cannot be given back: restart the runtime while podstep is still here",
		p.backup(), t.o.Path), nil)
}

// keepSpare gives the runtime's socket a spare name. If that fails podstep goes on without.
func (t *Takeover) keepSpare(n *taken) {
	if err := n.place.makeSpare(n.theirs); err != nil {
		t.noteOnce(NotKept, fmt.Sprintf("the runtime's socket has no name but %s: nobody must remove that while podstep is here", n.place.backup()), err)
	}
}

// checkOther handles that another socket is at the path while the runtime lives.
func (t *Takeover) checkOther(p *place) {
	if p.sameServer(p.backup()) {
		t.lose(PathLost, fmt.Sprintf("the runtime made %s again", t.o.Path))
		return
	}
	// It may be another process that stands between and comes to us in the end, or a mistake: to take the path from
	// it could only make it worse.
	who := p.whoServes(p.name)
	if !who.alive {
		t.noteOnce(PathLost, fmt.Sprintf("somebody put something to %s that nobody serves", t.o.Path), nil)
		return
	}
	t.noteOnce(PathLost, fmt.Sprintf("process %d serves %s now, and the runtime still lives: it is left alone", who.pid, t.o.Path), nil)
}

// lose gives up what is ours at the path, for now.
func (t *Takeover) lose(what, text string) {
	err := t.untake(t.end, what)
	t.noted = map[string]string{}
	t.note(what, text, err)
}

// checkGone checks whether there is a runtime to stand before again.
func (w *watcher) checkGone() {
	t := w.t
	p, err := findPlace(t.root, t.o.Path)
	if err != nil {
		return // the next tick looks again
	}
	defer p.close()
	w.follow(p)
	s, err := p.pin(p.name)
	if err != nil {
		return
	}
	defer s.close()
	if !s.served().alive {
		if s.id == t.last.socket && t.last.what == PathLost {
			t.last.what = RuntimeGone
			t.note(RuntimeGone, "the runtime does not listen any more", nil)
		}
		if t.last.looks++; s.id != t.last.socket && t.last.looks < soonLooks {
			time.AfterFunc(soonPitch, t.requestLook)
		}
		return
	}
	t.retake(w)
}

func (t *Takeover) retake(w *watcher) {
	ctx, cancel := context.WithTimeout(t.end, retakePatience)
	defer cancel()
	if err := t.takePath(ctx); err != nil {
		t.noteOnce(NotRetaken, fmt.Sprintf("%s cannot be taken now; it is tried again", t.o.Path), explain(t.o.Path, err))
		return
	}
	w.follow(t.now.place)
	if t.last.what == RuntimeGone {
		t.note(RuntimeBack, fmt.Sprintf("a runtime listens again, process %d", t.now.pid()), nil)
	}
	t.note(PathRetaken, fmt.Sprintf("%s is ours again", t.o.Path), nil)
	t.noted = map[string]string{}
}

// pid returns the runtime's pid; 0 if it is out of sight.
func (n *taken) pid() int {
	if n.runtime == nil {
		return 0
	}
	return n.runtime.PID
}
