package gather

import (
	"bytes"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/probes/words"
)

// cgroupMounts are the places of cgroup hierarchies: the unified one, and the older ones that
// count a pod's memory and processes.
var cgroupMounts = []string{"/sys/fs/cgroup", "/sys/fs/cgroup/memory", "/sys/fs/cgroup/pids", "/sys/fs/cgroup/systemd"}

// cgroup looks for the pod's cgroup, and for what is in it.
func (m *machine) cgroup() {
	var out *evidence.Cgroup
	var pids []int
	for _, mount := range cgroupMounts {
		for _, name := range cgroupNames(m.k.CgroupRoot, m.of.Kubelet.UID) {
			dir := filepath.Join(m.k.Root, mount, name)
			if info, err := os.Stat(dir); err != nil || !info.IsDir() {
				continue
			}
			ids, kills := readCgroup(dir)
			if out == nil {
				out, pids = &evidence.Cgroup{Path: message(path.Join(mount, name))}, ids
			}
			out.Processes, out.OOMKills = max(out.Processes, len(ids)), max(out.OOMKills, kills)
			if len(ids) > len(pids) {
				pids = ids
			}
		}
	}
	stuck := stuckOf(pids)
	m.saw("cgroup", nil, func(s *evidence.Machine) { s.Cgroup, s.Stuck = out, stuck })
}

// cgroupNames returns the names that a pod's cgroup may have, for either of the kubelet's
// drivers, and each class of pods.
func cgroupNames(root, uid string) (out []string) {
	plain := strings.ReplaceAll(uid, "-", "_")
	for _, class := range []string{"", "burstable", "besteffort"} {
		out = append(out, path.Join("/", root, "kubepods", class, "pod"+uid))
		slice, pod := "kubepods.slice", "kubepods-pod"+plain+".slice"
		if class != "" {
			slice, pod = "kubepods.slice/kubepods-"+class+".slice", "kubepods-"+class+"-pod"+plain+".slice"
		}
		above := ""
		if base := strings.Trim(root, "/"); base != "" {
			above = path.Join("/", slicePath(base))
			prefix := strings.ReplaceAll(base, "/", "-") + "-"
			slice, pod = prefixed(slice, prefix), prefix+pod
		}
		out = append(out, path.Join("/", above, slice, pod))
	}
	return out
}

// slicePath returns where systemd has a slice: a-b.slice is in a.slice.
func slicePath(base string) string {
	out, name := "", ""
	for _, part := range strings.Split(base, "/") {
		name = strings.Trim(name+"-"+part, "-")
		out = path.Join(out, name+".slice")
	}
	return out
}

func prefixed(slices, prefix string) string {
	parts := strings.Split(slices, "/")
	for i := range parts {
		parts[i] = prefix + parts[i]
	}
	return strings.Join(parts, "/")
}

const (
	// maxCgroups bounds how many cgroups below a pod's are looked at, maxProcesses how many
	// processes, and maxStuck how many stuck processes are kept.
	maxCgroups   = 200
	maxProcesses = 5000
	maxStuck     = 20
)

// readCgroup returns the processes in a cgroup and those below, and how many of them the kernel
// killed for want of memory.
func readCgroup(dir string) (pids []int, kills int) {
	seen, below := 0, 0
	_ = filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil // it is gone by now
		case !d.IsDir():
			return nil
		}
		if seen++; seen > maxCgroups {
			return fs.SkipAll
		}
		pids = append(pids, processesOf(readFile(filepath.Join(name, "cgroup.procs")))...)
		n := max(counter(readFile(filepath.Join(name, "memory.events")), "oom_kill"), counter(readFile(filepath.Join(name, "memory.oom_control")), "oom_kill"))
		if name == dir {
			kills = n
		} else {
			below += n
		}
		return nil
	})
	// A counter of the unified hierarchy includes all cgroups below, one of the older
	// hierarchies only its own.
	return pids[:min(len(pids), maxProcesses)], max(kills, below)
}

// maxCounters bounds the part of a file of the kernel's that is read, in bytes.
const maxCounters = 1 << 20

func readFile(name string) []byte {
	f, err := os.Open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	b := make([]byte, 0, 4<<10)
	for len(b) < maxCounters {
		if len(b) == cap(b) {
			b = append(b, 0)[:len(b)]
		}
		n, err := f.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		if err != nil || n == 0 {
			break
		}
	}
	return b
}

// processesOf reads numbers, one a line.
func processesOf(text []byte) (out []int) {
	for line := range bytes.Lines(text) {
		if pid, err := strconv.Atoi(strings.TrimSpace(string(line))); err == nil && pid > 0 {
			out = append(out, pid)
		}
	}
	return out
}

// counter reads one of several named numbers, one a line.
func counter(text []byte, name string) int {
	for line := range bytes.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(string(line)), " ")
		if n, err := strconv.Atoi(value); err == nil && key == name {
			return n
		}
	}
	return 0
}

// stuckFor is for how long a process must wait in the kernel to count as stuck: a process that
// reads a disk waits for a moment, too.
const stuckFor = 100 * time.Millisecond

// stuckOf returns the processes that wait in the kernel where they cannot be killed, now and a
// moment later.
func stuckOf(pids []int) (out []evidence.Process) {
	var first []int
	for _, pid := range pids {
		if p, ok := processOf(pid); ok && p.State == "D" {
			first = append(first, pid)
		}
	}
	if len(first) == 0 {
		return nil
	}
	time.Sleep(stuckFor)
	for _, pid := range first[:min(len(first), maxStuck)] {
		if p, ok := processOf(pid); ok && p.State == "D" {
			p.Wchan = message(strings.TrimSpace(string(readFile("/proc/" + strconv.Itoa(pid) + "/wchan"))))
			out = append(out, p)
		}
	}
	return out
}

func processOf(pid int) (evidence.Process, bool) {
	return parseStat(string(readFile("/proc/" + strconv.Itoa(pid) + "/stat")))
}

// parseStat reads the line that the kernel has about a process: "7 (name) S 1 ...". The name
// may have parentheses.
func parseStat(text string) (p evidence.Process, ok bool) {
	i, j := strings.IndexByte(text, '('), strings.LastIndexByte(text, ')')
	if i < 1 || j < i {
		return p, false
	}
	rest := strings.Fields(text[j+1:])
	pid, err := strconv.Atoi(strings.TrimSpace(text[:i]))
	if err != nil || len(rest) < 2 || len(rest[0]) != 1 {
		return p, false
	}
	parent, err := strconv.Atoi(rest[1])
	return evidence.Process{PID: pid, Name: words.OneLine(text[i+1 : j]), State: words.Clean(rest[0]), Parent: parent}, err == nil
}
