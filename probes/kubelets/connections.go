package kubelets

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// aside is the end of the name that a runtime's socket has while a podstep has its place.
const aside = ".podstep"

// connections compares the kubelet's settings with its open connections. Where they differ, the connections count.
func (k *Kubelet) connections(p *process) {
	if p.proc != "/proc" {
		return // its pids are not ours
	}
	sockets, err := peers(p.pid)
	if err != nil {
		k.problem("its connections cannot be seen: %v", err)
		return
	}
	k.Connected, k.Log = sockets.names, p.log(sockets)
	k.confirm()
}

// confirm looks for the runtime's socket among those that the kubelet is
// connected to.
func (k *Kubelet) confirm() {
	if k.RuntimeEndpoint == "" || k.Aside() != "" {
		return // while podstep is there, the names are its own
	}
	if slices.ContainsFunc(k.Connected, func(name string) bool { return k.SameSocket(name, k.RuntimeEndpoint) }) {
		return
	}
	runtimes := slices.DeleteFunc(slices.Clone(k.Connected), func(name string) bool { return !looksLikeRuntime(name) })
	if len(runtimes) == 0 {
		k.problem("it is not connected to its runtime at %s now", k.RuntimeEndpoint)
		return
	}
	// A socket keeps the name that it was made with, whatever it is called now.
	there := slices.DeleteFunc(slices.Clone(runtimes), func(name string) bool { return !exists(k.Root, name) })
	if len(there) == 0 {
		k.problem("it is connected to %s, and no socket is called so now: its runtime is taken to be at %s", strings.Join(runtimes, ", "), k.RuntimeEndpoint)
		return
	}
	runtimes = there
	k.problem("its flags and files name the runtime %s, but it is connected to %s", k.RuntimeEndpoint, strings.Join(runtimes, ", "))
	if len(runtimes) == 1 {
		if k.ImageEndpoint == k.RuntimeEndpoint {
			k.ImageEndpoint = runtimes[0]
		}
		k.RuntimeEndpoint = runtimes[0]
	}
}

// SameSocket reports whether two names are one socket: /var/run/containerd is
// /run/containerd on most machines.
func (k *Kubelet) SameSocket(a, b string) bool {
	if a == b {
		return true
	}
	one, err := statIn(k.Root, a)
	if err != nil {
		return false
	}
	other, err := statIn(k.Root, b)
	return err == nil && os.SameFile(one, other)
}

// looksLikeRuntime reports whether a socket has a name that container runtimes give theirs.
func looksLikeRuntime(name string) bool {
	base := path.Base(name)
	for _, word := range []string{"containerd", "crio", "cri-o", "cri-dockerd", "dockershim", "isulad", "simcri"} {
		if strings.HasPrefix(base, word) {
			return true
		}
	}
	return base == "cri.sock"
}

// Aside returns the path of the runtime's own socket while a podstep has its place, or after a podstep that did not
// clean up; "" if there is none.
func (k *Kubelet) Aside() string {
	if k.RuntimeEndpoint == "" {
		return ""
	}
	names := []string{k.RuntimeEndpoint}
	// Where the name is a symbolic link, the socket was put aside in the place that the link leads to.
	if to, err := k.follow(k.RuntimeEndpoint); err == nil {
		names = append(names, to)
	}
	for _, name := range names {
		if exists(k.Root, name+aside) {
			return name + aside
		}
	}
	return ""
}

// follow reads one symbolic link below the kubelet's root.
func (k *Kubelet) follow(name string) (string, error) {
	f, err := resolve(k.Root, name, unix.O_PATH|unix.O_NOFOLLOW)
	if err != nil {
		return "", err
	}
	defer f.Close()
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(int(f.Fd()), "", buf)
	if err != nil {
		return "", fmt.Errorf("read link %s: %w", name, err)
	}
	to := string(buf[:n])
	if !path.IsAbs(to) {
		to = path.Join(path.Dir(name), to)
	}
	return to, nil
}

// sockets are the unix sockets that a process is connected to.
type sockets struct {
	// names are the names of their servers, each once, in order.
	names []string
	// stderr is the name behind its standard error.
	stderr string
}

// maxDescriptors is more than kubelets have open.
const maxDescriptors = 1 << 16

// peers lists the servers that a process's sockets are connected to. For that the kernel copies the sockets to us
// for a moment: it shows their other ends only to a process that has them. The process does not notice.
func peers(pid int) (sockets, error) {
	var s sockets
	process, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return s, cannot(err)
	}
	defer unix.Close(process)
	dir := filepath.Join("/proc", strconv.Itoa(pid), "fd")
	entries, err := os.ReadDir(dir)
	if err != nil {
		return s, cannot(err)
	}
	for _, e := range entries[:min(len(entries), maxDescriptors)] {
		fd, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if to, err := os.Readlink(filepath.Join(dir, e.Name())); err != nil || !strings.HasPrefix(to, "socket:") {
			continue
		}
		name, err := peer(process, fd)
		if err != nil {
			return s, cannot(err)
		}
		if fd == 2 {
			s.stderr = name
		}
		if name != "" && !slices.Contains(s.names, name) {
			s.names = append(s.names, name)
		}
	}
	slices.Sort(s.names)
	return s, nil
}

// peer returns the name of the server that a process's socket is connected to; "" if it has none, or the socket is
// gone, or of another kind.
func peer(process, fd int) (string, error) {
	own, err := unix.PidfdGetfd(process, fd, 0)
	if errors.Is(err, unix.EBADF) || errors.Is(err, unix.ESRCH) {
		return "", nil // closed meanwhile
	}
	if err != nil {
		return "", err
	}
	defer unix.Close(own)
	address, err := unix.Getpeername(own)
	if err != nil {
		return "", nil // not connected, or closed by the other end
	}
	if a, ok := address.(*unix.SockaddrUnix); ok {
		return a.Name, nil
	}
	return "", nil
}

func cannot(err error) error {
	switch {
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES):
		return errors.New("that takes root, or the capability CAP_SYS_PTRACE")
	case errors.Is(err, unix.ENOSYS):
		return errors.New("that takes Linux 5.6")
	}
	return err
}

// log returns where the process's standard error goes.
func (p *process) log(s sockets) string {
	switch to := p.link("fd/2"); {
	case strings.HasPrefix(s.stderr, "/run/systemd/journal/"):
		return "journal"
	case strings.HasPrefix(to, "pipe:"):
		return "pipe"
	case strings.HasPrefix(to, "/") && !strings.HasPrefix(to, "/dev/"):
		return to
	}
	return ""
}
