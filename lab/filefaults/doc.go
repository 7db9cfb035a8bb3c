// Package filefaults breaks single file operations of another process: one fails with an errno, hangs or comes late, and
// all others pass. The lab does so with the simulated node's kubelet, which runs the kubelet's own code.
//
// The process that is to be broken calls [Offer] before anything else. It installs a seccomp filter, which makes the
// kernel stop each file operation of the process and of its children, and gives the filter's listener to a supervisor. The
// supervisor has a [Server], which reads the paths of each operation and asks [Decide] what becomes of it. None of this
// needs root, but Linux 5.19, on amd64 or arm64.
//
// Only operations that name a file by a path are stopped, see [Operation]. Reads and writes, fsync, fchmod and all else
// that has only a file descriptor pass: the path is gone by then, and they are too many. A full disk therefore fails the
// open that creates the file, not the write. Stat and readlink pass too: they hardly fail in life, and a kubelet makes
// thousands of them.
//
// A process whose supervisor has died does not hang: the kernel fails what hangs, and every later operation, with ENOSYS.
// The process can do nothing useful from then on; the lab's kubelet ends with the lab anyway.
//
// A thread whose operation hangs waits in the kernel and takes no signal but SIGKILL. So it is not seen to stop by SIGSTOP,
// by a debugger that attaches, or by a cgroup's freezer before the operation goes on. The other threads are not affected.
//
// The paths are read while the operation waits, and the kernel reads them once more when it goes on. This is no sandbox:
// a process that wants to get around it can.
//
// What it costs, on a machine with two cores: to open and close a file takes about 3 µs by itself, and 25 to 45 µs when it
// is decided, more than ten times as much. BenchmarkOpen measures it.
package filefaults

import (
	"context"

	"golang.org/x/sys/unix"
)

// The kinds of operations: what is done, by whatever variant of the system call.
const (
	Open     = "open"   // of a file that must exist, for reading or writing, and of a directory
	Create   = "create" // an open that makes the file if there is none (O_CREAT)
	Mkdir    = "mkdir"
	Remove   = "remove" // of a file; os.Remove tries it with a directory too, before Rmdir
	Rmdir    = "rmdir"
	Rename   = "rename"  // from Path to To
	Symlink  = "symlink" // at Path; To is its text as it is written, neither resolved nor cleaned
	Link     = "link"    // at Path, to the file that To names
	Chmod    = "chmod"
	Chown    = "chown"
	Truncate = "truncate" // by its path, not of an open file
)

// Operation is a file operation that the process waits for.
type Operation struct {
	// Kind is one of the constants.
	Kind string
	// Path is absolute and cleaned. It is what the process named, resolved against its working directory or the
	// directory that it has open, as the supervisor sees them. Symbolic links in it are not followed.
	Path string
	// To is the other path of a rename or of a link, else empty.
	To string
}

// Decide returns the errno with which an operation is to fail, or 0: then the process carries it out itself. It is called
// for each operation on a goroutine of its own, for many at one time. The operation waits until it returns: to block is to
// let it hang. The context ends when the operation waits no more, at the latest a second after its thread was killed, and
// when the server is closed; Decide must return then, and the operation goes on whatever it returns.
type Decide func(ctx context.Context, op Operation) unix.Errno
