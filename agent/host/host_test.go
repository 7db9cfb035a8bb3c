package host

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/hook"
	"github.com/podstep/podstep/probes/reasons"
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

// TestOtherVersion: the agent knows what does not fit the kubelet in its process, and where that takes locks.
func TestOtherVersion(t *testing.T) {
	c := probes.MustLoad()
	const version = "v1.35.4"
	s := &Steps{
		Catalogue: c.In(version), Version: version, Seen: map[string]bool{"sync.pod": true, "sync.setstatus": true, "rt.compute": true, "probe.do": true, "cri.StopContainer": true},
		Fails: map[string]bool{}, Differs: map[string]bool{"sync.pod": true, "sync.setstatus": true},
		Misfits: []hook.Misfit{
			{Step: "rt.sandboxready", Part: probes.PartFunction, Why: "not there"}, {Step: "merge.merge", Part: probes.PartPod, Why: "undefined: x"},
			{Step: "rt.compute", Part: "result.inputs", Why: "undefined: y"}, {Step: "rt.compute", Part: probes.PartEndBackOff, Why: "undefined: z"},
		},
	}
	s.readLocks()
	if s.Differs["sync.pod"] || !s.Differs["sync.setstatus"] || len(s.Locking) == 0 {
		t.Errorf("locks are taken in %v, and by %d functions", s.Differs, len(s.Locking))
	}
	a := s.abilities()
	for step, code := range map[string]probes.ReasonCode{
		"rt.sandboxready": reasons.NotInVersion, "merge.merge": reasons.Misfit, "term.terminating": reasons.NotInVersion, "cluster.bound": reasons.NoFunction,
	} {
		if x := a.At(step); x.Sees() || x.Unseen.Code != string(code) {
			t.Errorf("%s is not seen because of %+v, want %v", step, x.Unseen, code)
		}
	}
	if x := a.At("rt.compute"); !x.Sees() || len(x.Missing) != 1 || x.Missing[0] != "inputs" {
		t.Errorf("rt.compute lacks %q", x.Missing)
	}
	if x := a.At("sync.setstatus"); x.NoHold.IsZero() {
		t.Error("a function that takes a lock does not say why no pod is held there")
	}
	if x := a.At("sync.pod"); !x.NoHold.IsZero() {
		t.Errorf("no pod is held in sync.pod: %v", x.NoHold)
	}
	for _, step := range []string{"probe.do", "cri.StopContainer"} {
		if x := a.At(step); !x.Sees() || x.HoldEnter || x.HoldExit || x.NoHold.Code != string(reasons.WorkerOnly) {
			t.Errorf("at %s the agent can do %+v", step, x)
		}
	}
	none := &Steps{Catalogue: c, Version: "v1.99.0", Differs: map[string]bool{"sync.pod": true}}
	if none.readLocks(); !none.Differs["sync.pod"] || none.Locking != nil {
		t.Error("of a version without a table it is known which functions take a lock")
	}
}
