package gather

import (
	"bufio"
	"context"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/podstep/podstep/agent/explain/evidence"
)

// wanted are the metrics of the kubelet that rules ask for.
var wanted = map[string]bool{
	"kubelet_active_pods": true, "kubelet_desired_pods": true, "kubelet_working_pods": true, "kubelet_mirror_pods": true,
	"kubelet_orphaned_runtime_pods_total": true, "kubelet_restarted_pods_total": true, "kubelet_running_containers": true, "kubelet_running_pods": true,
	"kubelet_pleg_last_seen_seconds": true, "kubelet_pleg_discard_events": true, "kubelet_pod_watch_events_dropped_total": true,
	"kubelet_runtime_operations_errors_total": true, "kubelet_run_podsandbox_errors_total": true,
	"kubelet_started_pods_errors_total": true, "kubelet_started_containers_errors_total": true, "kubelet_evictions": true,
	"kubelet_orphan_pod_cleaned_volumes": true, "kubelet_orphan_pod_cleaned_volumes_errors": true,
	"kubelet_imagemanager_ondisk_pullintents": true, "kubelet_pod_status_sync_duration_seconds_count": true,
	"kubelet_cpu_manager_pinning_errors_total": true, "kubelet_memory_manager_pinning_errors_total": true, "kubelet_topology_manager_admission_errors_total": true,
	"kubelet_graceful_shutdown_start_time_seconds": true, "kubelet_graceful_shutdown_end_time_seconds": true, "kubelet_cgroup_version": true,
	"process_start_time_seconds": true, "rest_client_requests_total": true, "volume_manager_total_volumes": true,
	"storage_operation_duration_seconds_count": true,
}

// dull matches labels of samples that no rule asks for: those of calls that went well.
var dull = regexp.MustCompile(`code="2|status="success"`)

// maxMetrics bounds the part of the kubelet's metrics that is read, in bytes. maxSamples bounds
// the samples that are kept.
const (
	maxMetrics = 16 << 20
	maxSamples = 300
)

// askMetrics asks for the kubelet's metrics.
func (p *port) askMetrics(ctx context.Context) {
	var samples map[string]float64
	err := p.get(ctx, pathMetrics, nil, maxMetrics, func(r io.Reader) (err error) {
		samples, err = parseMetrics(r)
		return err
	})
	if err != nil {
		p.part.missed(evidence.Port, pathMetrics, err)
		return
	}
	p.part.saw(evidence.Port, pathMetrics, func(s *evidence.Snapshot) { s.Kubelet.Metrics = samples })
}

// parseMetrics reads the wanted samples from the text format of Prometheus.
func parseMetrics(r io.Reader) (map[string]float64, error) {
	out := map[string]float64{}
	lines := newLines(r)
	for lines.Scan() && len(out) < maxSamples {
		// A sample of 0 is the same as none.
		if name, value, ok := sample(lines.Text()); ok && value != 0 && !dull.MatchString(name) {
			out[message(name)] = value
		}
	}
	return out, lines.Err()
}

// sample reads one line: a name with labels, and a value; a time may follow.
func sample(line string) (name string, value float64, ok bool) {
	end := strings.IndexAny(line, "{ \t")
	if end <= 0 || !wanted[line[:end]] {
		return "", 0, false
	}
	if line[end] == '{' {
		if end = labelsEnd(line, end); end < 0 {
			return "", 0, false
		}
	}
	name = line[:end]
	fields := strings.Fields(line[end:])
	if len(fields) == 0 {
		return "", 0, false
	}
	value, err := strconv.ParseFloat(fields[0], 64)
	if err != nil || value != value || value-value != 0 { // NaN and infinity are not JSON
		return "", 0, false
	}
	return name, value, true
}

// labelsEnd returns where the labels that begin at i end. Their values may have braces. It
// returns -1 if they do not end.
func labelsEnd(line string, i int) int {
	quoted := false
	for ; i < len(line); i++ {
		switch c := line[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case c == '}' && !quoted:
			return i + 1
		}
	}
	return -1
}

// maxLine bounds a line of a text from outside podstep, in bytes.
const maxLine = 1 << 20

// newLines returns a reader of lines. A line longer than maxLine ends it with an error.
func newLines(r io.Reader) *bufio.Scanner {
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 64<<10), maxLine)
	return s
}
