package redact

import "testing"

// TestProbe: the kubelet's own words about a health probe are shown, and nothing that the container printed or
// answered, even if that begins like them.
func TestProbe(t *testing.T) {
	for in, want := range map[string]string{
		"Readiness probe failed: HTTP probe failed with statuscode: 503":                                                                          "",
		"Readiness probe failed: dial tcp 10.88.0.5:8080: connect: connection refused":                                                            "",
		"Readiness probe failed: dial tcp [fd00::5]:8080: i/o timeout":                                                                            "",
		`Liveness probe failed: Get "http://10.88.0.5:8080/healthz": dial tcp 10.88.0.5:8080: connect: connection refused`:                        "",
		`Liveness probe failed: Get "http://10.88.0.5:8080/v1/ready": context deadline exceeded (Client.Timeout exceeded while awaiting headers)`: "",
		`Liveness probe failed: Get "http://10.88.0.5:8080/hush7": EOF`:                                                                           `Liveness probe failed: Get "http://10.88.0.5:8080/<redacted>": EOF`,
		`Liveness probe failed: Get "http://10.88.0.5:8080/x?token=hush": EOF`:                                                                    "Liveness probe failed",
		`Startup probe failed: timeout: failed to connect service "10.0.0.1:80" within 1s: context deadline exceeded`:                             "",
		`Startup probe failed: service unhealthy (responded with "NOT_SERVING")`:                                                                  "",
		`Startup probe failed: command timed out: "sh -c hush" timed out after 1s`:                                                                "Startup probe failed: command timed out: <redacted> timed out after 1s",
		"Readiness probe failed: hush":                                                                                         "Readiness probe failed",
		"Readiness probe failed: dial tcp hush":                                                                                "Readiness probe failed",
		"Readiness probe failed: dial tcp 1.1.1.1:1: EOF\nhush":                                                                "Readiness probe failed",
		"Readiness probe failed: HTTP probe failed with statuscode: 503hush":                                                   "Readiness probe failed",
		"Readiness probe failed: rpc error: code = hush":                                                                       "Readiness probe failed",
		"Readiness probe failed: ":                                                                                             "Readiness probe failed",
		"Readiness probe warning: Probe terminated redirects, Response body: hush":                                             "Readiness probe warning: Probe terminated redirects",
		"Readiness probe warning: HTTP probe failed with statuscode: 503":                                                      "Readiness probe warning",
		"Readiness probe failed: error: this server does not implement the grpc health protocol (grpc.health.v1.Health): hush": "Readiness probe failed: error: this server does not implement the grpc health protocol (grpc.health.v1.Health)",
		"Readiness probe errored and resulted in unknown state: rpc error: code = Unknown desc = no such container":            "",
	} {
		if want == "" {
			want = in
		}
		if got, ok := Probe(in); !ok || got != want {
			t.Errorf("Probe(%q)\n   = %q, %v\nwant %q", in, got, ok, want)
		}
	}
	if got, ok := Probe("Container app failed liveness probe, will be restarted"); ok {
		t.Errorf("another message is taken for a probe's: %q", got)
	}
}
