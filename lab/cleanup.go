package lab

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/podstep/podstep/lab/cgroups"
)

// patience is how long killed processes may take to be gone.
const patience = 10 * time.Second

// Clean removes what a lab left in dir, however it ended, its logs included. The directory goes too if nothing else is in it.
func Clean(dir string) error {
	p, n, err := place(dir)
	if err != nil {
		return err
	}
	// Even when the directory is gone the lab's processes may still be here.
	if _, err := os.Lstat(p.dir); errors.Is(err, fs.ErrNotExist) {
		return sweepLeft(p, n)
	}
	lock, err := claim(p)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := sweepLeft(p, n); err != nil {
		return err
	}
	if err := sweepDir(p); err != nil {
		return err
	}
	// The lock is removed last: until then no other lab must begin.
	if err := os.Remove(p.lock()); err != nil {
		return fmt.Errorf("remove directory: %w", err)
	}
	if err := os.Remove(p.dir); err != nil && !errors.Is(err, unix.ENOTEMPTY) {
		return fmt.Errorf("remove directory: %w", err)
	}
	return nil
}

// sweepMachine ends every process of a lab and removes its cgroups and its network. It needs no more than the lab's names, so it does the same after an orderly end and after a kill -9.
func sweepMachine(n names, ip string) error {
	// Network and mount namespaces go with their last process.
	if err := killAll(n.cgroup); err != nil {
		return err
	}
	return errors.Join(removeBridge(ip, n.bridge), removeCgroups(n.cgroup))
}

// sweepDir removes the lab's files, but for its lock and those to keep.
func sweepDir(p paths, keep ...string) error {
	entries, err := os.ReadDir(p.dir)
	if err != nil {
		return fmt.Errorf("remove files: %w", err)
	}
	for _, e := range entries {
		if e.Name() == "lab.lock" || slices.Contains(keep, e.Name()) {
			continue
		}
		// Mounts of the node are in its own mount namespace, so this never goes into one.
		if err := os.RemoveAll(p.at(e.Name())); err != nil {
			return fmt.Errorf("remove files: %w", err)
		}
	}
	return nil
}

// killAll kills the processes of a cgroup and returns when they are gone.
func killAll(cgroup string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	err := poll(ctx, func(context.Context) error {
		pids, err := cgroups.Processes(cgroup)
		if err != nil {
			return err
		}
		for _, pid := range pids {
			if pid == os.Getpid() {
				return fmt.Errorf("this program itself is in cgroup %s", cgroup)
			}
			if err := unix.Kill(pid, unix.SIGKILL); err != nil && !errors.Is(err, unix.ESRCH) {
				return fmt.Errorf("kill process %d: %w", pid, err)
			}
		}
		if len(pids) > 0 {
			return fmt.Errorf("processes %v are still in cgroup %s", pids, cgroup)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("end processes: %w", err)
	}
	waitReaped(cgroup)
	return nil
}

// reapPatience is for the machine's init, which reaps processes whose parent died before them.
const reapPatience = 2 * time.Second

// waitReaped returns when no zombie of the cgroup is left, or after reapPatience: an init that does not reap is not
// our failure.
func waitReaped(cgroup string) {
	ctx, cancel := context.WithTimeout(context.Background(), reapPatience)
	defer cancel()
	poll(ctx, func(context.Context) error {
		files, err := filepath.Glob("/proc/[0-9]*/cgroup")
		if err != nil {
			return err
		}
		for _, file := range files {
			// A zombie is in no cgroup's list, but remembers where it was.
			if of, err := os.ReadFile(file); err == nil && strings.Contains(string(of), ":"+cgroup+"/") {
				return fmt.Errorf("%s is a zombie", filepath.Dir(file))
			}
		}
		return nil
	})
}

// removeCgroups tries again for a while: a process leaves its cgroup a moment after it is gone from the list.
func removeCgroups(cgroup string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return poll(ctx, func(context.Context) error { return cgroups.Remove(cgroup) })
}
