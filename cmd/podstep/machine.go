package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// machine is what doctor looks at beside the agent: files below root, the
// environment, the terminal.
type machine struct {
	root   string
	uid    int
	getenv func(string) string
	stdout *os.File
}

func (m *machine) checks() []check {
	return append([]check{
		m.rootCheck(),
		m.kernelCheck(),
		m.cgroupCheck(),
		m.kubeletCheck(),
		m.program("containerd", "apt-get install containerd, for podstep-lab --runtime=containerd"),
		m.program("runc", "apt-get install runc, for podstep-lab --runtime=containerd"),
		m.program("busybox", "apt-get install busybox-static, for the images of podstep-lab --runtime=containerd"),
		m.cniCheck(),
	}, m.terminalCheck())
}

func (m *machine) path(name string) string { return filepath.Join(m.root, name) }

// line is the first line of a small file, or "".
func (m *machine) line(name string) string {
	b, err := os.ReadFile(m.path(name))
	if err != nil {
		return ""
	}
	text, _, _ := strings.Cut(string(b), "\n")
	return text
}

func (m *machine) rootCheck() check {
	if m.uid == 0 {
		return ok("root", "yes")
	}
	return warn("root", fmt.Sprintf("no, uid %d", m.uid), "only an agent of this user can be reached, and podstep-lab runs with --runtime=sim; sudo gives the rest")
}

func (m *machine) kernelCheck() check {
	if v := m.line("proc/sys/kernel/osrelease"); v != "" {
		return ok("kernel", "Linux %s", v)
	}
	return warn("kernel", "/proc cannot be read, or this is not Linux", "kubelets run on Linux; mount /proc")
}

// cgroupCheck tells the version as systemd and the kubelet do: a unified
// hierarchy has its list of controllers at the top.
func (m *machine) cgroupCheck() check {
	if _, err := os.Stat(m.path("sys/fs/cgroup/cgroup.controllers")); err == nil {
		return ok("cgroup", "version 2")
	}
	if _, err := os.Stat(m.path("sys/fs/cgroup/memory")); err == nil {
		return warn("cgroup", "version 1", "the kubelet takes it only with failCgroupV1: false; podstep-lab sets that")
	}
	return warn("cgroup", "no cgroups below /sys/fs/cgroup", "a kubelet on containerd needs them; podstep-lab --runtime=sim does not")
}

// kubeletCheck looks for kubelets among the processes.
func (m *machine) kubeletCheck() check {
	processes, err := os.ReadDir(m.path("proc"))
	if err != nil {
		return warn("kubelets", "processes cannot be listed", "mount /proc")
	}
	var found []string
	for _, p := range processes {
		if _, err := strconv.Atoi(p.Name()); err != nil {
			continue
		}
		switch name := m.processName(p); name {
		case "kubelet", "podstep-kubelet":
			found = append(found, name+" (pid "+p.Name()+")")
		}
	}
	if len(found) == 0 {
		return warn("kubelets", "none runs here", "start podstep-kubelet, or podstep-lab for a node to play with")
	}
	return ok("kubelets", "%s", strings.Join(found, ", "))
}

// processName is the program's name as it was started. The kernel's short name
// ends after 15 bytes: podstep-kubelet just fits.
func (m *machine) processName(p fs.DirEntry) string {
	return m.line(filepath.Join("proc", p.Name(), "comm"))
}

func (m *machine) program(name, todo string) check {
	for _, dir := range append(filepath.SplitList(m.getenv("PATH")), "/usr/local/sbin", "/usr/sbin", "/sbin") {
		if !filepath.IsAbs(dir) {
			continue
		}
		info, err := os.Stat(m.path(filepath.Join(dir, name)))
		if err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return ok(name, "%s", filepath.Join(dir, name))
		}
	}
	return warn(name, "not found", todo)
}

func (m *machine) cniCheck() check {
	for _, dir := range []string{"/opt/cni/bin", "/usr/lib/cni", "/usr/libexec/cni"} {
		if _, err := os.Stat(m.path(filepath.Join(dir, "bridge"))); err == nil {
			return ok("cni", "plugins in %s", dir)
		}
	}
	return warn("cni", "no plugins in /opt/cni/bin, /usr/lib/cni or /usr/libexec/cni",
		"apt-get install containernetworking-plugins, for podstep-lab --runtime=containerd")
}

func (m *machine) terminalCheck() check {
	info, err := m.stdout.Stat()
	if err != nil || info.Mode()&fs.ModeCharDevice == 0 {
		return ok("terminal", "stdout is none; podstep prints plain lines")
	}
	term, colour := m.getenv("TERM"), "colour"
	if term == "" || term == "dumb" || m.getenv("NO_COLOR") != "" {
		colour = "no colour"
	}
	text := fmt.Sprintf("TERM=%s, %s, %s", term, colour, m.charset())
	if m.charset() != "UTF-8" {
		return warn("terminal", text, "set LANG=C.UTF-8 for Chinese titles")
	}
	return ok("terminal", "%s", text)
}

// charset follows the locale variables in the order in which they win.
func (m *machine) charset() string {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		v := m.getenv(name)
		if v == "" {
			continue
		}
		if u := strings.ToUpper(v); strings.HasSuffix(u, "UTF-8") || strings.HasSuffix(u, "UTF8") {
			return "UTF-8"
		}
		return "not UTF-8"
	}
	return "not UTF-8"
}
