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

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/kubelets"
	"github.com/podstep/podstep/probes/uprobe"
	"github.com/podstep/podstep/probes/words"
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
func forAgent(found []kubelets.Kubelet, ways []Check) probes.Text {
	for _, c := range ways {
		if c.Name == "cri" && c.Status == "fail" {
			return c.Todo
		}
	}
	if len(attachable(found)) > 0 {
		return words.Text("run podstep attach as root: it hosts one beside the kubelet that runs here, and restarts nothing", "以 root 运行 podstep attach：它在这里的 kubelet 旁边提供代理，什么都不重启")
	}
	return words.Text("run podstep-kubelet in place of the kubelet, or try podstep-lab", "用 podstep-kubelet 代替 kubelet 运行，或试试 podstep-lab")
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
		m.program("containerd", words.Text("apt-get install containerd, for podstep-lab --runtime=containerd", "apt-get install containerd，供 podstep-lab --runtime=containerd 使用")),
		m.program("runc", words.Text("apt-get install runc, for podstep-lab --runtime=containerd", "apt-get install runc，供 podstep-lab --runtime=containerd 使用")),
		m.program("busybox", words.Text("apt-get install busybox-static, for the images of podstep-lab --runtime=containerd", "apt-get install busybox-static，供 podstep-lab --runtime=containerd 的镜像使用")),
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
		return ok("root", words.Text("yes", "是"))
	}
	return warn("root", words.With(words.Text("no, uid %d", "否，uid %d"), m.uid),
		words.Text("only an agent of this user can be reached, and podstep-lab runs with --runtime=sim; sudo gives the rest", "只能连到本用户的代理，podstep-lab 只能用 --runtime=sim；其余的用 sudo"))
}

func (m *host) kernelCheck() Check {
	if v := m.line("proc/sys/kernel/osrelease"); v != "" {
		return ok("kernel", words.Text("Linux %s", "Linux %s"), v)
	}
	return warn("kernel", words.Text("/proc cannot be read", "无法读取 /proc"), mountProc)
}

// cgroupCheck finds the version as systemd and the kubelet do: a unified
// hierarchy has its list of controllers at the top.
func (m *host) cgroupCheck() Check {
	if _, err := os.Stat(m.path("sys/fs/cgroup/cgroup.controllers")); err == nil {
		return ok("cgroup", words.Text("version 2", "版本 2"))
	}
	if _, err := os.Stat(m.path("sys/fs/cgroup/memory")); err == nil {
		return warn("cgroup", words.Text("version 1", "版本 1"), words.Text("the kubelet takes it only with failCgroupV1: false; podstep-lab sets that", "kubelet 只有在 failCgroupV1: false 时才接受它；podstep-lab 会这样设置"))
	}
	return warn("cgroup", words.Text("no cgroups below /sys/fs/cgroup", "/sys/fs/cgroup 下没有 cgroup"), words.Text("a kubelet on containerd needs them; podstep-lab --runtime=sim does not", "用 containerd 的 kubelet 需要它们；podstep-lab --runtime=sim 不需要"))
}

// findKubelets finds the kubelets among the processes.
func (m *host) findKubelets(ctx context.Context) ([]kubelets.Kubelet, error) {
	return kubelets.Find(ctx, kubelets.Options{Proc: m.path("proc")})
}

