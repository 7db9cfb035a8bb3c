package takeover

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
)

// Survive has this process outlive what ends others: it leaves the control groups that it
// was started in, and the kernel ends it late, by its oom_score_adj, when memory runs
// out. What cannot be had is done without.
func Survive(score int) {
	pid := strconv.Itoa(os.Getpid())
	// The unified hierarchy's root is here, or those of the hierarchies of version 1.
	roots, _ := filepath.Glob("/sys/fs/cgroup/*/cgroup.procs")
	for _, procs := range append(roots, "/sys/fs/cgroup/cgroup.procs") {
		if isRoot(filepath.Dir(procs)) {
			_ = os.WriteFile(procs, []byte(pid), 0)
		}
	}
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte(strconv.Itoa(score)), 0)
}

// isRoot reports whether a directory is the root of a hierarchy of control groups: below
// it they have a cgroup.type, or, in version 1, no release_agent.
func isRoot(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "release_agent"))
	if err == nil {
		return true
	}
	if _, err := os.Stat(filepath.Join(dir, "cgroup.controllers")); err != nil {
		return false
	}
	_, err = os.Stat(filepath.Join(dir, "cgroup.type"))
	return errors.Is(err, os.ErrNotExist)
}

// IsHeld reports whether a takeover failed because another process has the path.
func IsHeld(err error) bool {
	var held *servedError
	return errors.As(err, &held)
}

// StateFile is where the state of a takeover of a path is kept.
func StateFile(dir, root, path string) (string, error) {
	if dir == "" {
		dir = DefaultDir
	}
	if root == "" {
		root = "/"
	}
	r, err := openRoot(root)
	if err != nil {
		return "", err
	}
	defer r.close()
	p, err := find(r, path)
	if err != nil {
		return "", err
	}
	defer p.close()
	return statePath(dir, p), nil
}

// DialPath connects to what is at a path, whoever serves it.
func DialPath(ctx context.Context, root, path string) (net.Conn, error) {
	if root == "" {
		root = "/"
	}
	r, err := openRoot(root)
	if err != nil {
		return nil, err
	}
	defer r.close()
	p, err := find(r, path)
	if err != nil {
		return nil, err
	}
	defer p.close()
	var d net.Dialer
	return d.DialContext(ctx, "unix", p.at(p.name))
}
