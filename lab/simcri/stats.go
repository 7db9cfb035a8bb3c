package simcri

import (
	"context"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// The usage of a container for which nothing is stated.
const (
	defaultCPU    = 2        // thousandths of a core
	defaultMemory = 12 << 20 // bytes
	pauseMemory   = 1 << 20
)

func value(n uint64) *runtimeapi.UInt64Value { return &runtimeapi.UInt64Value{Value: n} }

// use is the usage of containers at one moment. It follows from how long they have run, so that the figures of
// different calls agree.
type use struct {
	now    time.Time
	cores  uint64 // nanocores
	cpu    uint64 // nanoseconds of a core, since the start
	memory uint64 // bytes
	limit  uint64 // bytes; 0: no limit
}

func (c *container) use(now time.Time) use {
	u := use{now: now, limit: uint64(max(0, c.config.GetLinux().GetResources().GetMemoryLimitInBytes()))}
	if c.state != runtimeapi.ContainerState_CONTAINER_RUNNING {
		return u
	}
	cpu, memory := c.behaviour.cpu, c.behaviour.memory
	if cpu == 0 {
		cpu = defaultCPU
	}
	if memory == 0 {
		memory = defaultMemory
	}
	if u.limit > 0 { // a container that grows beyond it would be killed
		memory = min(memory, int64(u.limit))
	}
	u.cores = uint64(cpu) * 1_000_000
	u.cpu = uint64(now.Sub(c.startedAt).Milliseconds()) * uint64(cpu) * 1000
	u.memory = uint64(memory)
	return u
}

func (u *use) add(other use) {
	u.cores += other.cores
	u.cpu += other.cpu
	u.memory += other.memory
}

func (u use) cpuUsage() *runtimeapi.CpuUsage {
	return &runtimeapi.CpuUsage{Timestamp: u.now.UnixNano(), UsageCoreNanoSeconds: value(u.cpu), UsageNanoCores: value(u.cores)}
}

func (u use) memoryUsage() *runtimeapi.MemoryUsage {
	m := &runtimeapi.MemoryUsage{
		Timestamp: u.now.UnixNano(), WorkingSetBytes: value(u.memory), UsageBytes: value(u.memory + u.memory/8),
		RssBytes: value(u.memory - u.memory/4), PageFaults: value(u.memory >> 12), MajorPageFaults: value(0), AvailableBytes: value(0),
	}
	if u.limit > 0 {
		m.AvailableBytes = value(u.limit - u.memory)
	}
	return m
}

// stats returns the figures of one container. s.mu is held.
func (s *Server) stats(c *container, now time.Time) *runtimeapi.ContainerStats {
	u := c.use(now)
	bytes, inodes := usage(c.files.root)
	return &runtimeapi.ContainerStats{
		Attributes: &runtimeapi.ContainerAttributes{Id: c.id, Metadata: c.meta, Labels: c.config.GetLabels(), Annotations: c.config.GetAnnotations()},
		Cpu:        u.cpuUsage(), Memory: u.memoryUsage(), WritableLayer: filesystem(s.imageDir(), bytes, inodes),
		Swap: &runtimeapi.SwapUsage{Timestamp: now.UnixNano(), SwapAvailableBytes: value(0), SwapUsageBytes: value(0)},
	}
}

// ContainerStats returns the figures of one container.
func (s *Server) ContainerStats(_ context.Context, r *runtimeapi.ContainerStatsRequest) (*runtimeapi.ContainerStatsResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.containerByID(r.GetContainerId())
	if err != nil {
		return nil, err
	}
	return &runtimeapi.ContainerStatsResponse{Stats: s.stats(c, time.Now())}, nil
}

func (s *Server) listStats(f *runtimeapi.ContainerStatsFilter) []*runtimeapi.ContainerStats {
	like := s.listContainers(&runtimeapi.ContainerFilter{Id: f.GetId(), PodSandboxId: f.GetPodSandboxId(), LabelSelector: f.GetLabelSelector()})
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	var all []*runtimeapi.ContainerStats
	for _, l := range like {
		if c := s.containers[l.GetId()]; c != nil && c.state != runtimeapi.ContainerState_CONTAINER_EXITED {
			all = append(all, s.stats(c, now))
		}
	}
	return all
}

// ListContainerStats returns the figures of all containers that have not exited.
func (s *Server) ListContainerStats(_ context.Context, r *runtimeapi.ListContainerStatsRequest) (*runtimeapi.ListContainerStatsResponse, error) {
	return &runtimeapi.ListContainerStatsResponse{Stats: s.listStats(r.GetFilter())}, nil
}

// podStats returns the figures of a sandbox: the sum of its containers' and its own. s.mu is held.
func (s *Server) podStats(b *sandbox, now time.Time) *runtimeapi.PodSandboxStats {
	sum := use{now: now, memory: pauseMemory}
	linux := &runtimeapi.LinuxPodSandboxStats{}
	processes := uint64(1)
	for _, c := range s.containersOf(b) {
		if c.state != runtimeapi.ContainerState_CONTAINER_RUNNING {
			continue
		}
		sum.add(c.use(now))
		linux.Containers = append(linux.Containers, s.stats(c, now))
		processes++
	}
	traffic := uint64(now.Sub(b.createdAt).Milliseconds())
	eth0 := &runtimeapi.NetworkInterfaceUsage{Name: "eth0", RxBytes: value(traffic), TxBytes: value(traffic / 2), RxErrors: value(0), TxErrors: value(0)}
	linux.Cpu, linux.Memory = sum.cpuUsage(), sum.memoryUsage()
	linux.Network = &runtimeapi.NetworkUsage{Timestamp: now.UnixNano(), DefaultInterface: eth0, Interfaces: []*runtimeapi.NetworkInterfaceUsage{eth0}}
	linux.Process = &runtimeapi.ProcessUsage{Timestamp: now.UnixNano(), ProcessCount: value(processes)}
	return &runtimeapi.PodSandboxStats{
		Attributes: &runtimeapi.PodSandboxAttributes{Id: b.id, Metadata: b.config.GetMetadata(), Labels: b.config.GetLabels(), Annotations: b.config.GetAnnotations()},
		Linux:      linux,
	}
}

// PodSandboxStats returns the figures of one sandbox.
func (s *Server) PodSandboxStats(_ context.Context, r *runtimeapi.PodSandboxStatsRequest) (*runtimeapi.PodSandboxStatsResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, err := s.sandboxByID(r.GetPodSandboxId())
	if err != nil {
		return nil, err
	}
	return &runtimeapi.PodSandboxStatsResponse{Stats: s.podStats(b, time.Now())}, nil
}

// sandboxesLike returns the sandboxes for which fits reports true, oldest first.
func (s *Server) sandboxesLike(fits func(*sandbox) bool) []*sandbox {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []*sandbox
	for _, b := range s.sandboxes {
		if fits(b) {
			all = append(all, b)
		}
	}
	sortByAge(all, func(b *sandbox) (time.Time, string) { return b.createdAt, b.id })
	return all
}

func (s *Server) listPodStats(f *runtimeapi.PodSandboxStatsFilter) []*runtimeapi.PodSandboxStats {
	like := s.sandboxesLike(func(b *sandbox) bool {
		return b.state == runtimeapi.PodSandboxState_SANDBOX_READY && (f.GetId() == "" || f.GetId() == b.id) &&
			hasLabels(b.config.GetLabels(), f.GetLabelSelector())
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	all := make([]*runtimeapi.PodSandboxStats, 0, len(like))
	for _, b := range like {
		all = append(all, s.podStats(b, now))
	}
	return all
}

// ListPodSandboxStats returns the figures of all sandboxes that are ready.
func (s *Server) ListPodSandboxStats(_ context.Context, r *runtimeapi.ListPodSandboxStatsRequest) (*runtimeapi.ListPodSandboxStatsResponse, error) {
	return &runtimeapi.ListPodSandboxStatsResponse{Stats: s.listPodStats(r.GetFilter())}, nil
}
