package takeover

import (
	"errors"
	"net"
	"path/filepath"
	"time"
)

// DefaultDir is the directory of the states of takeovers.
const DefaultDir = "/run/podstep/attach"

// Options state what is taken over, and who gets the notes.
type Options struct {
	// Path is the path of the runtime's socket, as the kubelet names it, without "unix://".
	Path string
	// Root is the kubelet's view of files, such as /proc/PID/root; "" means ours.
	Root string
	// Kubelet reports whether a process is the kubelet, whose connections are
	// asked to come over. Without it no connection is touched.
	Kubelet func(pid int) bool
	// Serve is called for each connection to the path, on a goroutine of its own,
	// with the process that made it. It owns the connection.
	Serve func(c *net.UnixConn, pid int)
	// Note, if not nil, is called with what happens to the socket meanwhile. It must not
	// call Give.
	Note func(Note)
	// Heartbeat, if not nil, is called with each call of the guard through the path that
	// was answered. It must be quick.
	Heartbeat func(Heartbeat)
	// Dir is the directory of the states; "" means DefaultDir.
	Dir string
	// GuardCommand starts the guard. An empty one means this program with "guard".
	GuardCommand []string
	// ForceAfter is the time after which a connection of the kubelet is shut down if it could not be asked to come
	// over, because it is never quiet. Its calls under way fail. Zero means never. A connection that was asked
	// keeps its calls, however long they take.
	ForceAfter time.Duration
}

func (o *Options) check() error {
	switch {
	case !filepath.IsAbs(o.Path):
		return errors.New("take socket over: its path must be absolute, not " + o.Path)
	case o.Serve == nil:
		return errors.New("take socket over: nobody is there to serve its connections")
	}
	if o.Root == "" {
		o.Root = "/"
	}
	if o.Dir == "" {
		o.Dir = DefaultDir
	}
	if o.Note == nil {
		o.Note = func(Note) {}
	}
	if o.Heartbeat == nil {
		o.Heartbeat = func(Heartbeat) {}
	}
	return nil
}

// What a Note is about.
const (
	// RuntimeGone: the runtime has ended or does not listen any more. The path is as if we were not there, until
	// the runtime is back.
	RuntimeGone = "runtime-gone"
	// RuntimeBack: a runtime listens again.
	RuntimeBack = "runtime-back"
	// PathLost: somebody removed or replaced the path or its directory.
	PathLost = "path-lost"
	// AsideRestored: somebody removed the second name, and it is there again.
	AsideRestored = "aside-restored"
	// NotKept: the runtime's socket has no spare name, Err says why.
	NotKept = "not-kept"
	// PathRetaken: the path is ours again.
	PathRetaken = "path-retaken"
	// NotRetaken: the path cannot be taken now, Err says why. It is tried again.
	NotRetaken = "not-retaken"
	// GuardRestarted: the guard had ended, and there is another one.
	GuardRestarted = "guard-restarted"
	// GuardMissing: the guard had ended, and Err says why there is no other one.
	GuardMissing = "guard-missing"
	// StillMounted: the path is given back, and containers have our socket mounted
	// as a file of their own, which leads nowhere now.
	StillMounted = "still-mounted"
	// ConnectionBusy: a connection of the kubelet cannot be asked to come over yet.
	ConnectionBusy = "connection-busy"
	// ConnectionUnseen: the calls on a connection of the kubelet cannot be looked at any more, Err says why.
	ConnectionUnseen = "connection-unseen"
	// ConnectionForced: a connection of the kubelet was shut down.
	ConnectionForced = "connection-forced"
)

// Note is something that happened to the socket while it is taken over.
type Note struct {
	What string // one of the constants
	Text string
	Err  error
	At   time.Time
}
