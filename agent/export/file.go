package export

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// File is a file that is there in full or not at all. Its content goes to a file beside it,
// which gets the name with Commit.
type File struct {
	path  string
	force bool
	tmp   *os.File
	w     *bufio.Writer
	size  int64
}

// ErrExists is returned if the file is there already.
var ErrExists = errors.New("the file is there already")

// Create begins a file that only its owner can read. With force it replaces an existing file of
// that name, if that is a regular file.
func Create(path string, force bool) (*File, error) {
	if err := mayTake(path, force); err != nil {
		return nil, fmt.Errorf("write %s: %w", path, err)
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", path, err)
	}
	return &File{path: path, force: force, tmp: tmp, w: bufio.NewWriterSize(tmp, 256<<10)}, nil
}

func mayTake(path string, force bool) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return errors.New("it is no regular file; without -w podstep writes to stdout")
	case !force:
		return ErrExists
	}
	return nil
}

func (f *File) Write(b []byte) (int, error) {
	n, err := f.w.Write(b)
	f.size += int64(n)
	if err != nil {
		return n, fmt.Errorf("write %s: %w", f.path, err)
	}
	return n, nil
}

// Size reports how many bytes were written.
func (f *File) Size() int64 { return f.size }

// Commit gives the file its name.
func (f *File) Commit() error {
	err := f.w.Flush()
	if err == nil {
		err = f.tmp.Sync()
	}
	if closing := f.tmp.Close(); err == nil {
		err = closing
	}
	if err == nil {
		err = f.claimName()
	}
	if err != nil {
		os.Remove(f.tmp.Name())
		return fmt.Errorf("write %s: %w", f.path, err)
	}
	return nil
}

// claimName gives the file its name. Without force it does so by a link: unlike a rename, a
// link fails if somebody else took the name meanwhile.
func (f *File) claimName() error {
	if f.force {
		return os.Rename(f.tmp.Name(), f.path)
	}
	err := os.Link(f.tmp.Name(), f.path)
	switch {
	case err == nil:
		return os.Remove(f.tmp.Name())
	case errors.Is(err, fs.ErrExist):
		return ErrExists
	}
	// The file system may have no links.
	if err := mayTake(f.path, false); err != nil {
		return err
	}
	return os.Rename(f.tmp.Name(), f.path)
}

// Discard removes what was written. After Commit it does nothing.
func (f *File) Discard() {
	f.tmp.Close()
	os.Remove(f.tmp.Name())
}
