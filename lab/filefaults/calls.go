package filefaults

import "golang.org/x/sys/unix"

// call says where a system call has its arguments.
type call struct {
	kind string
	path name
	// to is where the other path is, if there is one.
	to *name
	// flags is the place of the flags, which decide on the kind or on what an empty path means; 0: it has none.
	flags int
	// how holds if the third argument points to a struct open_how, which has the flags.
	how bool
}

// name is where a system call has a path.
type name struct {
	// dir is the place of the open directory that a relative path begins at; cwd: none.
	dir int
	// at is the place of the pointer to the path.
	at int
	// text holds for a path that only becomes the text of a symbolic link.
	text bool
}

// cwd stands for no open directory: a relative path begins at the working directory.
const cwd = -1

// calls are the system calls that the filter stops, by number. Each architecture adds those that it alone has.
var calls = map[int32]call{
	unix.SYS_OPENAT:    {kind: Open, path: name{dir: 0, at: 1}, flags: 2},
	unix.SYS_OPENAT2:   {kind: Open, path: name{dir: 0, at: 1}, how: true},
	unix.SYS_MKDIRAT:   {kind: Mkdir, path: name{dir: 0, at: 1}},
	unix.SYS_UNLINKAT:  {kind: Remove, path: name{dir: 0, at: 1}, flags: 2},
	unix.SYS_RENAMEAT:  {kind: Rename, path: name{dir: 0, at: 1}, to: &name{dir: 2, at: 3}},
	unix.SYS_RENAMEAT2: {kind: Rename, path: name{dir: 0, at: 1}, to: &name{dir: 2, at: 3}},
	unix.SYS_SYMLINKAT: {kind: Symlink, path: name{dir: 1, at: 2}, to: &name{at: 0, text: true}},
	unix.SYS_LINKAT:    {kind: Link, path: name{dir: 2, at: 3}, to: &name{dir: 0, at: 1}, flags: 4},
	unix.SYS_FCHMODAT:  {kind: Chmod, path: name{dir: 0, at: 1}},
	unix.SYS_FCHMODAT2: {kind: Chmod, path: name{dir: 0, at: 1}, flags: 3},
	unix.SYS_FCHOWNAT:  {kind: Chown, path: name{dir: 0, at: 1}, flags: 4},
	unix.SYS_TRUNCATE:  {kind: Truncate, path: name{dir: cwd, at: 0}},
}

// kindOf returns the kind of an operation that has these flags.
func (c call) kindOf(flags uint64) string {
	switch {
	case c.kind == Open && flags&unix.O_CREAT != 0:
		return Create
	case c.kind == Remove && flags&unix.AT_REMOVEDIR != 0:
		return Rmdir
	}
	return c.kind
}

// takesEmpty reports whether an empty path names the open directory, or whatever file is open there.
func (c call) takesEmpty(flags uint64) bool {
	return (c.kind == Link || c.kind == Chmod || c.kind == Chown) && flags&unix.AT_EMPTY_PATH != 0
}
