// Package kubelets finds the kubelets that run on this machine, and what a person should know of each before
// attaching to it: which program and version it is, over which socket it speaks to its runtime, where it serves,
// what its node is called.
//
// It looks at the process table, at flags and configuration files as the kubelet itself sees them, and at the
// sockets that it really has open. It runs nothing and changes nothing. Everything that it reads was written by
// others: reads are bounded, and names are resolved inside of the kubelet's own view of files. Kubelet.Problems
// says what could not be found out.
package kubelets

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strconv"

	"golang.org/x/sys/unix"
)

// Kinds of kubelets: the program or distribution that one is a part of.
const (
	KindPlain    = "kubelet"
	KindK3s      = "k3s"
	KindRKE2     = "rke2"
	KindK0s      = "k0s"
	KindKind     = "kind"
	KindMinikube = "minikube"
	KindMicroK8s = "microk8s"
)

// Kubelet is a running kubelet. Paths are in its own view of files, which
// begins at Root.
type Kubelet struct {
	PID int
	// Started is when the process started, in the kernel's ticks since the machine's start. It tells the process
	// from a later one with its PID.
	Started uint64
	// Program is the path of its executable, "" if that may not be seen.
	Program string
	Kind    string
	// Version is like v1.36.3, "" if it is not known.
	Version string
	// Node is the node's name, "" if it is not known.
	Node string
	// RuntimeEndpoint and ImageEndpoint are paths of sockets. They are the same unless the settings differ. ""
	// means that it is no unix socket.
	RuntimeEndpoint, ImageEndpoint string
	// NoEndpoint is why RuntimeEndpoint is "", as far as that is known.
	NoEndpoint string
	// Connected are the sockets that it has connections to, by the names that
	// their servers gave them; nil if that may not be seen.
	Connected []string
	// Kubeconfig, Config and ConfigDir are the files it was started with, or "".
	Kubeconfig, Config, ConfigDir string
	RootDir                       string
	// StaticPods is the directory or file of its static pods, "" if it has none.
	StaticPods string
	// CgroupRoot is the cgroup below which it puts pods. Cgroup is the one that it is in itself.
	CgroupRoot, Cgroup string
	// Address, Port and ReadOnlyPort are where it serves /pods and /configz; a
	// port of 0 is switched off.
	Address            string
	Port, ReadOnlyPort int
	// Root is its view of files, as we see it: /proc/PID/root.
	Root string
	// OwnNetwork: it is not in our network, as in a kind node; its address means
	// nothing here.
	OwnNetwork bool
	// Log is where its standard error goes: a file's path, "journal", "pipe" or
	// "".
	Log string
	// Flags are those of its command line, without dashes, each with its last value.
	Flags map[string]string
	// Woven: it is a podstep-kubelet, whose own agent sees more.
	Woven bool
	// Doubt is why it may be no kubelet at all, in spite of its name.
	Doubt string
	// Problems are what could not be found out, and why.
	Problems []string
}

func (k *Kubelet) problem(format string, args ...any) {
	k.Problems = append(k.Problems, fmt.Sprintf(format, args...))
}

// Options state where to look.
type Options struct {
	// Proc is where the process table is: "/proc" if empty. In another one, of
	// another machine say, connections cannot be seen.
	Proc string
}

func (o Options) proc() string {
	if o.Proc == "" {
		return "/proc"
	}
	return o.Proc
}

// Find finds all kubelets that run on this machine, by PID. Those that end
// meanwhile are left out.
func Find(ctx context.Context, o Options) ([]Kubelet, error) {
	entries, err := os.ReadDir(o.proc())
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	var candidates []*process
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("find kubelets: %w", err)
		}
		if p, err := readProcess(o.proc(), pid); err == nil && p.hasKubelet() {
			candidates = append(candidates, p)
		}
	}
	return describeAll(ctx, withoutShadows(candidates))
}

func describeAll(ctx context.Context, found []*process) ([]Kubelet, error) {
	var all []Kubelet
	for _, p := range found {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("find kubelets: %w", err)
		}
		if k := describe(p); p.lives() && !p.withoutKubelet {
			all = append(all, *k)
		}
	}
	sort.Slice(all, func(i, j int) bool { return all[i].PID < all[j].PID })
	return all, nil
}

