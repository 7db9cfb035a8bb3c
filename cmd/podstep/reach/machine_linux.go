package reach

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/podstep/podstep/probes/kubelets"
	"github.com/podstep/podstep/probes/uprobe"
)

// host is what is looked at: files below root, the environment, the terminal.
type host struct {
	root   string
	uid    int
	getenv func(string) string
	stdout *os.File
	// served checks that a kubelet's socket is served.
	served func(*kubelets.Kubelet, context.Context, string) error
	// server finds the process that serves the socket.
	server func(*kubelets.Kubelet, context.Context, string) (int, error)
	// tryKernel finds out what the kernel can do; nil: nothing is tried.
	tryKernel func() *uprobe.Kernel
}

// here is this machine; tests have others.
var here = host{
	root: "/", uid: os.Getuid(), getenv: os.Getenv, stdout: os.Stdout,
	served: (*kubelets.Kubelet).Served, server: (*kubelets.Kubelet).Server, tryKernel: uprobe.TryKernel,
}

// Look looks at this machine, and changes nothing.
func Look(ctx context.Context) Machine { return here.look(ctx) }

func (m *host) look(ctx context.Context) Machine {
	found, err := m.findKubelets(ctx)
	ways := m.probeChecks(ctx, found)
	checks := append(m.nodeChecks(), m.kubeletChecks(found, err)...)
	checks = append(append(checks, ways...), m.labChecks()...)
	return Machine{Checks: checks, ForAgent: forAgent(found, ways), Attachable: isAttachable(found, ways)}
}

// forAgent says how to get to an agent. Where a podstep is attached already, it says how to
// bring that one back.
func forAgent(found []kubelets.Kubelet, ways []Check) string {
	for _, c := range ways {
		if c.Name == "cri" && c.Status == "fail" {
			return c.Todo
		}
	}
	if len(attachable(found)) > 0 {
		return "run podstep attach as root: it hosts one beside the kubelet that runs here, and restarts nothing"
	}
	return "run podstep-kubelet in place of the kubelet, or try podstep-lab"
}

// isAttachable reports whether podstep can attach to a kubelet here.
func isAttachable(found []kubelets.Kubelet, ways []Check) bool {
	for _, k := range attachable(found) {
		if slices.ContainsFunc(ways, func(c Check) bool { return c.Name == "cri" && c.Pid == k.PID && c.Status == "ok" }) {
			return true
		}
	}
	return false
}

// nodeChecks are the checks of what every node has.
func (m *host) nodeChecks() []Check {
	return []Check{m.rootCheck(), m.kernelCheck(), m.cgroupCheck()}
}

// labChecks are the checks of what a lab needs, and of the screen.
func (m *host) labChecks() []Check {
	return []Check{
		m.program("containerd", "apt-get install containerd, for podstep-lab --runtime=containerd"),
		m.program("runc", "apt-get install runc, for podstep-lab --runtime=containerd"),
		m.program("busybox", "apt-get install busybox-static, for the images of podstep-lab --runtime=containerd"),
		m.cniCheck(),
		m.terminalCheck(),
	}
}

func (m *host) path(name string) string { return filepath.Join(m.root, name) }

// line returns the first line of a small file, or "".
func (m *host) line(name string) string {
	b, err := os.ReadFile(m.path(name))
	if err != nil {
		return ""
	}
	text, _, _ := strings.Cut(string(b), "\n")
	return text
}

func (m *host) rootCheck() Check {
	if m.uid == 0 {
		return ok("root", "yes")
	}
	return warn("root", fmt.Sprintf("no, uid %d", m.uid), "only an agent of this user can be reached, and podstep-lab runs with --runtime=sim; sudo gives the rest")
}

func (m *host) kernelCheck() Check {
	if v := m.line("proc/sys/kernel/osrelease"); v != "" {
		return ok("kernel", "Linux %s", v)
	}
	return warn("kernel", "/proc cannot be read", "mount /proc")
}

// cgroupCheck finds the version as systemd and the kubelet do: a unified
// hierarchy has its list of controllers at the top.
func (m *host) cgroupCheck() Check {
	if _, err := os.Stat(m.path("sys/fs/cgroup/cgroup.controllers")); err == nil {
		return ok("cgroup", "version 2")
	}
	if _, err := os.Stat(m.path("sys/fs/cgroup/memory")); err == nil {
		return warn("cgroup", "version 1", "the kubelet takes it only with failCgroupV1: false; podstep-lab sets that")
	}
	return warn("cgroup", "no cgroups below /sys/fs/cgroup", "a kubelet on containerd needs them; podstep-lab --runtime=sim does not")
}

