package labtest

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/podstep/podstep/agent/peer"
)

// Socket has what can be seen of the runtime's socket.
type Socket struct {
	Inode      uint64
	Mode       os.FileMode
	UID, GID   uint32
	Server     int    // the process that accepts connections
	ServerName string // its program
}

// Socket looks at the runtime's socket. It fails while no process serves it.
func (l *Lab) Socket() (Socket, error) {
	info, err := os.Lstat(l.State.CRI)
	if err != nil {
		return Socket{}, err
	}
	var st unix.Stat_t
	if err := unix.Lstat(l.State.CRI, &st); err != nil {
		return Socket{}, err
	}
	s := Socket{Inode: st.Ino, Mode: info.Mode(), UID: st.Uid, GID: st.Gid}
	s.Server, err = serverOf(l.State.CRI)
	if err == nil {
		s.ServerName = programOf(s.Server)
	}
	return s, err
}

// serverOf returns the process that made a socket listen.
func serverOf(path string) (pid int, err error) {
	c, err := net.Dial("unix", path)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	server, err := peer.Of(c)
	if err != nil {
		return 0, err
	}
	return int(server.Pid), nil
}

func programOf(pid int) string {
	exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil {
		return ""
	}
	return filepath.Base(exe)
}

// AttachTraces returns the files and processes of a podstep attach to the lab's kubelet, one a line. None is left
// when it has ended.
func (l *Lab) AttachTraces() (all []string) {
	dir := filepath.Dir(l.State.CRI)
	names, _ := filepath.Glob(filepath.Join(dir, "*.podstep"))
	all = append(all, names...)
	states, _ := filepath.Glob("/run/podstep/attach/*.json")
	for _, file := range states {
		if text, err := os.ReadFile(file); err == nil && bytes.Contains(text, []byte(l.State.CRI)) {
			all = append(all, file)
		}
	}
	// A relay process and its guard have the socket's directory open.
	for _, what := range []string{"relay", "guard"} {
		for _, pid := range processes(func(p process) bool { return p.is(what) && p.opened(dir) }) {
			all = append(all, fmt.Sprintf("%s, process %d", what, pid))
		}
	}
	return all
}

// process is a process of the machine.
type process struct {
	pid, parent int
	args        []string
}

// is reports whether the process is one of podstep attach's own: what is its argument, such as relay.
func (p process) is(what string) bool { return len(p.args) == 2 && p.args[1] == what }

// Parent returns the pid of a process's parent; 0: the process has ended.
func Parent(pid int) int {
	p, err := readProcess(fmt.Sprintf("/proc/%d", pid))
	if err != nil {
		return 0
	}
	return p.parent
}

// opened reports whether the process has a file open.
func (p process) opened(path string) bool {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", p.pid))
	return slices.ContainsFunc(files, func(fd string) bool {
		to, err := os.Readlink(fd)
		return err == nil && to == path
	})
}

// processes returns the pids of the processes for which are returns true. Processes may come and go meanwhile.
func processes(are func(process) bool) (pids []int) {
	entries, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range entries {
		p, err := readProcess(dir)
		if err == nil && are(p) {
			pids = append(pids, p.pid)
		}
	}
	return pids
}

func readProcess(dir string) (p process, err error) {
	if p.pid, err = strconv.Atoi(filepath.Base(dir)); err != nil {
		return p, err
	}
	args, err := os.ReadFile(filepath.Join(dir, "cmdline"))
	if err != nil {
		return p, err
	}
	p.args = strings.Split(strings.TrimRight(string(args), "\x00"), "\x00")
	stat, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return p, err
	}
	// The name in parentheses may have any characters.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 2 {
		return p, fmt.Errorf("read %s/stat: %q", dir, stat)
	}
	p.parent, err = strconv.Atoi(fields[1])
	return p, err
}
