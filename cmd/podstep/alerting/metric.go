package alerting

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/podstep/podstep/agent/alert"
)

// maxCounted is how many pods have a count of their own. The matches of further pods are in the sum alone, since Prometheus
// keeps a series for each pod that it has ever seen.
const maxCounted = 1000

// The metrics of an alert, which docs/alert.md lists. The sum is there before the first match: Prometheus would not see a
// counter that begins with one as an increase.
var (
	alertInfo  = prometheus.NewDesc("podstep_alert_info", "1, with the alert's expression.", []string{"alert"}, nil)
	allMatches = prometheus.NewDesc("podstep_alert_matches_total", "Matches of the alert.", nil, nil)
	podMatches = prometheus.NewDesc("podstep_alert_pod_matches_total",
		"Matches of the alert by node and pod; those of the node's own events have no pod.", counted, nil)
	podMatched = prometheus.NewDesc("podstep_alert_pod_last_match_timestamp_seconds", "When the alert matched last.", counted, nil)
)

var counted = []string{"node", "namespace", "pod"}

// Metrics counts the matches of an alert for Prometheus. It is a prometheus.Collector.
type Metrics struct {
	expr string

	mu  sync.Mutex
	all uint64
	of  map[onNode]*count
}

// onNode names a pod of a node.
type onNode struct{ node, namespace, pod string }

type count struct {
	matches uint64
	last    float64 // in seconds since 1970
}

// NewMetrics makes the metrics of an alert, an expression as alert.Parse reads it.
func NewMetrics(expr string) *Metrics { return &Metrics{expr: expr, of: map[onNode]*count{}} }

// Count counts a match on a node; "" stands for the only node.
func (m *Metrics) Count(node string, match *alert.Match) {
	key := onNode{node: node}
	if match.Pod != nil {
		key.namespace, key.pod = match.Pod.Namespace, match.Pod.Name
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.all++
	c := m.of[key]
	if c == nil {
		if len(m.of) == maxCounted {
			return
		}
		c = &count{}
		m.of[key] = c
	}
	c.matches++
	c.last = float64(match.Time.UnixNano()) / 1e9
}

// Describe sends all descriptions.
func (m *Metrics) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{alertInfo, allMatches, podMatches, podMatched} {
		to <- d
	}
}

// Collect sends all values as they are now.
func (m *Metrics) Collect(to chan<- prometheus.Metric) {
	m.mu.Lock()
	defer m.mu.Unlock()
	to <- prometheus.MustNewConstMetric(alertInfo, prometheus.GaugeValue, 1, m.expr)
	to <- prometheus.MustNewConstMetric(allMatches, prometheus.CounterValue, float64(m.all))
	for key, c := range m.of {
		to <- prometheus.MustNewConstMetric(podMatches, prometheus.CounterValue, float64(c.matches), key.node, key.namespace, key.pod)
		to <- prometheus.MustNewConstMetric(podMatched, prometheus.GaugeValue, c.last, key.node, key.namespace, key.pod)
	}
}
