package kubelets

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"golang.org/x/sys/unix"
)

// maxFile is more than any configuration that a kubelet reads.
const maxFile = 1 << 20

// maxFiles is how many files of one directory are read.
const maxFiles = 1000

// resolve opens a path below root as a process with that root would: symbolic
// links that are absolute begin at root, and none leads out of it. Following
// them from our own root would read our files in place of a container's.
func resolve(root, path string, flags int) (*os.File, error) {
	dir, err := unix.Open(root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: root, Err: err}
	}
	defer unix.Close(dir)
	how := &unix.OpenHow{Flags: uint64(flags | unix.O_CLOEXEC), Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS}
	for range 100 {
		var fd int
		fd, err = unix.Openat2(dir, path, how)
		if err == nil {
			return os.NewFile(uintptr(fd), path), nil
		}
		// Somebody renamed something on the way: the kernel wants us to try anew.
		if !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR) {
			break
		}
	}
	return nil, &fs.PathError{Op: "open", Path: path, Err: err}
}

// openIn opens a regular file below root. Anything else could keep us waiting.
func openIn(root, path string) (*os.File, error) {
	f, err := resolve(root, path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("open %s: no file but %s", path, info.Mode().Type())
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// readIn reads a file of configuration below root.
func readIn(root, path string) ([]byte, error) {
	f, err := openIn(root, path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := readAll(f, maxFile)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return b, nil
}

func exists(root, path string) bool {
	_, err := statIn(root, path)
	return err == nil
}

func statIn(root, path string) (fs.FileInfo, error) {
	f, err := resolve(root, path, unix.O_PATH)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Stat()
}

// listIn returns the paths of the files in a directory below root whose names end with one of ends, in order. It
// also looks into the directories in it.
func listIn(root, dir string, ends ...string) ([]string, error) {
	left := maxFiles
	return list(root, dir, &left, ends)
}

// list looks at no more than left entries.
func list(root, dir string, left *int, ends []string) ([]string, error) {
	f, err := resolve(root, dir, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := f.ReadDir(-1)
	if err != nil {
		return nil, err
	}
	sort.Slice(entries, func(i, j int) bool { return entries[i].Name() < entries[j].Name() })
	var paths []string
	for _, e := range entries {
		if *left--; *left < 0 {
			return nil, fmt.Errorf("list %s: more than %d files", dir, maxFiles)
		}
		path := filepath.Join(dir, e.Name())
		switch {
		case e.IsDir():
			below, err := list(root, path, left, ends)
			if err != nil {
				return nil, err
			}
			paths = append(paths, below...)
		case endsIn(e.Name(), ends):
			paths = append(paths, path)
		}
	}
	return paths, nil
}

// names returns the entries of a directory below root, maxFiles at most.
func names(root, dir string) ([]fs.DirEntry, error) {
	f, err := resolve(root, dir, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := f.ReadDir(maxFiles)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return entries, err
}

func endsIn(name string, ends []string) bool {
	for _, end := range ends {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return false
}
