package main

import (
	"strings"
	"testing"

	"github.com/podstep/podstep/cmd/podstep/node"
)

// TestProbeNames: the help of attach, which is the same on every system, names the
// probes that are registered.
func TestProbeNames(t *testing.T) {
	attach, names := (&app{}).attach(), strings.Join(node.ProbeNames(), ",")
	for _, text := range []string{attach.Use, attach.Flags().Lookup("probe").Usage} {
		if !strings.Contains(text, names) {
			t.Errorf("%q does not name %s", text, names)
		}
	}
}
