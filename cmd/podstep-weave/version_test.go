package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/podstep/podstep/probes"
)

// TestVersionOf: --kubernetes VERSION before the go command's arguments selects another Kubernetes.
func TestVersionOf(t *testing.T) {
	for _, x := range []struct {
		args, version, rest, err string
	}{
		{"build -o x .", "", "build -o x .", ""},
		{"--kubernetes v1.35.4 test ./...", "v1.35.4", "test ./...", ""},
		{"--kubernetes " + probes.KubernetesVersion + " test ./...", "", "test ./...", ""},
		{"--kubernetes", "", "", "which version?"},
		{"--kubernetes 1.35 test", "", "", `"1.35" is no version`},
	} {
		version, rest, err := versionOf(strings.Fields(x.args))
		if version != x.version || !slices.Equal(rest, strings.Fields(x.rest)) || (err == nil) != (x.err == "") || err != nil && !strings.Contains(err.Error(), x.err) {
			t.Errorf("%s: %q, %v, %v", x.args, version, rest, err)
		}
	}
}
