package metrics

import (
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/codes"

	"github.com/podstep/podstep/agent"
	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/version"
	"github.com/podstep/podstep/probes/clock"
	"github.com/podstep/podstep/probes/cri/relayproc"
)

// Source has what the metrics read when somebody scrapes.
type Source struct {
	Agent *agent.Agent
	// Since is when podstep attached.
	Since time.Time
}

// Metrics collects the metrics of an attached podstep. It is a prometheus.Collector.
type Metrics struct {
	source Source

	mu         sync.Mutex
	methods    map[string]*method
	heartbeats histogram
	heartbeat  clock.Time
	restarts   uint64
}

// method has the counts of one method of the CRI, added up.
type method struct {
	codes         map[codes.Code]uint64
	direct, added histogram
}

// New makes the metrics of a podstep that is attached.
func New(s Source) *Metrics {
	return &Metrics{
		source: s, methods: map[string]*method{}, heartbeats: newHistogram(relayproc.HeartbeatBounds),
	}
}

// Count adds what a relay process has counted since it last reported.
func (m *Metrics) Count(c *relayproc.Counts) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for path, counts := range c.Methods {
		x := m.method(nameOf(path))
		for code, n := range counts.Codes {
			if n > 0 {
				x.codes[codes.Code(code)] += n
			}
		}
		x.direct.add(&counts.Direct)
		x.added.add(&counts.Added)
	}
	m.heartbeats.add(&c.Heartbeats)
	m.heartbeat = max(m.heartbeat, c.Heartbeat)
}

func (m *Metrics) method(name string) *method {
	x := m.methods[name]
	if x == nil {
		x = &method{map[codes.Code]uint64{}, newHistogram(relayproc.DirectBounds), newHistogram(relayproc.AddedBounds)}
		m.methods[name] = x
	}
	return x
}

// other is the name for all methods that are not of the CRI.
const other = "other"

// nameOf returns a method's name without that of its service: no two methods of the CRI have the same name.
func nameOf(path string) string {
	if path == "" {
		return other
	}
	return path[strings.LastIndexByte(path, '/')+1:]
}

// Restarted notes that a relay process has taken the place of one that had ended or hung.
func (m *Metrics) Restarted() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.restarts++
}

// Describe sends all descriptions.
func (m *Metrics) Describe(to chan<- *prometheus.Desc) {
	for _, d := range all {
		to <- d
	}
}

// Collect sends all values as they are now.
func (m *Metrics) Collect(to chan<- prometheus.Metric) {
	m.collectCounts(to)
	m.collectAgent(to)
	gauge(to, info, 1, version.Own(), m.source.Agent.Kubelet())
	gauge(to, since, seconds(m.source.Since))
}

func (m *Metrics) collectCounts(to chan<- prometheus.Metric) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, x := range m.methods {
		for code, n := range x.codes {
			counter(to, calls, float64(n), name, code.String())
		}
		x.direct.collect(to, direct, name)
		x.added.collect(to, added, name)
	}
	m.heartbeats.collect(to, heartbeats)
	if m.heartbeat != 0 {
		gauge(to, heartbeat, seconds(m.heartbeat.Time().Round(time.Millisecond)))
	}
	counter(to, restarts, float64(m.restarts))
}

func (m *Metrics) collectAgent(to chan<- prometheus.Metric) {
	c := m.source.Agent.Counters()
	counter(to, holds, float64(c.Holds))
	counter(to, held, c.Held.Seconds())
	gauge(to, holdsNow, float64(c.HoldsNow))
	for state, n := range m.source.Agent.PodsByState() {
		gauge(to, pods, float64(n), state)
	}
	counter(to, faults, float64(c.Fails), "fail")
	counter(to, faults, float64(c.Delays), "delay")
	counter(to, events, float64(c.Events))
	for _, kind := range lossKinds {
		counter(to, lost, float64(c.Lost[kind]), kind)
	}
	collectRecord(to, m.source.Agent.RecordDir())
	for _, p := range m.source.Agent.States() {
		for state, name := range probeStates {
			value := 0.0
			if p.State == state {
				value = 1
			}
			gauge(to, probe, value, p.Name, name)
		}
	}
}

// collectRecord sends how the recording to a directory goes, if there is one.
func collectRecord(to chan<- prometheus.Metric, r *agentpb.RecordDir) {
	if r == nil {
		return
	}
	counter(to, recorded, float64(r.Events))
	counter(to, unrecorded, float64(r.Dropped))
	gauge(to, recordSize, float64(r.Bytes))
	working := 1.0
	if r.Failing != "" {
		working = 0
	}
	gauge(to, recordOK, working)
}

// lossKinds are the kinds of events. Each has a counter from the first scrape on: one that appeared with its first
// loss would not show that loss as an increase.
var lossKinds = []string{"enter", "exit", "hold", "release", "fault", "drop", "note"}

var probeStates = map[agentpb.ProbeState]string{
	agentpb.ProbeState_PROBE_STARTING: "starting",
	agentpb.ProbeState_PROBE_RUNNING:  "running",
	agentpb.ProbeState_PROBE_RETRYING: "retrying",
	agentpb.ProbeState_PROBE_FAILED:   "failed",
	agentpb.ProbeState_PROBE_STOPPED:  "stopped",
}

func seconds(t time.Time) float64 { return float64(t.UnixNano()) / 1e9 }

func counter(to chan<- prometheus.Metric, d *prometheus.Desc, value float64, labels ...string) {
	to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, value, labels...)
}

func gauge(to chan<- prometheus.Metric, d *prometheus.Desc, value float64, labels ...string) {
	to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
}