// findKubelets finds the kubelets among the processes.
func (m *host) findKubelets(ctx context.Context) ([]kubelets.Kubelet, error) {
	return kubelets.Find(ctx, kubelets.Options{Proc: m.path("proc")})
}

// kubeletChecks report which kubelets run here, and what is known of each.
func (m *host) kubeletChecks(found []kubelets.Kubelet, err error) []Check {
	if err != nil {
		return []Check{warn("kubelets", "processes cannot be listed", "mount /proc")}
	}
	if len(found) == 0 {
		return []Check{warn("kubelets", "none runs here", "start podstep-kubelet, or try podstep on a node of podstep-lab")}
	}
	var names []string
	checks := []Check{{}}
	for i := range found {
		k := &found[i]
		names = append(names, fmt.Sprintf("%s (pid %d)", programOf(k), k.PID))
		checks = append(checks, m.oneKubelet(k))
		checks = append(checks, m.workDirCheck(k.PID)...)
	}
	checks[0] = ok("kubelets", "%s", strings.Join(names, ", "))
	return checks
}

// programOf returns the name of a kubelet's program, as far as this user may see it.
func programOf(k *kubelets.Kubelet) string {
	switch {
	case k.Program != "":
		return filepath.Base(k.Program)
	case k.Woven:
		return "podstep-kubelet"
	}
	return k.Kind
}

// oneKubelet reports what is known of a kubelet. It leaves out what is not known, but not the
// reasons for that.
func (m *host) oneKubelet(k *kubelets.Kubelet) Check {
	text := k.Kind
	if k.Version != "" {
		text += " " + k.Version
	}
	if k.Woven {
		text += ", woven"
	}
	if k.Node != "" {
		text += ", node " + k.Node
	}
	if k.RuntimeEndpoint != "" {
		text += ", runtime " + k.RuntimeEndpoint
	}
	if k.ImageEndpoint != "" && k.ImageEndpoint != k.RuntimeEndpoint {
		text += ", images " + k.ImageEndpoint
	}
	c := ok("kubelet", "%s", text)
	if why := k.Problems; len(why) > 0 || k.Doubt != "" {
		todo := "podstep attach would use these"
		if m.uid != 0 {
			todo = "run podstep doctor as root: it sees more"
		}
		if k.Doubt != "" {
			why = append([]string{"perhaps this is not a kubelet: " + k.Doubt}, why...)
		}
		c = warn("kubelet", text+"; "+strings.Join(why, "; "), todo)
	}
	c.Pid = k.PID
	return c
}

// workDirCheck warns of a kubelet whose log cleaner could remove files: for a
// container without a log path it removes what the pattern "*" finds in the
// kubelet's working directory.
func (m *host) workDirCheck(pid int) []Check {
	link := m.path(filepath.Join("proc", strconv.Itoa(pid), "cwd"))
	entries, err := os.ReadDir(link)
	if err != nil || len(entries) == 0 {
		return nil
	}
	dir, err := os.Readlink(link)
	if err != nil {
		return nil
	}
	c := warn("workdir", fmt.Sprintf("the kubelet works in %s: when it removes a container without a log path, it also removes files and links there", dir),
		"make such containers (crictl, a CRI validation) on no node that you need, or start the kubelet in an empty directory")
	c.Pid = pid
	return []Check{c}
}

func (m *host) program(name, todo string) Check {
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

func (m *host) cniCheck() Check {
	for _, dir := range []string{"/opt/cni/bin", "/usr/lib/cni", "/usr/libexec/cni"} {
		if _, err := os.Stat(m.path(filepath.Join(dir, "bridge"))); err == nil {
			return ok("cni", "plugins in %s", dir)
		}
	}
	return warn("cni", "no plugins in /opt/cni/bin, /usr/lib/cni or /usr/libexec/cni",
		"apt-get install containernetworking-plugins, for podstep-lab --runtime=containerd")
}

func (m *host) terminalCheck() Check {
	info, err := m.stdout.Stat()
	if err != nil || info.Mode()&fs.ModeCharDevice == 0 {
		return ok("terminal", "stdout is not a terminal; podstep prints plain lines")
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
func (m *host) charset() string {
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
