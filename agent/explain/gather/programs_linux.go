package gather

import (
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"

	"github.com/podstep/podstep/agent/explain/evidence"
)

// cpuMounts are the places of the older cgroup hierarchies that limit CPUs. The unified one is in cgroupMounts.
var cpuMounts = []string{"/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"}

// programs looks at the processes of the pod's containers, and at what they listen on.
func (m *machine) programs() {
	var out []evidence.Program
	var listens []evidence.Listen
	pod := m.of.Snapshot.Pod
	if pod == nil {
		return // nothing else says which container a cgroup is of
	}
	for _, st := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		_, id, _ := strings.Cut(st.ContainerID, "://")
		if st.State.Running == nil || id == "" || strings.ContainsAny(id, "/*?[\\") || len(out) >= maxItems {
			continue
		}
		p := evidence.Program{Container: message(st.Name)}
		pids := m.readProgram(id, &p)
		main := mainOf(pids)
		if main == 0 {
			continue
		}
		p.Main, _ = processOf(main)
		p.Deaf = isDeaf(readFile(procFile(main, "status")), stopSignal(pod, st.Name))
		if shim, ok := processOf(p.Main.Parent); ok {
			p.Shim = &shim
		}
		out = append(out, p)
		if listens == nil && !pod.Spec.HostNetwork {
			listens = listensOf(main)
		}
	}
	m.saw("processes", nil, func(s *evidence.Machine) { s.Programs, s.Listens = out, listens })
}

func procFile(pid int, name string) string { return "/proc/" + strconv.Itoa(pid) + "/" + name }

// readProgram reads the cgroups of a container, and returns the processes in them.
func (m *machine) readProgram(id string, p *evidence.Program) (pids []int) {
	for _, mount := range slices.Concat(cgroupMounts, cpuMounts) {
		for _, name := range cgroupNames(m.k.CgroupRoot, m.of.Kubelet.UID) {
			dirs, err := filepath.Glob(filepath.Join(m.k.Root, mount, name, "*"+id+"*"))
			if err != nil || len(dirs) == 0 {
				continue
			}
			ids, kills := readCgroup(dirs[0])
			if len(ids) > len(pids) {
				pids = ids
			}
			p.OOMKills = max(p.OOMKills, kills)
			if stat := readFile(filepath.Join(dirs[0], "cpu.stat")); counter(stat, "nr_periods") > p.Periods {
				p.Periods, p.Throttled = counter(stat, "nr_periods"), counter(stat, "nr_throttled")
			}
		}
	}
	return pids
}

// mainOf returns the process of a container that is number 1 in its PID namespace, or else the oldest; 0: there is none.
func mainOf(pids []int) int {
	for _, pid := range pids {
		if innerPID(readFile(procFile(pid, "status"))) == 1 {
			return pid
		}
	}
	if len(pids) == 0 {
		return 0
	}
	return slices.Min(pids)
}

// innerPID returns the number of a process in its own PID namespace, by its status; 0: not known. It is in the only number of
// NSpid if that namespace is the reader's.
func innerPID(status []byte) int {
	ids := strings.Fields(statusField(status, "NSpid"))
	if len(ids) < 2 {
		return 0
	}
	n, _ := strconv.Atoi(ids[len(ids)-1])
	return n
}

// isDeaf reports whether the kernel drops a signal to a process: it is number 1 of a PID namespace, and has no handler for the signal,
// or it ignores the signal. Signals are numbered from 1.
func isDeaf(status []byte, signal int) bool {
	has := func(mask string) (is, known bool) {
		n, err := strconv.ParseUint(statusField(status, mask), 16, 64)
		return n&(1<<(signal-1)) != 0, err == nil
	}
	if ignored, known := has("SigIgn"); known && ignored {
		return true
	}
	handled, known := has("SigCgt")
	return innerPID(status) == 1 && known && !handled
}

// sigTerm is the signal with which a container is asked to end, unless its spec names another one.
const sigTerm = int(unix.SIGTERM)

// stopSignal returns the number of the signal that asks a container to end.
func stopSignal(pod *corev1.Pod, name string) int {
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		if c.Name == name && c.Lifecycle != nil && c.Lifecycle.StopSignal != nil {
			return cmp.Or(int(unix.SignalNum(string(*c.Lifecycle.StopSignal))), sigTerm)
		}
	}
	return sigTerm
}

// statusField returns a field of a process's status; empty: it has none.
func statusField(status []byte, name string) string {
	for line := range strings.Lines(string(status)) {
		if key, value, ok := strings.Cut(line, ":"); ok && key == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// maxListens bounds how many ports are kept.
const maxListens = 64

// listensOf returns the ports at which the processes listen that share a process's network. It is not nil if they can be read.
func listensOf(pid int) []evidence.Listen {
	out := []evidence.Listen{}
	for _, name := range []string{"net/tcp", "net/tcp6"} {
		text, err := os.ReadFile(procFile(pid, name))
		if err != nil && name == "net/tcp" {
			return nil
		}
		for _, l := range parseListens(text) {
			if !slices.Contains(out, l) && len(out) < maxListens {
				out = append(out, l)
			}
		}
	}
	slices.SortFunc(out, func(a, b evidence.Listen) int { return cmp.Compare(a.Port, b.Port) })
	return out
}

// parseListens reads the sockets that listen, state 0A, from the kernel's table of TCP sockets. Addresses are hexadecimal numbers of
// 32 bits in the order of this processor's bytes, so that reading them in it gives the address.
func parseListens(text []byte) (out []evidence.Listen) {
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) < 4 || f[3] != "0A" {
			continue
		}
		address, port, ok := strings.Cut(f[1], ":")
		n, err := strconv.ParseUint(port, 16, 16)
		raw, bad := hex.DecodeString(address)
		if !ok || err != nil || bad != nil || len(raw) != 4 && len(raw) != 16 {
			continue
		}
		for i := 0; i < len(raw); i += 4 {
			binary.NativeEndian.PutUint32(raw[i:], binary.BigEndian.Uint32(raw[i:]))
		}
		ip, _ := netip.AddrFromSlice(raw)
		out = append(out, evidence.Listen{Port: uint16(n), Loopback: ip.Unmap().IsLoopback()})
	}
	return out
}

// runtimeProcess looks at the process that serves the runtime.
func (m *machine) runtimeProcess() {
	for _, socket := range []string{m.k.Aside(), m.k.RuntimeEndpoint} {
		if socket == "" {
			continue
		}
		pid, err := m.k.Server(m.ctx, socket)
		if err != nil {
			continue
		}
		if p, ok := processOf(pid); ok {
			m.saw("runtime's process", nil, func(s *evidence.Machine) { s.Runtime = &p })
			return
		}
	}
}
