package gather

import (
	"bytes"
	"maps"
	"math"
	"strings"
	"testing"
)

const someMetrics = `# HELP kubelet_pleg_last_seen_seconds x
kubelet_pleg_last_seen_seconds 1.795359803e+09
kubelet_desired_pods{static=""} 2
kubelet_desired_pods{static="true"} 0
kubelet_runtime_operations_errors_total{operation_type="exec } sync\"}"} 1 1795359803000
rest_client_requests_total{code="200",method="GET"} 7
rest_client_requests_total{code="403",method="PATCH"} 3
kubelet_http_requests_total{long_running="false"} 12
process_start_time_seconds NaN
kubelet_evictions +Inf
kubelet_mirror_pods
kubelet_running_pods{a="
`

func TestMetrics(t *testing.T) {
	got, err := parseMetrics(strings.NewReader(someMetrics))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]float64{
		"kubelet_pleg_last_seen_seconds": 1795359803, `kubelet_desired_pods{static=""}`: 2,
		`kubelet_runtime_operations_errors_total{operation_type="exec } sync\"}"}`: 1,
		`rest_client_requests_total{code="403",method="PATCH"}`:                    3,
	}
	if !maps.Equal(got, want) {
		t.Errorf("got %v", got)
	}
}

func FuzzMetrics(f *testing.F) {
	f.Add([]byte(someMetrics))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, _ := parseMetrics(bytes.NewReader(b))
		for name, v := range got {
			if math.IsNaN(v) || math.IsInf(v, 0) || strings.ContainsAny(name, "\x1b\n") {
				t.Errorf("%q is %v", name, v)
			}
		}
	})
}
