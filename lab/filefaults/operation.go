package filefaults

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// operationOf reads what a thread waits for. It fails if the kernel will refuse the operation for its arguments, or if the
// thread is gone; what it returns is only true if the notification is still valid afterwards.
func operationOf(n *notification) (Operation, error) {
	c, ok := calls[n.data.number]
	if !ok {
		return Operation{}, unix.ENOSYS
	}
	var flags uint64
	inRoot := false
	if c.how {
		// struct open_how: flags, mode, resolve; 8 bytes each.
		how, err := readMemory(int(n.pid), n.data.args[2], 24)
		if err != nil {
			return Operation{}, err
		}
		flags = binary.NativeEndian.Uint64(how)
		inRoot = binary.NativeEndian.Uint64(how[16:])&unix.RESOLVE_IN_ROOT != 0
	} else if c.flags != 0 {
		flags = n.data.args[c.flags]
	}
	op := Operation{Kind: c.kindOf(flags)}
	var err error
	if op.Path, err = n.resolve(c.path, c.takesEmpty(flags), inRoot); err != nil {
		return Operation{}, err
	}
	if c.to != nil {
		if op.To, err = n.resolve(*c.to, c.takesEmpty(flags), inRoot); err != nil {
			return Operation{}, err
		}
	}
	return op, nil
}

// resolve reads a path and makes it absolute. With inRoot, the open directory is the root of the path.
func (n *notification) resolve(at name, takesEmpty, inRoot bool) (string, error) {
	path, err := readText(int(n.pid), n.data.args[at.at])
	switch {
	case err != nil:
		return "", err
	case at.text:
		return path, nil
	case path == "" && !takesEmpty:
		return "", unix.ENOENT // as the kernel will find itself
	case filepath.IsAbs(path) && !inRoot:
		return filepath.Clean(path), nil
	}
	begin := "/proc/" + strconv.Itoa(int(n.pid)) + "/cwd"
	if at.dir != cwd {
		// The kernel takes the low half of the register.
		if fd := int32(n.data.args[at.dir]); fd != unix.AT_FDCWD {
			begin = "/proc/" + strconv.Itoa(int(n.pid)) + "/fd/" + strconv.Itoa(int(fd))
		}
	}
	dir, err := os.Readlink(begin)
	if err != nil {
		return "", err
	}
	// A directory that was removed while it is open is still known by the path that it had.
	dir = strings.TrimSuffix(dir, " (deleted)")
	if inRoot {
		path = filepath.Clean("/" + path) // ".." does not lead out
	}
	return filepath.Join(dir, path), nil
}

// maxPath is the size of the longest path that the kernel takes, with the zero byte at its end.
const maxPath = 4096

// chunk is how much of a text is read at one time. It divides the size of a page: a chunk is in one page.
const chunk = 256

// readText reads a text of a process that ends with a zero byte.
func readText(pid int, address uint64) (string, error) {
	var text []byte
	for len(text) < maxPath {
		part, err := readMemory(pid, address, chunk-int(address%chunk))
		if err != nil {
			return "", err
		}
		if end := bytes.IndexByte(part, 0); end >= 0 {
			return string(append(text, part[:end]...)), nil
		}
		text = append(text, part...)
		address += uint64(len(part))
	}
	return "", unix.ENAMETOOLONG
}

// readMemory reads the memory of the process that a thread belongs to.
func readMemory(pid int, address uint64, size int) ([]byte, error) {
	b := make([]byte, size)
	local := []unix.Iovec{{Base: unsafe.SliceData(b)}}
	local[0].SetLen(size)
	n, err := unix.ProcessVMReadv(pid, local, []unix.RemoteIovec{{Base: uintptr(address), Len: size}}, 0)
	switch {
	case err != nil:
		return nil, err
	case n != size:
		return nil, unix.EFAULT
	}
	return b, nil
}
