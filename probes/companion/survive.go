package companion

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
)

// Survive lets this process outlive what ends others. It leaves the control groups that it was started in. With its
// oom_score_adj, score, the kernel ends it late when memory runs out. What fails of this is done without.
func Survive(score int) {
	leaveGroups(os.Getpid())
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte(strconv.Itoa(score)), 0)
}

// leaveGroups moves a process to the roots of all hierarchies of control groups. That lets a process go on that a frozen group
// of version 1 keeps.
func leaveGroups(pid int) {
	// One of these is the root of the unified hierarchy, or they are the roots of the hierarchies of version 1.
	roots, _ := filepath.Glob("/sys/fs/cgroup/*/cgroup.procs")
	for _, procs := range append(roots, "/sys/fs/cgroup/cgroup.procs") {
		if isRoot(filepath.Dir(procs)) {
			_ = os.WriteFile(procs, []byte(strconv.Itoa(pid)), 0)
		}
	}
}

// isRoot reports whether a directory is the root of a hierarchy of control groups: in
// version 1 only the root has a release_agent, in version 2 only the root has no
// cgroup.type.
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