// kubeletChecks report which kubelets run here, and what is known of each.
func (m *host) kubeletChecks(found []kubelets.Kubelet, err error) []Check {
	if err != nil {
		return []Check{warn("kubelets", words.Text("processes cannot be listed", "无法列出进程"), mountProc)}
	}
	if len(found) == 0 {
		return []Check{warn("kubelets", words.Text("none runs here", "这里没有运行 kubelet"), words.Text("start podstep-kubelet, or try podstep on a node of podstep-lab", "启动 podstep-kubelet，或在 podstep-lab 的节点上试用 podstep"))}
	}
	var names []string
	checks := []Check{{}}
	for i := range found {
		k := &found[i]
		names = append(names, fmt.Sprintf("%s (pid %d)", programOf(k), k.PID))
		checks = append(checks, m.oneKubelet(k))
		checks = append(checks, m.workDirCheck(k.PID)...)
	}
	checks[0] = ok("kubelets", words.Same(strings.Join(names, ", ")))
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
	known := []probes.Text{words.Same(strings.TrimSpace(k.Kind + " " + k.Version))}
	add := func(is bool, text probes.Text, values ...any) {
		if is {
			known = append(known, words.With(text, values...))
		}
	}
	add(k.Woven, words.Text("woven", "已织入"))
	add(k.Node != "", words.Text("node %s", "节点 %s"), k.Node)
	add(k.RuntimeEndpoint != "", words.Text("runtime %s", "运行时 %s"), k.RuntimeEndpoint)
	add(k.ImageEndpoint != "" && k.ImageEndpoint != k.RuntimeEndpoint, words.Text("images %s", "镜像 %s"), k.ImageEndpoint)
	text := words.Joined(comma, known...)
	c := ok("kubelet", text)
	if len(k.Problems) > 0 || k.Doubt != "" {
		todo := words.Text("podstep attach would use these", "podstep attach 会用这些")
		if m.uid != 0 {
			todo = words.Text("run podstep doctor as root: it sees more", "以 root 运行 podstep doctor：它能看到更多")
		}
		why := []probes.Text{text}
		if k.Doubt != "" {
			why = append(why, words.With(words.Text("perhaps this is not a kubelet: %s", "这可能不是 kubelet：%s"), k.Doubt))
		}
		for _, p := range k.Problems {
			why = append(why, words.Same(p))
		}
		c = warn("kubelet", words.Joined(semicolon, why...), todo)
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
	c := warn("workdir", words.With(words.Text("the kubelet works in %s: when it removes a container without a log path, it also removes files and links there", "kubelet 的工作目录是 %s：它删除没有日志路径的容器时，也会删除那里的文件和链接"), dir),
		words.Text("make such containers (crictl, a CRI validation) on no node that you need, or start the kubelet in an empty directory", "不要在重要的节点上创建这样的容器（crictl、CRI 验证），或在空目录里启动 kubelet"))
	c.Pid = pid
	return []Check{c}
}

func (m *host) program(name string, todo probes.Text) Check {
	for _, dir := range append(filepath.SplitList(m.getenv("PATH")), "/usr/local/sbin", "/usr/sbin", "/sbin") {
		if !filepath.IsAbs(dir) {
			continue
		}
		info, err := os.Stat(m.path(filepath.Join(dir, name)))
		if err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return ok(name, words.Same(filepath.Join(dir, name)))
		}
	}
	return warn(name, words.Text("not found", "没有找到"), todo)
}

func (m *host) cniCheck() Check {
	for _, dir := range []string{"/opt/cni/bin", "/usr/lib/cni", "/usr/libexec/cni"} {
		if _, err := os.Stat(m.path(filepath.Join(dir, "bridge"))); err == nil {
			return ok("cni", words.Text("plugins in %s", "插件在 %s"), dir)
		}
	}
	return warn("cni", words.Text("no plugins in /opt/cni/bin, /usr/lib/cni or /usr/libexec/cni", "/opt/cni/bin、/usr/lib/cni 和 /usr/libexec/cni 里都没有插件"),
		words.Text("apt-get install containernetworking-plugins, for podstep-lab --runtime=containerd", "apt-get install containernetworking-plugins，供 podstep-lab --runtime=containerd 使用"))
}

func (m *host) terminalCheck() Check {
	info, err := m.stdout.Stat()
	if err != nil || info.Mode()&fs.ModeCharDevice == 0 {
		return ok("terminal", words.Text("stdout is not a terminal; podstep prints plain lines", "标准输出不是终端；podstep 输出纯文本行"))
	}
	term, colour := m.getenv("TERM"), words.Text("colour", "有颜色")
	if term == "" || term == "dumb" || m.getenv("NO_COLOR") != "" {
		colour = words.Text("no colour", "无颜色")
	}
	text := words.With(words.Text("TERM=%s, %s, %s", "TERM=%s，%s，%s"), term, colour, m.charset())
	if m.charset() != utf8 {
		return warn("terminal", text, words.Text("set LANG=C.UTF-8 for Chinese titles", "要显示中文，请设置 LANG=C.UTF-8"))
	}
	return ok("terminal", text)
}

// The character sets, as far as they matter.
var utf8, notUTF8 = words.Same("UTF-8"), words.Text("not UTF-8", "不是 UTF-8")

// mountProc is what to do where there is no /proc.
var mountProc = words.Text("mount /proc", "挂载 /proc")

// charset follows the locale variables in the order in which they win.
func (m *host) charset() probes.Text {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		v := m.getenv(name)
		if v == "" {
			continue
		}
		if u := strings.ToUpper(v); strings.HasSuffix(u, "UTF-8") || strings.HasSuffix(u, "UTF8") {
			return utf8
		}
		return notUTF8
	}
	return notUTF8
}
