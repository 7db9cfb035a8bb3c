package past

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// lockSize is the most that the file with the lock takes.
	lockSize = 32

	lockTries = 5
	lockPause = 20 * time.Millisecond
)

// dir is a record directory that this podstep has locked.
type dir struct {
	path  string
	keep  int64
	lock  *os.File
	files []file // closed segments, the oldest first
	used  *atomic.Int64
	next  int
}

// openDir makes the directory if need be, and locks it.
func openDir(path string, keep int64, used *atomic.Int64) (*dir, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		if info, other := os.Stat(path); other == nil && !info.IsDir() {
			return nil, &DirError{path, "it is a file"}
		}
		return nil, fmt.Errorf("make the record directory: %w", err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("look at the record directory: %w", err)
	}
	if info.Mode().Perm()&0o022 != 0 {
		return nil, &DirError{path, fmt.Sprintf("others than its owner may write to it (its mode is %s); name a new directory, or chmod 700 it", info.Mode().Perm())}
	}
	// A directory that somebody has made for podstep, such as the kubelet for a volume, is podstep's alone from here on.
	if entries, err := os.ReadDir(path); err == nil && len(entries) == 0 && info.Mode().Perm() != 0o700 {
		_ = os.Chmod(path, 0o700) // the files in it are the owner's alone in any case
	}
	d := &dir{path: path, keep: keep, used: used}
	if err := d.takeLock(); err != nil {
		return nil, err
	}
	if d.files, err = list(path); err != nil {
		return nil, errors.Join(fmt.Errorf("list the record directory: %w", err), d.close())
	}
	d.used.Store(lockSize)
	for _, f := range d.files {
		d.used.Add(f.size)
		d.next = max(d.next, f.number+1)
	}
	return d, nil
}

// takeLock locks the directory for as long as this process has it open.
func (d *dir) takeLock() error {
	path := filepath.Join(d.path, lockName)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return fmt.Errorf("lock the record directory: %w", err)
	}
	// A reader that looks whether it is locked has it for a moment.
	for try := 0; ; try++ {
		if err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); !errors.Is(err, unix.EWOULDBLOCK) || try == lockTries {
			break
		}
		time.Sleep(lockPause)
	}
	if errors.Is(err, unix.EWOULDBLOCK) {
		by := make([]byte, lockSize)
		n, _ := f.Read(by)
		f.Close()
		return &LockedError{d.path, strings.TrimSpace(string(by[:n]))}
	}
	if err != nil {
		f.Close()
		return fmt.Errorf("lock the record directory: %w", err)
	}
	d.lock = f
	// The pid is for people. A full disk is found when a segment is written.
	if err := f.Truncate(0); err == nil {
		_, _ = f.WriteString(strconv.Itoa(os.Getpid()) + "\n")
	}
	return nil
}

// isWritten reports whether a podstep of this machine records to a directory now.
func isWritten(path string) bool {
	f, err := os.Open(filepath.Join(path, lockName))
	if err != nil {
		return false
	}
	defer f.Close()
	return errors.Is(unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB), unix.EWOULDBLOCK)
}

func (d *dir) close() error {
	if err := d.lock.Close(); err != nil {
		return fmt.Errorf("unlock the record directory: %w", err)
	}
	return nil
}

// create begins the next segment.
func (d *dir) create(on disk, now time.Time) (*bounded, error) {
	path := filepath.Join(d.path, nameOf(d.next, now))
	f, err := on.create(path)
	if err != nil {
		return nil, fmt.Errorf("make a segment: %w", err)
	}
	out := &bounded{d: d, f: f, path: path, number: d.next}
	d.next++
	return out, nil
}

// tidy deletes segments that are older than they may be, or for which there is no room.
func (d *dir) tidy(now time.Time, keepFor time.Duration) error {
	for keepFor > 0 && len(d.files) > 0 && now.Sub(d.files[0].mod) > keepFor {
		if err := d.removeOldest(); err != nil {
			return err
		}
	}
	return d.makeRoom(0)
}

// makeRoom deletes the oldest segments until so many bytes more may be written.
func (d *dir) makeRoom(n int64) error {
	for d.used.Load()+n > d.keep && len(d.files) > 0 {
		if err := d.removeOldest(); err != nil {
			return err
		}
	}
	if d.used.Load()+n > d.keep {
		return fmt.Errorf("a segment does not fit into %d bytes", d.keep)
	}
	return nil
}

func (d *dir) removeOldest() error {
	f := d.files[0]
	if err := os.Remove(f.path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("delete the oldest segment: %w", err)
	}
	d.files = d.files[1:]
	d.used.Add(-f.size)
	return nil
}

// bounded is the file of a segment, which never makes the directory larger than it may be.
type bounded struct {
	d      *dir
	f      diskFile
	path   string
	number int
	size   atomic.Int64 // the trace's writer also writes on a timer's goroutine
	closed bool
}

func (b *bounded) Write(p []byte) (int, error) {
	if err := b.d.makeRoom(int64(len(p))); err != nil {
		return 0, err
	}
	n, err := b.f.Write(p)
	b.grow(int64(n))
	return n, err
}

func (b *bounded) grow(n int64) {
	b.size.Add(n)
	b.d.used.Add(n)
}

// Truncate takes back half a block.
func (b *bounded) Truncate(size int64) error {
	err := b.f.Truncate(size)
	if err == nil {
		b.grow(size - b.size.Load())
	}
	return err
}

func (b *bounded) Sync() error { return b.f.Sync() }

// Close closes the file, which may then be deleted when it is the oldest.
func (b *bounded) Close() error {
	if b.closed {
		return nil
	}
	b.closed = true
	b.d.files = append(b.d.files, file{b.path, b.number, b.size.Load(), time.Now()})
	return b.f.Close()
}

// removeIfEmpty deletes a closed segment that has no events.
func (b *bounded) removeIfEmpty(events int64) error {
	if events > 0 {
		return nil
	}
	b.d.files = b.d.files[:len(b.d.files)-1]
	b.d.used.Add(-b.size.Load())
	if err := os.Remove(b.path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("delete an empty segment: %w", err)
	}
	return nil
}

// isThere returns an error if somebody has deleted the file or its directory: what is written to it is lost.
func (b *bounded) isThere() error {
	info, err := os.Lstat(b.path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("%s was deleted", b.path)
	case err != nil:
		return fmt.Errorf("look at the segment: %w", err)
	case info.Size() < b.size.Load():
		return fmt.Errorf("%s was cut short or replaced", b.path)
	}
	return nil
}

// machine is the disk of this machine.
type machine struct{}

func (machine) create(path string) (diskFile, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW, 0o600)
}

// bootClock returns the boot id of this machine and for how long it has run, also while it slept.
func bootClock() (id string, clock int64) {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	var t unix.Timespec
	if err != nil || unix.ClockGettime(unix.CLOCK_BOOTTIME, &t) != nil {
		return "", 0
	}
	return strings.TrimSpace(string(text)), t.Nano()
}
