package takeover

import (
	"errors"
	"fmt"
	"path"
	"runtime"

	"golang.org/x/sys/unix"
)

// suffix is the end of the second name.
const suffix = ".podstep"

// maxLinks is how many symbolic links in a row are followed, as many as the kernel does.
const maxLinks = 40

// fileID is the identity of a file. No two files have the same one while both are there.
type fileID struct {
	Dev uint64 `json:"dev,omitempty"`
	Ino uint64 `json:"ino,omitempty"`
}

// file is what a name stands for.
type file struct {
	id     fileID
	mode   uint32
	uid    int
	gid    int
	socket bool
}

func newFile(st *unix.Stat_t) file {
	return file{
		id: fileID{Dev: st.Dev, Ino: st.Ino}, mode: st.Mode & 0o7777, uid: int(st.Uid), gid: int(st.Gid),
		socket: st.Mode&unix.S_IFMT == unix.S_IFSOCK,
	}
}

// statOf describes an open file.
func statOf(fd int) (file, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return file{}, err
	}
	return newFile(&st), nil
}

// place is the socket's name in its real directory. The directory is kept open: names that lead to it may change,
// and a mount namespace may go.
type place struct {
	dir  int
	id   fileID // of the directory
	name string
}

func (p *place) close() { _ = unix.Close(p.dir) }

func (p *place) backup() string { return p.name + suffix }

// shortPath returns a path to a name that is short and needs no way through directories.
func (p *place) shortPath(name string) string { return fmt.Sprintf("/proc/self/fd/%d/%s", p.dir, name) }

// stat describes the file that has the name; the zero file is none.
func (p *place) stat(name string) (file, error) {
	var st unix.Stat_t
	err := unix.Fstatat(p.dir, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	if errors.Is(err, unix.ENOENT) {
		return file{}, nil
	}
	if err != nil {
		return file{}, fmt.Errorf("look at %s: %w", name, err)
	}
	return newFile(&st), nil
}

// idOf returns the identity of the file that has the name, or zero. If it cannot be looked at it is zero too:
// callers ask whether the file is one that they know.
func (p *place) idOf(name string) fileID {
	f, _ := p.stat(name)
	return f.id
}

// rootDir is the directory at which all paths begin.
type rootDir struct {
	fd  int
	id  fileID
	own bool // it is ours, too: the kernel needs no telling
}

func openRoot(root string) (rootDir, error) {
	fd, err := unix.Open(root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return rootDir{}, fmt.Errorf("open the kubelet's view of files, %s: %w", root, err)
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		_ = unix.Close(fd)
		return rootDir{}, fmt.Errorf("look at the kubelet's view of files, %s: %w", root, err)
	}
	return rootDir{fd: fd, id: newFile(&st).id, own: path.Clean(root) == "/"}, nil
}

func (r rootDir) close() { _ = unix.Close(r.fd) }

// findPlace follows a path as a process would whose root directory is root: links in it do not lead to our own
// files.
func findPlace(root rootDir, name string) (*place, error) {
	for range maxLinks {
		dir, base := path.Split(name)
		if base == "" || base == "." || base == ".." {
			return nil, fmt.Errorf("find %s: it names a directory", name)
		}
		fd, err := root.open(dir)
		if err != nil {
			return nil, fmt.Errorf("find directory %s: %w", dir, err)
		}
		to, err := readLink(fd, base)
		if err != nil {
			_ = unix.Close(fd)
			return nil, fmt.Errorf("find %s: %w", name, err)
		}
		if to == "" {
			return newPlace(fd, base)
		}
		_ = unix.Close(fd)
		if !path.IsAbs(to) {
			// Not cleaned: behind a link, ".." is what the kernel takes it for.
			to = dir + to
		}
		name = to
	}
	return nil, fmt.Errorf("find %s: %w", name, unix.ELOOP)
}

func newPlace(dir int, name string) (*place, error) {
	var st unix.Stat_t
	if err := unix.Fstat(dir, &st); err != nil {
		_ = unix.Close(dir)
		return nil, fmt.Errorf("look at directory: %w", err)
	}
	return &place{dir: dir, id: newFile(&st).id, name: name}, nil
}

// open opens a directory by its absolute path.
func (r rootDir) open(dir string) (int, error) {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT}
	if r.own {
		// Without IN_ROOT, which forbids paths through /proc/PID/root.
		how.Resolve = 0
	}
	for {
		fd, err := unix.Openat2(r.fd, dir, &how)
		// The kernel returns these errors when something was renamed on the way.
		if !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR) {
			return fd, err
		}
		runtime.Gosched()
	}
}

// readLink returns where a symbolic link leads, or "" for a file that is none.
func readLink(dir int, name string) (string, error) {
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(dir, name, buf)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOENT) {
		return "", nil
	}
	return string(buf[:max(0, n)]), err
}
