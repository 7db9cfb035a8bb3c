package host

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/hook"
)

// TestWoven begins with a program without the hook in it, which starts no agent. It ends with one that was woven with
// another catalogue. The order matters: a record that was registered stays.
func TestWoven(t *testing.T) {
	c := probes.MustLoad()
	if _, err := Woven(c); !errors.Is(err, ErrNotWoven) {
		t.Errorf("this test is not woven: %v", err)
	}
	if _, err := Start(Options{Socket: filepath.Join(t.TempDir(), "agent.sock")}); !errors.Is(err, ErrNotWoven) {
		t.Errorf("the agent starts in a program that is not woven: %v", err)
	}
	const path = "k8s.io/kubernetes/pkg/kubelet/oom"
	hook.RegisterPackage(hook.RecordMark + " " + path + " " + c.PackageHash(path) + " boot.oomwatcher=7!:" + c.Step("boot.oomwatcher").Sum + "\n")
	woven, err := Woven(c)
	if err != nil || !woven.Seen["boot.oomwatcher"] || !woven.Fails["boot.oomwatcher"] || woven.Seen["sync.pod"] || woven.Differs["boot.oomwatcher"] {
		t.Errorf("woven are %+v, %v", woven, err)
	}
	const other = "k8s.io/kubernetes/pkg/kubelet/pleg"
	hook.RegisterPackage(hook.RecordMark + " " + other + " " + c.PackageHash(other) + " pleg.relistpod=8:0123456789abcdef\n")
	if woven, err := Woven(c); err != nil || !woven.Seen["pleg.relistpod"] || !woven.Differs["pleg.relistpod"] {
		t.Errorf("a function that differs is not noticed: %+v, %v", woven, err)
	}
	hook.RegisterPackage(hook.RecordMark + " " + path + " stale boot.oomwatcher=7!\n")
	if _, err := Woven(c); err == nil {
		t.Error("another catalogue was not noticed")
	}
}
