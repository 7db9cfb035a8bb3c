package simnode

import (
	"context"
	"hash/fnv"
	"strconv"
	"time"

	cadvisorv1 "github.com/google/cadvisor/info/v1"
	cadvisorv2 "github.com/google/cadvisor/info/v2"
	"golang.org/x/sys/unix"
	"k8s.io/klog/v2"

	"github.com/podstep/podstep/lab/pressure"
)

// What the machine has. Package pressure has the rest.
const (
	cores         = 4
	clockKHz      = 2_000_000
	fsDevice      = "/dev/simulated0"
	machineOS     = "podstep simulated node"
	kernelUnknown = "unknown"
)

// machine simulates cAdvisor: it reports the machine to the kubelet, and to the eviction manager what runs short.
type machine struct {
	root     string // the kubelet's directory
	pressure string // file for package pressure; need not exist
}

func (m *machine) Start() error { return nil }

// free returns the amounts that are left now.
func (m *machine) free() pressure.Amounts {
	left, err := pressure.Read(m.pressure)
	if err != nil {
		// Read is called every 10 seconds. A person who made a mistake in the file finds it in the log.
		klog.ErrorS(err, "The pressure file is not obeyed")
	}
	return left
}

func (m *machine) MachineInfo() (*cadvisorv1.MachineInfo, error) {
	node := cadvisorv1.Node{Id: 0, Memory: pressure.Capacity.Memory}
	for i := range cores {
		node.Cores = append(node.Cores, cadvisorv1.Core{Id: i, Threads: []int{i}})
	}
	id := m.id()
	return &cadvisorv1.MachineInfo{
		Timestamp: time.Now(), NumCores: cores, NumPhysicalCores: cores, NumSockets: 1, CpuFrequency: clockKHz,
		MemoryCapacity: pressure.Capacity.Memory, MachineID: id, SystemUUID: id, BootID: id, InstanceID: cadvisorv1.InstanceID(id),
		Topology: []cadvisorv1.Node{node},
	}, nil
}

// id is the same as long as the lab exists: with another id, the kubelet would report that the node was rebooted.
func (m *machine) id() string {
	h := fnv.New128a()
	h.Write([]byte(m.root))
	sum := h.Sum(nil)
	out := make([]byte, 0, 2*len(sum))
	for _, b := range sum {
		out = strconv.AppendUint(out, uint64(b>>4), 16)
		out = strconv.AppendUint(out, uint64(b&15), 16)
	}
	return string(out)
}

func (m *machine) VersionInfo() (*cadvisorv1.VersionInfo, error) {
	kernel := kernelUnknown
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		kernel = unix.ByteSliceToString(u.Release[:])
	}
	return &cadvisorv1.VersionInfo{KernelVersion: kernel, ContainerOsVersion: machineOS}, nil
}

// ContainerInfoV2 knows only the topmost cgroup. The runtime reports what containers use.
func (m *machine) ContainerInfoV2(name string, _ cadvisorv2.RequestOptions) (map[string]cadvisorv2.ContainerInfo, error) {
	now := time.Now()
	used := pressure.Capacity.Memory - m.free().Memory
	return map[string]cadvisorv2.ContainerInfo{name: {
		Spec: cadvisorv2.ContainerSpec{
			HasCpu: true, HasMemory: true, Memory: cadvisorv2.MemorySpec{Limit: pressure.Capacity.Memory},
		},
		Stats: []*cadvisorv2.ContainerStats{{
			Timestamp: now,
			Cpu:       &cadvisorv1.CpuStats{},
			CpuInst:   &cadvisorv2.CpuInstStats{},
			Memory:    &cadvisorv1.MemoryStats{Usage: used, WorkingSet: used, RSS: used},
		}},
	}}, nil
}

func (m *machine) GetRequestedContainersInfo(string, cadvisorv2.RequestOptions) (map[string]*cadvisorv1.ContainerInfo, error) {
	return nil, nil
}

// The machine has one file system for everything.

func (m *machine) RootFsInfo() (cadvisorv2.FsInfo, error) {
	left := m.free()
	total := pressure.Capacity.Inodes
	return cadvisorv2.FsInfo{
		Timestamp: time.Now(), Device: fsDevice, Mountpoint: "/",
		Capacity: pressure.Capacity.Disk, Available: left.Disk, Usage: pressure.Capacity.Disk - left.Disk, Inodes: &total, InodesFree: &left.Inodes,
	}, nil
}

func (m *machine) ImagesFsInfo(context.Context) (cadvisorv2.FsInfo, error) { return m.RootFsInfo() }

func (m *machine) ContainerFsInfo(context.Context) (cadvisorv2.FsInfo, error) { return m.RootFsInfo() }

func (m *machine) GetDirFsInfo(string) (cadvisorv2.FsInfo, error) { return m.RootFsInfo() }
