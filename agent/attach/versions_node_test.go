//go:build node

package attach_test

import (
	"syscall"
	"testing"

	"github.com/podstep/podstep/agent/labtest"
	"github.com/podstep/podstep/probes"
)

// TestVersions: beside unmodified kubelets of other versions, and with containerd 2, a pod is stepped from call to
// call as beside the catalogue's version, and the kubelet's log is followed.
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
			l.Tried("cri")
			life(t, l, "after")
			follow(t, l)
			h.End(t)
		})
	}
}

// follow shows a pod by the log alone.
func follow(t *testing.T, l *labtest.Lab) {
	t.Helper()
	a := l.Attach("--probe", "log,api")
	life(t, l, "logged")
	for _, step := range []string{"loop.add", "cri.RunPodSandbox", "cri.StartContainer", "loop.remove"} {
		l.UntilEvent("logged", step+" by the log", func(e probes.Event) bool { return e.Step == step && e.Probe == "log" })
	}
	a.End(syscall.SIGINT)
	l.Tried("log")
}