// ByPID describes one kubelet. It fails for a process that neither its name nor its program shows to be one.
func ByPID(_ context.Context, pid int, o Options) (Kubelet, error) {
	p, err := readProcess(o.proc(), pid)
	if errors.Is(err, fs.ErrNotExist) {
		return Kubelet{}, fmt.Errorf("no process %d runs here: podstep doctor lists the kubelets that do", pid)
	}
	if errors.Is(err, errEnded) {
		return Kubelet{}, fmt.Errorf("find kubelet %d: %w: podstep doctor lists the kubelets that run", pid, err)
	}
	if err != nil {
		return Kubelet{}, fmt.Errorf("read process %d: %w", pid, err)
	}
	if !p.hasKubelet() && !p.containsKubelet() {
		return Kubelet{}, fmt.Errorf("process %d (%s) is no kubelet: podstep doctor lists those that run here", pid, p.name())
	}
	k := describe(p)
	if p.withoutKubelet {
		return Kubelet{}, fmt.Errorf("process %d (%s) runs without a kubelet", pid, p.name())
	}
	return *k, nil
}

// Is reports quickly whether a process is a kubelet: by its name and, where that leaves doubts, by its program. A
// kubelet that a person named by its PID may have any name. If program is such a kubelet's file, another process with a
// program of that name and a kubelet inside is one, too. program may be empty.
func Is(pid int, program string) bool {
	p, err := readProcess("/proc", pid)
	return err == nil && (p.hasKubelet() || p.hasProgram(program))
}

// hasProgram reports whether the process runs a kubelet's program of that name.
func (p *process) hasProgram(program string) bool {
	return program != "" && filepath.Base(p.exe) == filepath.Base(program) && p.containsKubelet()
}

// Same reports whether a kubelet's process is still there, and its PID is not another one's.
func (k *Kubelet) Same() bool { return same(filepath.Dir(filepath.Dir(k.Root)), k.PID, k.Started) }

// Same is Kubelet.Same for a process that has its PID on this machine. started is when it was started, as in
// Kubelet.Started.
func Same(pid int, started uint64) bool { return same("/proc", pid, started) }

// Started returns when a process of this machine was started, as in Kubelet.Started.
func Started(pid int) (uint64, error) {
	p, err := readProcess("/proc", pid)
	if err != nil {
		return 0, err
	}
	return p.started, nil
}

func same(proc string, pid int, started uint64) bool {
	p, err := readProcess(proc, pid)
	return err == nil && p.started == started
}

// State returns the state of a process as the kernel writes it, such as 'T' for one that is stopped; 0 if there is
// no such process.
func State(pid int) byte {
	stat, err := readBounded(fmt.Sprintf("/proc/%d/stat", pid), maxStat)
	if err != nil {
		return 0
	}
	rest := stat[bytes.LastIndexByte(stat, ')')+1:] // the name may have brackets
	if len(rest) < 2 {
		return 0
	}
	return rest[1]
}

// InRoot returns where a path of the kubelet's is for us. It is for people to read: absolute symbolic links in it
// lead astray, so open files with Open.
func (k *Kubelet) InRoot(path string) string { return filepath.Join(k.Root, path) }

// Open opens a regular file as the kubelet sees it: symbolic links stay inside
// of its view. Close it.
func (k *Kubelet) Open(path string) (*os.File, error) { return openIn(k.Root, path) }

// ReadDir returns the entries of a directory as the kubelet sees it, but not all of a large one.
func (k *Kubelet) ReadDir(path string) ([]fs.DirEntry, error) { return names(k.Root, path) }

// Disk returns how full a file system is, as the kubelet sees it.
func (k *Kubelet) Disk(path string) (unix.Statfs_t, error) {
	var st unix.Statfs_t
	f, err := resolve(k.Root, path, unix.O_PATH)
	if err != nil {
		return st, err
	}
	defer f.Close()
	return st, unix.Fstatfs(int(f.Fd()), &st)
}
