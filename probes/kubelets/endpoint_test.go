package kubelets

import (
	"strings"
	"testing"
)

// TestSocketPath: an endpoint is the path of a socket, or the answer says what it is.
func TestSocketPath(t *testing.T) {
	for endpoint, want := range map[string]string{
		"unix:///run/containerd/containerd.sock": "/run/containerd/containerd.sock",
		"unix:/run/crio/crio.sock":               "/run/crio/crio.sock",
		"/run//crio/./crio.sock":                 "/run/crio/crio.sock",
		"/run/a:b.sock":                          "/run/a:b.sock",
		"unix:@abstract":                         "-is an abstract socket",
		"unix://@abstract":                       "-is an abstract socket",
		"@abstract":                              "-is an abstract socket",
		"unix:\x00abstract":                      "-is an abstract socket",
		"npipe:////./pipe/containerd":            "-is a named pipe of Windows",
		"tcp://127.0.0.1:1234":                   "-is a TCP address",
		"vsock://2:1024":                         "-is not a unix socket",
		"unix://run/crio.sock":                   "-is not an absolute path",
		"unix:crio.sock":                         "-is not an absolute path",
		"run/crio.sock":                          "-is not an absolute path",
		"unix://":                                "-names no socket",
		"":                                       "-names no socket",
	} {
		name, why := socketPath(endpoint)
		wrong, isWrong := strings.CutPrefix(want, "-")
		if isWrong && (name != "" || !strings.HasPrefix(why, wrong)) || !isWrong && (name != want || why != "") {
			t.Errorf("%q is %q, %q; want %q", endpoint, name, why, want)
		}
	}
}
