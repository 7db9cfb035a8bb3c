package simcri

import (
	"context"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

const (
	cpuMetric    = "container_cpu_usage_seconds_total"
	memoryMetric = "container_memory_working_set_bytes"
)

// ListMetricDescriptors names the two metrics that this runtime has.
func (s *Server) ListMetricDescriptors(context.Context, *runtimeapi.ListMetricDescriptorsRequest) (*runtimeapi.ListMetricDescriptorsResponse, error) {
	return &runtimeapi.ListMetricDescriptorsResponse{Descriptors: []*runtimeapi.MetricDescriptor{
		{Name: cpuMetric, Help: "Cumulative cpu time consumed in seconds."},
		{Name: memoryMetric, Help: "Current working set in bytes."},
	}}, nil
}

func (u use) metrics() []*runtimeapi.Metric {
	return []*runtimeapi.Metric{
		{Name: cpuMetric, MetricType: runtimeapi.MetricType_COUNTER, Value: value(u.cpu / uint64(time.Second))},
		{Name: memoryMetric, MetricType: runtimeapi.MetricType_GAUGE, Value: value(u.memory)},
	}
}

func (s *Server) podMetrics() []*runtimeapi.PodSandboxMetrics {
	ready := s.sandboxesLike(func(b *sandbox) bool { return b.state == runtimeapi.PodSandboxState_SANDBOX_READY })
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	all := make([]*runtimeapi.PodSandboxMetrics, 0, len(ready))
	for _, b := range ready {
		m := &runtimeapi.PodSandboxMetrics{PodSandboxId: b.id}
		sum := use{now: now, memory: pauseMemory}
		for _, c := range s.containersOf(b) {
			u := c.use(now)
			sum.add(u)
			m.ContainerMetrics = append(m.ContainerMetrics, &runtimeapi.ContainerMetrics{ContainerId: c.id, Metrics: u.metrics()})
		}
		m.Metrics = sum.metrics()
		all = append(all, m)
	}
	return all
}

// ListPodSandboxMetrics returns the metrics of all sandboxes that are ready.
func (s *Server) ListPodSandboxMetrics(context.Context, *runtimeapi.ListPodSandboxMetricsRequest) (*runtimeapi.ListPodSandboxMetricsResponse, error) {
	return &runtimeapi.ListPodSandboxMetricsResponse{PodMetrics: s.podMetrics()}, nil
}
