// Package cgroups keeps everything that a lab runs below one cgroup of its own, in every hierarchy of the machine (v1, v2, or both), so that it can be found and ended without knowing any process by name.
package cgroups

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// A Hierarchy is one mounted cgroup tree.
type Hierarchy struct {
	Mount   string
	Unified bool     // cgroup v2
	Options []string // the controllers of a v1 hierarchy
}

// Hierarchies returns the cgroup trees that are mounted on this machine.
func Hierarchies() ([]Hierarchy, error) {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("list cgroup hierarchies: %w", err)
	}
	defer f.Close()
	all, err := parse(f)
	if err != nil {
		return nil, fmt.Errorf("list cgroup hierarchies: %w", err)
	}
	if len(all) == 0 {
		return nil, errors.New("no cgroup hierarchy is mounted: mount cgroup2 on /sys/fs/cgroup")
	}
	return all, nil
}

// parse reads the format of proc(5), /proc/pid/mountinfo.
func parse(r io.Reader) ([]Hierarchy, error) {
	var all []Hierarchy
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		before, after, ok := strings.Cut(lines.Text(), " - ")
		if !ok {
			continue
		}
		place, kind := strings.Fields(before), strings.Fields(after)
		if len(place) < 5 || len(kind) < 3 {
			continue
		}
		h := Hierarchy{Mount: unescape(place[4])}
		switch kind[0] {
		case "cgroup2":
			h.Unified = true
		case "cgroup":
			h.Options = strings.Split(kind[2], ",")
		default:
			continue
		}
		// A later mount on the same directory hides the earlier one.
		all = slices.DeleteFunc(all, func(o Hierarchy) bool { return o.Mount == h.Mount })
		all = append(all, h)
	}
	return all, lines.Err()
}

// unescape undoes the octal escapes that the kernel puts into mount points.
func unescape(s string) string {
	for _, c := range []string{" ", "\t", "\n", `\`} {
		s = strings.ReplaceAll(s, fmt.Sprintf(`\%03o`, c[0]), c)
	}
	return s
}

// Create makes group, such as "/podstep-1a2b3c4d/lab", in every hierarchy and lets its controllers work there.
func Create(group string) error {
	all, err := Hierarchies()
	if err != nil {
		return err
	}
	for _, h := range all {
		path := h.Mount
		for _, name := range strings.Split(strings.Trim(group, "/"), "/") {
			if h.Unified {
				if err := enable(path, path == h.Mount); err != nil {
					return fmt.Errorf("create cgroup %s: %w", group, err)
				}
			}
			parent := path
			path = filepath.Join(path, name)
			if err := os.Mkdir(path, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
				return fmt.Errorf("create cgroup %s: %w", group, err)
			}
			if slices.Contains(h.Options, "cpuset") {
				if err := inherit(parent, path, "cpuset.cpus", "cpuset.mems"); err != nil {
					return fmt.Errorf("create cgroup %s: %w", group, err)
				}
			}
		}
	}
	return nil
}

// inherit copies files of a v1 cpuset from parent to child. They must have values before a process may join.
func inherit(parent, child string, files ...string) error {
	for _, file := range files {
		have, err := os.ReadFile(filepath.Join(child, file))
		if err != nil {
			return err
		}
		if strings.TrimSpace(string(have)) != "" {
			continue
		}
		value, err := os.ReadFile(filepath.Join(parent, file))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(child, file), value, 0); err != nil {
			return err
		}
	}
	return nil
}

// needed are the controllers that the kubelet insists on with cgroup v2.
var needed = []string{"cpu", "cpuset", "memory", "pids"}

// enable passes the controllers of a v2 cgroup on to its children.
func enable(path string, root bool) error {
	controllers, err := os.ReadFile(filepath.Join(path, "cgroup.controllers"))
	if err != nil {
		return err
	}
	on, err := os.ReadFile(filepath.Join(path, "cgroup.subtree_control"))
	if err != nil {
		return err
	}
	enabled := strings.Fields(string(on))
	for _, c := range strings.Fields(string(controllers)) {
		if slices.Contains(enabled, c) {
			continue
		}
		err := os.WriteFile(filepath.Join(path, "cgroup.subtree_control"), []byte("+"+c), 0)
		if err != nil && slices.Contains(needed, c) {
			if root {
				return fmt.Errorf("enable controller %s for %s: %w (in a container, move the processes of its top cgroup into a child first)", c, path, err)
			}
			return fmt.Errorf("enable controller %s for %s: %w", c, path, err)
		}
	}
	return nil
}

// Join moves the calling process into group, in every hierarchy.
func Join(group string) error {
	all, err := Hierarchies()
	if err != nil {
		return err
	}
	for _, h := range all {
		if err := os.WriteFile(filepath.Join(h.Mount, group, "cgroup.procs"), []byte("0"), 0); err != nil {
			return fmt.Errorf("join cgroup %s: %w", group, err)
		}
	}
	return nil
}

// Processes returns the processes in group or below it, in any hierarchy.
func Processes(group string) ([]int, error) {
	all, err := Hierarchies()
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, h := range all {
		err := walk(filepath.Join(h.Mount, group), func(dir string) error {
			text, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
			if err != nil {
				return ignoreGone(err)
			}
			for _, field := range strings.Fields(string(text)) {
				if pid, err := strconv.Atoi(field); err == nil && pid > 0 {
					pids = append(pids, pid)
				}
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("list processes of cgroup %s: %w", group, err)
		}
	}
	slices.Sort(pids)
	return slices.Compact(pids), nil
}

// Remove removes group and everything below it. No process may be left in it.
func Remove(group string) error {
	all, err := Hierarchies()
	if err != nil {
		return err
	}
	var errs []error
	for _, h := range all {
		err := walk(filepath.Join(h.Mount, group), func(dir string) error {
			return ignoreGone(os.Remove(dir))
		})
		if err != nil {
			errs = append(errs, fmt.Errorf("remove cgroup: %w", err))
		}
	}
	return errors.Join(errs...)
}

// Exists reports whether group is there in any hierarchy.
func Exists(group string) bool {
	all, _ := Hierarchies()
	return slices.ContainsFunc(all, func(h Hierarchy) bool {
		_, err := os.Stat(filepath.Join(h.Mount, group))
		return err == nil
	})
}

// walk calls f for dir and every cgroup below it, children first.
func walk(dir string, f func(string) error) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return ignoreGone(err)
	}
	for _, e := range entries {
		if e.IsDir() {
			if err := walk(filepath.Join(dir, e.Name()), f); err != nil {
				return err
			}
		}
	}
	return f(dir)
}

// ignoreGone forgives a cgroup that went away while it was looked at.
func ignoreGone(err error) error {
	// ENODEV is the kernel's error for an open file of a removed cgroup.
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENODEV) {
		return nil
	}
	return err
}
