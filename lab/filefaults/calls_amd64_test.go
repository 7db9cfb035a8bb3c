package filefaults

import (
	"os"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

func init() {
	parts["old calls"] = func([]string) {
		for _, c := range []struct {
			number, more uintptr
			path, to     string
		}{
			{unix.SYS_MKDIR, 0o755, "d", ""},
			{unix.SYS_OPEN, unix.O_CREAT | unix.O_WRONLY, "d/f", ""},
			{unix.SYS_OPEN, unix.O_RDONLY, "d/f", ""},
			{unix.SYS_CREAT, 0o644, "d/f", ""},
			{unix.SYS_RENAME, 0, "d/f", "d/g"},
			{unix.SYS_SYMLINK, 0, "text", "d/s"},
			{unix.SYS_LINK, 0, "d/g", "d/h"},
			{unix.SYS_CHMOD, 0o600, "d/g", ""},
			{unix.SYS_CHOWN, uintptr(os.Getuid()), "d/g", ""},
			{unix.SYS_LCHOWN, uintptr(os.Getuid()), "d/s", ""},
			{unix.SYS_TRUNCATE, 0, "d/g", ""},
			{unix.SYS_UNLINK, 0, "d/s", ""},
			{unix.SYS_UNLINK, 0, "d/g", ""},
			{unix.SYS_UNLINK, 0, "d/h", ""},
			{unix.SYS_RMDIR, 0, "d", ""},
		} {
			path, err := unix.BytePtrFromString(c.path)
			must(err)
			second, third := c.more, uintptr(0o644)
			if c.number == unix.SYS_CHOWN || c.number == unix.SYS_LCHOWN {
				third = uintptr(os.Getgid())
			}
			var errno unix.Errno
			if c.to != "" {
				to, err := unix.BytePtrFromString(c.to)
				must(err)
				_, _, errno = unix.Syscall(c.number, uintptr(unsafe.Pointer(path)), uintptr(unsafe.Pointer(to)), 0)
			} else {
				_, _, errno = unix.Syscall(c.number, uintptr(unsafe.Pointer(path)), second, third)
			}
			if errno != 0 {
				report(c.path, errno)
			}
		}
	}
}

// TestOldCalls makes the system calls that only this architecture has. No Go program does, but a child in C may.
func TestOldCalls(t *testing.T) {
	s := play(t, pass)
	begin(t, s.dir, s.socket, "old calls").ends()
	equalOps(t, s.kept(),
		"mkdir d", "create d/f", "open d/f", "create d/f", "rename d/f d/g", "symlink d/s text", "link d/h d/g", "chmod d/g",
		"chown d/g", "chown d/s", "truncate d/g", "remove d/s", "remove d/g", "remove d/h", "rmdir d")
}
