package reach

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/podstep/podstep/agent/client"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/kubelets"
	"github.com/podstep/podstep/probes/words"
)

// allCapabilities are those of a root user that lacks none.
const allCapabilities = "000001ffffffffff"

// newMachine makes a machine with these files, as a user sees it. A file's text that begins
// with an arrow makes a link.
func newMachine(t *testing.T, uid int, files map[string]string) *host {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		to, link := strings.CutPrefix(text, "-> ")
		var err error
		if link {
			err = os.Symlink(to, file)
		} else {
			err = os.WriteFile(file, []byte(text), 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	stdout, err := os.Create(filepath.Join(root, "out"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stdout.Close() })
	env := map[string]string{"PATH": "/home/me/bin:relative:"}
	return &host{
		root: root, uid: uid, stdout: stdout, getenv: func(k string) string { return env[k] },
		served: func(k *kubelets.Kubelet, _ context.Context, socket string) error {
			if k.RuntimeEndpoint != socket || strings.Contains(socket, "dead") {
				return errors.New("connect to " + socket + ": connection refused")
			}
			return nil
		},
		server: func(_ *kubelets.Kubelet, _ context.Context, socket string) (int, error) {
			return 0, fmt.Errorf("connect to %s: %w", socket, unix.ECONNREFUSED)
		},
	}
}

// kubeletProcess adds a process to the files of a machine. Its root is empty.
func kubeletProcess(files map[string]string, pid int, program string, args ...string) {
	dir := fmt.Sprintf("proc/%d/", pid)
	files[dir+"cmdline"] = strings.Join(append([]string{program}, args...), "\x00") + "\x00"
	files[dir+"stat"] = fmt.Sprintf("%d (%.15s) S 1 1 1 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 12 0 1007 0 0\n", pid, filepath.Base(program))
	files[dir+"exe"] = "-> " + program
	files[dir+"root/etc/hostname"] = fmt.Sprintf("node-%d\n", pid)
}

func TestMachine(t *testing.T) {
	files := map[string]string{
		"proc/sys/kernel/osrelease":         "6.1.0\n",
		"proc/18/comm":                      "bash\n",
		"proc/self/comm":                    "kubelet\n",
		"sys/fs/cgroup/cgroup.controllers":  "cpu memory\n",
		"usr/sbin/runc":                     "",
		"opt/cni/bin/bridge":                "",
		"home/me/bin/containerd/not-a-file": "",
	}
	kubeletProcess(files, 17, "/usr/bin/podstep-kubelet")
	m := newMachine(t, 7, files)
	want := map[string]string{
		"root": "warn no, uid 7", "kernel": "ok Linux 6.1.0", "cgroup": "ok version 2",
		"kubelets": "ok podstep-kubelet (pid 17)", "containerd": "warn not found", "runc": "ok /usr/sbin/runc",
		"busybox": "warn not found", "cni": "ok plugins in /opt/cni/bin", "terminal": "ok stdout is not a terminal; podstep prints plain lines",
	}
	found, err := m.findKubelets(t.Context())
	checks := append(m.nodeChecks(), m.kubeletChecks(found, err)...)
	for _, c := range append(checks, m.labChecks()...) {
		if (c.Todo.En == "") != (c.Status == "ok") {
			t.Errorf("%s is %s with todo %q", c.Name, c.Status, c.Todo.En)
		}
		if c.Pid != 0 {
			continue
		}
		if got := c.Status + " " + c.Text.En; got != want[c.Name] {
			t.Errorf("%s: %s, want %s", c.Name, got, want[c.Name])
		}
		delete(want, c.Name)
	}
	for name := range want {
		t.Errorf("%s is not checked", name)
	}
}

// TestWorkDir: a kubelet whose log cleaner could remove files gets a warning. A kubelet in an
// empty directory does not.
func TestWorkDir(t *testing.T) {
	files := map[string]string{
		"proc/17/cwd": "-> ../../full", "full/bin": "-> usr/bin",
		"proc/18/cwd": "-> ../../lab/cwd", "lab/cwd/gone": "",
		"proc/19/cwd": "-> ../../nowhere",
	}
	m := newMachine(t, 0, files)
	if err := os.Remove(filepath.Join(m.root, "lab/cwd/gone")); err != nil {
		t.Fatal(err)
	}
	got := m.workDirCheck(17)
	if len(got) != 1 || got[0].Status != "warn" || got[0].Pid != 17 || !strings.Contains(got[0].Text.En, "works in ../../full:") {
		t.Errorf("of a directory with a link: %+v", got)
	}
	for _, pid := range []int{18, 19, 20} {
		if got := m.workDirCheck(pid); len(got) != 0 {
			t.Errorf("of %d: %+v", pid, got)
		}
	}
}

// TestReach has what doctor says of kubelets and of ways to see them, word for word.
func TestReach(t *testing.T) {
	const inNone = "perhaps this is not a kubelet: its program cannot be read: open PROC/exe: no such file or directory"
	const delve = "ok    delve            possible: podstep attach --probe delve stops the kubelet at its steps, and shows variables if it has debug information\n"
	// uprobe returns what doctor says of kubelets whose program is not there.
	uprobe := func(pids ...int) (all string) {
		for _, pid := range pids {
			all += fmt.Sprintf("warn  %-15s  not possible: read kubelet: open PROC/exe: no such file or directory\n                       -> podstep attach goes on with its other probes; podstep-kubelet sees every step\n", fmt.Sprintf("uprobe %d", pid))
		}
		return all
	}
	node := func(more map[string]string) map[string]string {
		files := map[string]string{
			"proc/self/status":                         "Name:\tpodstep\nCapEff:\t" + allCapabilities + "\n",
			"proc/sys/kernel/osrelease":                "6.1.0-13-amd64\n",
			"sys/bus/event_source/devices/uprobe/type": "9\n",
			"proc/sys/kernel/yama/ptrace_scope":        "1\n",
			"proc/1/cmdline":                           "init\x00",
			"proc/1/stat":                              "garbage",
		}
		for name, text := range more {
			files[name] = text
		}
		return files
	}
	for _, c := range []struct {
		name  string
		uid   int
		files map[string]string
		runs  func(map[string]string)
		want  string
	}{
		{
			name: "none", files: node(nil), runs: func(map[string]string) {},
			want: "warn  kubelets         none runs here\n                       -> start podstep-kubelet, or try podstep on a node of podstep-lab\n" +
				noWoven +
				"warn  cri              there is no kubelet to attach to\n                       -> run podstep attach on a node where one runs\n" +
				delve +
				"warn  uprobe           there is no kubelet to look into; this machine would allow it\n                       -> run podstep attach on a node where one runs\n" +
				"warn  log              there is no kubelet that writes a log\n" + arrow,
		},
		{
			name: "one", files: node(nil),
			runs: func(f map[string]string) {
				kubeletProcess(f, 17, "/usr/bin/kubelet", "--container-runtime-endpoint=unix:///run/crio/crio.sock", "--image-service-endpoint=/i.sock")
			},
			want: "ok    kubelets         kubelet (pid 17)\n" +
				"warn  kubelet 17       kubelet, node node-17, runtime /run/crio/crio.sock, images /i.sock; DOUBT\n                       -> podstep attach would use these\n" +
				noWoven +
				"ok    cri 17           possible: podstep attach sees its calls to the runtime, and can hold them\n" +
				delve + uprobe(17) +
				"warn  log              podstep attach cannot follow it: kubelet 17's log is in no place that podstep knows\n" + arrow,
		},
		{
			name: "several, each with a trouble of its own", files: node(map[string]string{
				"proc/17/root/run/containerd/containerd.sock.podstep": "",
				"proc/1900000/root/etc/k":                             "",
			}),
			runs: func(f map[string]string) {
				kubeletProcess(f, 17, "/usr/bin/kubelet")
				kubeletProcess(f, 18, "/usr/bin/kubelet", "--container-runtime-endpoint=unix:///run/dead.sock")
				kubeletProcess(f, 19, "/usr/bin/kubelet", "--container-runtime-endpoint=tcp://[::1]:1")
				kubeletProcess(f, 1900000, "/k3s", "server", "--kubelet-arg=kubeconfig=/etc/k")
			},
			want: "ok    kubelets         kubelet (pid 17), kubelet (pid 18), kubelet (pid 19), k3s (pid 1900000)\n" +
				"warn  kubelet 17       kubelet, node node-17, runtime /run/containerd/containerd.sock; DOUBT\n                       -> podstep attach would use these\n" +
				"warn  kubelet 18       kubelet, node node-18, runtime /run/dead.sock; DOUBT\n                       -> podstep attach would use these\n" +
				"warn  kubelet 19       kubelet, node node-19; DOUBT; its endpoint \"tcp://[::1]:1\" is a TCP address, not a unix socket\n                       -> podstep attach would use these\n" +
				"warn  kubelet 1900000  k3s, node node-1900000, runtime /run/k3s/containerd/containerd.sock; DOUBT\n                       -> podstep attach would use these\n" +
				noWoven +
				"fail  cri 17           nobody answers the kubelet: a podstep that was attached has ended and left the runtime's socket behind as /run/containerd/containerd.sock.podstep\n" +
				"                       -> podstep restore mends it; so does a new podstep attach\n" +
				"warn  cri 18           not possible now: its runtime does not answer: connect to /run/dead.sock: connection refused\n                       -> see whether the container runtime runs: crictl info asks it\n" +
				"warn  cri 19           not possible now: its endpoint \"tcp://[::1]:1\" is a TCP address, not a unix socket\n" +
				"                       -> podstep attach --probe api,kubelet needs no socket, and shows what is reported of its pods; podstep-kubelet sees every step\n" +
				"ok    cri 1900000      possible: podstep attach --pid 1900000 sees its calls to the runtime, and can hold them\n" +
				delve + uprobe(17, 18, 19, 1900000) +
				"warn  log              podstep attach cannot follow it: kubelet 17's log is in no place that podstep knows, kubelet 18's log is in no place that podstep knows, " +
				"kubelet 19's log is in no place that podstep knows, kubelet 1900000's log is in no place that podstep knows\n" + arrow,
		},
		{
			name: "no root", uid: 7, files: node(map[string]string{"proc/self/status": "CapEff:\t0000000000000000\n"}),
			runs: func(f map[string]string) { kubeletProcess(f, 17, "/usr/bin/kubelet") },
			want: "ok    kubelets         kubelet (pid 17)\n" +
				"warn  kubelet 17       kubelet, node node-17, runtime /run/containerd/containerd.sock; DOUBT\n                       -> run podstep doctor as root: it sees more\n" +
				noWoven +
				"warn  cri 17           not possible now: it takes root, and this is uid 7\n                       -> run it with sudo\n" +
				"warn  delve            not possible now: it takes root, and this is uid 7\n                       -> run it with sudo\n" +
				"warn  uprobe           not possible now: it takes root, and this is uid 7\n                       -> run it with sudo\n" +
				"warn  log              podstep attach cannot follow it: kubelet 17's log is in no place that podstep knows\n" + arrow,
		},
		{
			name: "an old machine in a container", files: map[string]string{
				"proc/self/status":                  "CapEff:\t0000000000000002\n", // CAP_DAC_OVERRIDE
				"proc/sys/kernel/osrelease":         "5.5.19\n",
				"proc/sys/kernel/yama/ptrace_scope": "3\n",
			},
			runs: func(f map[string]string) { kubeletProcess(f, 17, "/usr/bin/kubelet") },
			want: "ok    kubelets         kubelet (pid 17)\n" +
				"warn  kubelet 17       kubelet, node node-17, runtime /run/containerd/containerd.sock; DOUBT\n                       -> podstep attach would use these\n" +
				noWoven +
				"warn  cri 17           not possible now: this root lacks CAP_SYS_PTRACE; this kernel cannot pass sockets of one process to another, which takes Linux 5.6; " +
				"kernel.yama.ptrace_scope is 3, so nobody may look into other processes\n" +
				"                       -> run podstep on the node itself, or in a container that is privileged and shares its processes\n" +
				"warn  delve            not possible now: this root lacks CAP_SYS_PTRACE; kernel.yama.ptrace_scope is 3, so nobody may look into other processes\n                       -> run podstep on the node itself, or in a container that is privileged and shares its processes\n" +
				"warn  uprobe 17        not possible now: Linux 5.5 is older than 5.15, from which on an eBPF program knows at which place it runs; the kernel has no uprobes (CONFIG_UPROBE_EVENTS); podstep lacks CAP_BPF and CAP_PERFMON and CAP_SYS_PTRACE\n" +
				"                       -> use a newer kernel, unless this one's distribution has added that; podstep attach --probe cri,api,kubelet sees the calls to the runtime and what is reported; podstep-kubelet sees every step\n" +
				"warn  log              podstep attach cannot follow it: kubelet 17's log is in no place that podstep knows\n" + arrow,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.runs(c.files)
			m := newMachine(t, c.uid, c.files)
			found, err := m.findKubelets(t.Context())
			checks := append(m.kubeletChecks(found, err), m.probeChecks(t.Context(), found)...)
			var out strings.Builder
			Print(&out, Lines(words.English, checks))
			want := c.want
			for _, k := range found {
				doubt := strings.ReplaceAll(inNone, "PROC", filepath.Join(m.root, "proc", fmt.Sprint(k.PID)))
				want = strings.Replace(want, "DOUBT", doubt, 1)
				want = strings.Replace(want, "PROC", filepath.Join(m.root, "proc", fmt.Sprint(k.PID)), 1)
			}
			if out.String() != want {
				t.Errorf("doctor says\n%s\nwant\n%s", &out, want)
			}
		})
	}
}

const (
	arrow   = "                       -> podstep replay FILE shows the story of a log; pass the log to it as a file\n"
	noWoven = "warn  woven            no woven kubelet runs here\n                       -> run podstep-kubelet in place of the kubelet to see every step, or podstep lab to try it\n"
)

// TestWovenReach: nothing can attach to a woven kubelet.
func TestWovenReach(t *testing.T) {
	m := newMachine(t, 0, map[string]string{"proc/self/status": "CapEff:\t" + allCapabilities + "\n"})
	found := []kubelets.Kubelet{{PID: 7, Kind: kubelets.KindPlain, Version: "v1.36.3", Woven: true, Log: "/var/log/kubelet.log"}, {PID: 8, Doubt: "odd"}}
	if got := attachable(found); len(got) != 0 {
		t.Errorf("attachable are %+v", got)
	}
	var out strings.Builder
	Print(&out, Lines(words.English, append(m.kubeletChecks(found[:1], nil), m.probeChecks(t.Context(), found[:1])...)))
	for _, want := range []string{
		"ok    kubelets         podstep-kubelet (pid 7)\nok    kubelet 7        kubelet v1.36.3, woven\n",
		"ok    woven            kubelet 7 is woven: its own agent sees every step\n",
		"ok    cri 7            not needed: the woven kubelet's own agent sees these calls too\n",
		"kubelet 7's log is in /var/log/kubelet.log\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("doctor says\n%s, and not\n%s", &out, want)
		}
	}
}

