//go:build node

package attach_test

import (
	"syscall"
	"testing"

	"github.com/podstep/podstep/agent/labtest"
)

// TestVersions: beside unmodified kubelets of other versions, and with containerd 2, a pod is stepped from call to
// call as beside the catalogue's version.
func TestVersions(t *testing.T) {
	for _, v := range labtest.Versions() {
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
