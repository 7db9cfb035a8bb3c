package lab

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// maxDir leaves room for the longest socket name below the directory: the kernel takes 107 bytes.
const maxDir = 107 - len("/kubelet/device-plugins/kubelet.sock")

// resolve returns the one name of dir, whatever links lead to it. dir need not exist.
func resolve(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("find directory %s: %w", dir, err)
	}
	real, err := filepath.EvalSymlinks(abs)
	if errors.Is(err, fs.ErrNotExist) && abs != filepath.Dir(abs) {
		parent, err := resolve(filepath.Dir(abs))
		if err != nil {
			return "", err
		}
		return filepath.Join(parent, filepath.Base(abs)), nil
	}
	if err != nil {
		return "", fmt.Errorf("find directory %s: %w", dir, err)
	}
	return real, nil
}

// fits refuses the directory of a node in which the sockets would have too long names.
func fits(dir string) error {
	if len(dir) > maxDir {
		return fmt.Errorf("the path %s is too long for the sockets below it: choose a --dir with which it has at most %d bytes", dir, maxDir)
	}
	return nil
}

// claim makes dir the directory of this lab until the returned file is closed. The lock goes with the process, however it ends.
func claim(p paths) (*os.File, error) {
	if err := fits(p.dir); err != nil {
		return nil, err
	}
	if err := ours(p); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(p.dir, 0o755); err != nil {
		return nil, fmt.Errorf("create directory: %w", err)
	}
	f, err := os.OpenFile(p.lock(), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("claim directory: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fmt.Errorf("a lab is running in %s: end it first, or choose another --dir", p.dir)
		}
		return nil, fmt.Errorf("lock %s: %w", p.lock(), err)
	}
	return f, nil
}

// ours refuses a directory that holds something else than a lab.
func ours(p paths) error {
	entries, err := os.ReadDir(p.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look into directory: %w", err)
	}
	if _, err := os.Lstat(p.lock()); len(entries) > 0 && err != nil {
		return fmt.Errorf("%s is not empty and not the directory of a lab: choose an empty or new --dir", p.dir)
	}
	return nil
}
