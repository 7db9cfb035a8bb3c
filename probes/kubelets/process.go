package kubelets

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/podstep/podstep/probes"
)

// process is an entry of the process table.
type process struct {
	proc, dir string
	pid       int
	parent    int
	started   uint64
	threads   int
	comm      string
	args      []string
	// exe is the program's path, "" if we may not see it.
	exe string
	// withoutKubelet: the program could have a kubelet inside, but a flag disables it.
	withoutKubelet bool
}

// maxArgs is more than the command line of any kubelet.
const maxArgs = 256 << 10

// maxStat bounds what is read of a process's stat, in bytes.
const maxStat = 4 << 10

// readProcess reads what everybody may read of a process, and its executable's
// path where that may be seen.
func readProcess(proc string, pid int) (*process, error) {
	p := &process{proc: proc, dir: filepath.Join(proc, strconv.Itoa(pid)), pid: pid}
	args, err := readBounded(filepath.Join(p.dir, "cmdline"), maxArgs)
	if err != nil {
		return nil, err
	}
	p.args = splitArgs(args)
	stat, err := readBounded(filepath.Join(p.dir, "stat"), maxStat)
	if err != nil {
		return nil, err
	}
	if err := p.readStat(string(stat)); err != nil {
		return nil, err
	}
	if exe, err := os.Readlink(filepath.Join(p.dir, "exe")); err == nil {
		p.exe = strings.TrimSuffix(exe, " (deleted)")
	}
	return p, nil
}

// splitArgs takes a command line apart. A process that writes over its own, as
// k3s does to hide secrets, leaves all words in the first argument.
func splitArgs(b []byte) []string {
	b = bytes.TrimRight(b, "\x00")
	if len(b) == 0 {
		return nil
	}
	args := strings.Split(string(b), "\x00")
	if len(args) == 1 && strings.Contains(args[0], " ") {
		return strings.Fields(args[0])
	}
	return args
}

var (
	errStat  = errors.New("its stat is not what the kernel writes")
	errEnded = errors.New("it has ended, and its parent has not taken note of that (a zombie)")
)

// readStat reads /proc/PID/stat. The name in it may have brackets and spaces of
// its own, so the last bracket counts.
func (p *process) readStat(s string) error {
	from, to := strings.IndexByte(s, '('), strings.LastIndexByte(s, ')')
	if from < 0 || to < from {
		return errStat
	}
	p.comm = s[from+1 : to]
	fields := strings.Fields(s[to+1:])
	// The first of these is the third of the file.
	const state, parent, threads, started = 0, 1, 17, 19
	if len(fields) <= started {
		return errStat
	}
	if fields[state] == "Z" {
		return errEnded
	}
	var errs [3]error
	p.parent, errs[0] = strconv.Atoi(fields[parent])
	p.threads, errs[1] = strconv.Atoi(fields[threads])
	p.started, errs[2] = strconv.ParseUint(fields[started], 10, 64)
	if err := errors.Join(errs[:]...); err != nil {
		return errStat
	}
	return nil
}

// lives reports whether the process is still there.
func (p *process) lives() bool {
	now, err := readProcess(p.proc, p.pid)
	return err == nil && now.started == p.started
}

func (p *process) root() string { return filepath.Join(p.dir, "root") }

// name returns the name of the program: the executable's if we may see it, else that of the command line or the
// kernel.
func (p *process) name() string {
	switch {
	case p.exe != "":
		return filepath.Base(p.exe)
	case len(p.args) > 0:
		return filepath.Base(p.args[0])
	}
	return p.comm
}

// called returns the name that the program was called by, which may be a symbolic link's.
func (p *process) called() string {
	if len(p.args) == 0 {
		return ""
	}
	return filepath.Base(p.args[0])
}

// program opens the process's executable; we may not be allowed to.
func (p *process) program() (f *os.File, size int64, err error) {
	f, err = os.Open(filepath.Join(p.dir, "exe"))
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err != nil {
		_ = f.Close()
		return nil, 0, err
	}
	return f, info.Size(), nil
}

// syncLoop is a function of every kubelet.
const syncLoop = "k8s.io/kubernetes/pkg/kubelet.(*Kubelet).syncLoop"

// containsKubelet reports whether the program was built to be a kubelet, or has one inside beside other things, as a
// distribution's single program. To find the latter takes a moment, as all functions of the program are read.
func (p *process) containsKubelet() bool {
	f, size, err := p.program()
	if err != nil {
		return false
	}
	defer f.Close()
	b, err := probes.ReadBuild(f, size)
	if err != nil || b.Kubelet || !b.Kubernetes {
		return err == nil && b.Kubelet
	}
	all, err := probes.ReadBinary(filepath.Join(p.dir, "exe"))
	if err != nil {
		return false
	}
	_, ok := all.Code(syncLoop)
	return ok
}

// link returns where a link of the process leads, "" if we may not see it.
func (p *process) link(name string) string {
	to, err := os.Readlink(filepath.Join(p.dir, name))
	if err != nil {
		return ""
	}
	return to
}

// abs makes a path of the process one from its root.
func (p *process) abs(path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	if cwd := p.link("cwd"); cwd != "" {
		return filepath.Join(cwd, path)
	}
	return path
}

// readBounded reads a small file. More than limit is an error: half a file
// could say the opposite of the whole.
func readBounded(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAll(f, limit)
}

func readAll(r io.Reader, limit int64) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(b)) > limit {
		err = fmt.Errorf("longer than %d bytes", limit)
	}
	if err != nil {
		return nil, err
	}
	return b, nil
}
