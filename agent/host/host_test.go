package host

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/podstep/podstep/agent/hook"
	"github.com/podstep/podstep/probes"
)

// TestWoven goes from a program without the hook in it, which starts no agent,
// to one that was woven with another catalogue. Nothing takes a record back.
func TestWoven(t *testing.T) {
	c := probes.MustLoad()
	if _, _, err := Woven(c); !errors.Is(err, ErrNotWoven) {
		t.Errorf("this test is not woven: %v", err)
	}
	if _, err := Start(Options{Socket: filepath.Join(t.TempDir(), "agent.sock")}); !errors.Is(err, ErrNotWoven) {
		t.Errorf("the agent starts in a program that is not woven: %v", err)
	}
	const path = "k8s.io/kubernetes/pkg/kubelet/oom"
	hook.Register(hook.RecordMark + " " + path + " " + c.PackageHash(path) + " boot.oomwatcher=7!\n")
	seen, fails, err := Woven(c)
	if err != nil || !seen["boot.oomwatcher"] || !fails["boot.oomwatcher"] || seen["sync.pod"] {
		t.Errorf("woven are %v, %v, %v", seen, fails, err)
	}
	hook.Register(hook.RecordMark + " " + path + " stale boot.oomwatcher=7!\n")
	if _, _, err := Woven(c); err == nil {
		t.Error("another catalogue was not noticed")
	}
}