// TestTaken: the processes that serve the path and the name beside it tell whether a podstep is
// attached, stands still, or has left something behind.
func TestTaken(t *testing.T) {
	const path = "/run/containerd/containerd.sock"
	const nobody = -1
	for _, c := range []struct {
		name       string
		on, behind int
		state      string
		want       string
		attachable bool
	}{
		{"attached", 42, 7, "S", "ok podstep is attached now: process 42 has", true},
		{"attached, out of sight", 0, 0, "", "ok a podstep is attached now", true},
		{"stopped", 42, 7, "T", "fail podstep is attached now, and its process 42 is stopped: no call of the kubelet comes to the runtime -> kill -CONT 42 lets it go on; kill -9 42", false},
		{"left behind", nobody, 7, "", "fail nobody answers the kubelet: a podstep that was attached has ended and left the runtime's socket behind as " + path + ".podstep -> podstep restore mends it; so does a new podstep attach", false},
		{"left behind by both", nobody, nobody, "", "fail nobody answers", false},
		{"left beside the runtime's", 7, 7, "", "warn possible, and the runtime answers the kubelet", false},
		{"left, and the runtime is another one", 7, nobody, "", "warn possible, and the runtime answers the kubelet", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := map[string]string{
				"proc/self/status":                  "CapEff:\t" + allCapabilities + "\n",
				"proc/17/root" + path + ".podstep":  "",
				"proc/sys/kernel/yama/ptrace_scope": "1\n",
				"proc/42/stat":                      "42 (pod) step) " + c.state + " 1 1\n",
			}
			kubeletProcess(files, 17, "/usr/bin/kubelet")
			m := newMachine(t, 0, files)
			m.server = func(_ *kubelets.Kubelet, _ context.Context, socket string) (int, error) {
				pid := c.on
				if socket == path+".podstep" {
					pid = c.behind
				}
				if pid == nobody {
					return 0, fmt.Errorf("connect: %w", unix.ECONNREFUSED)
				}
				return pid, nil
			}
			found, err := m.findKubelets(t.Context())
			if err != nil || len(found) != 1 {
				t.Fatalf("found %+v, %v", found, err)
			}
			found[0].Doubt = ""
			ways := m.probeChecks(t.Context(), found)
			got := ways[1].Status + " " + ways[1].Text.En + " -> " + ways[1].Todo.En
			if !strings.HasPrefix(got, c.want) {
				t.Errorf("doctor says %s, want %s", got, c.want)
			}
			if got := isAttachable(found, ways); got != c.attachable {
				t.Errorf("it can be attached to, or is: %v", got)
			}
			if todo := forAgent(found, ways); ways[1].Status == "fail" && todo != ways[1].Todo {
				t.Errorf("what leads to an agent: %s", todo)
			}
		})
	}
}

