//go:build node

package attach_test

import (
	"syscall"
	"testing"

	"github.com/podstep/podstep/agent/lab/labtest"
	"github.com/podstep/podstep/agent/lab/versions"
)

// TestVersions: beside unmodified kubelets of other versions, and before a
// containerd 2, a pod is walked from call to call as with ours.
func TestVersions(t *testing.T) {
	for _, v := range versions.All() {
		t.Run(v.Name(), func(t *testing.T) {
			l := labtest.Start(t, v.Flags(t)...)
			h := labtest.WatchHealth(t, l)
			life(t, l, "before")
			a := attach(t, l)
			walk(t, l)
			life(t, l, "meanwhile")
			a.End(syscall.SIGINT)
			a.left()
			life(t, l, "after")
			h.End(t)
		})
	}
}
