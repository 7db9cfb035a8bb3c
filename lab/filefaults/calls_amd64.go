package filefaults

import (
	"maps"

	"golang.org/x/sys/unix"
)

// architecture is how the kernel marks the system calls of this architecture.
const architecture = unix.AUDIT_ARCH_X86_64

func init() {
	maps.Copy(calls, map[int32]call{
		unix.SYS_OPEN:    {kind: Open, path: name{dir: cwd, at: 0}, flags: 1},
		unix.SYS_CREAT:   {kind: Create, path: name{dir: cwd, at: 0}},
		unix.SYS_MKDIR:   {kind: Mkdir, path: name{dir: cwd, at: 0}},
		unix.SYS_UNLINK:  {kind: Remove, path: name{dir: cwd, at: 0}},
		unix.SYS_RMDIR:   {kind: Rmdir, path: name{dir: cwd, at: 0}},
		unix.SYS_RENAME:  {kind: Rename, path: name{dir: cwd, at: 0}, to: &name{dir: cwd, at: 1}},
		unix.SYS_SYMLINK: {kind: Symlink, path: name{dir: cwd, at: 1}, to: &name{at: 0, text: true}},
		unix.SYS_LINK:    {kind: Link, path: name{dir: cwd, at: 1}, to: &name{dir: cwd, at: 0}},
		unix.SYS_CHMOD:   {kind: Chmod, path: name{dir: cwd, at: 0}},
		unix.SYS_CHOWN:   {kind: Chown, path: name{dir: cwd, at: 0}},
		unix.SYS_LCHOWN:  {kind: Chown, path: name{dir: cwd, at: 0}},
	})
}