// TestSimulatedLabs: the kubelet of a simulated lab is woven, and is not one of this machine's
// kubelets. Other parts of labs are neither.
func TestSimulatedLabs(t *testing.T) {
	m := newMachine(t, 0, map[string]string{
		"proc/20/cmdline": "podstep-lab\x00component\x00--cgroup\x00lab-1\x00kubelet\x00--\x00--v=2\x00",
		"proc/21/cmdline": "podstep-lab\x00component\x00kubelet\x00--\x00",
		"proc/22/cmdline": "podstep-lab\x00component\x00etcd\x00--\x00kubelet\x00",
		"proc/23/cmdline": "vi\x00component\x00kubelet\x00--\x00",
	})
	if c := m.wovenProbe(nil); c.Status != "ok" || !strings.Contains(c.Text.En, "(pid 20, pid 21)") {
		t.Errorf("doctor says %+v", c)
	}
}

// TestNoAgentTodo: if podstep can attach to a kubelet here, doctor advises that, and no agent
// is needed yet.
func TestNoAgentTodo(t *testing.T) {
	absent := &client.Error{Kind: client.NoAgent, Text: probes.Text{En: "no agent"}}
	denied := &client.Error{Kind: client.Denied, Text: probes.Text{En: "not yours"}}
	for want, found := range map[string][]kubelets.Kubelet{
		"podstep attach":  {{PID: 7}},
		"podstep-kubelet": {{PID: 7, Woven: true}, {PID: 8, Doubt: "odd"}},
	} {
		for _, status := range []string{"ok", "warn"} {
			ways := []Check{{Name: "cri", Pid: 7, Status: status}, {Name: "cri", Pid: 8, Status: status}}
			m := Machine{ForAgent: forAgent(found, ways), Attachable: isAttachable(found, ways)}
			need := "fail"
			if status == "ok" && want == "podstep attach" {
				need = "warn"
			}
			if c := NoAgent(absent, m); c.Status != need || !strings.Contains(c.Todo.En, want) {
				t.Errorf("%s: %s, which does not name %s", c.Status, c.Todo.En, want)
			}
			if c := NoAgent(denied, m); c.Status != "fail" {
				t.Errorf("an agent of somebody else's is %s", c.Status)
			}
		}
	}
}
