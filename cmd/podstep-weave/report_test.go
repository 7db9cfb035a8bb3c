package main

import (
	"strings"
	"testing"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/hook"
)

// TestReport: of another version the report has what is left out, and why.
func TestReport(t *testing.T) {
	c := probes.MustLoad()
	p := hook.Package{Path: "k8s.io/kubernetes/pkg/kubelet/oom", Hash: "hash", Steps: map[string]hook.Step{"boot.oomwatcher": {}}}
	if got, want := reportOf([]hook.Package{p}, c), "k8s.io/kubernetes/pkg/kubelet/oom  hash\n    boot.oomwatcher\n1 step in 1 package\n"; got != want {
		t.Errorf("it is %q, want %q", got, want)
	}
	p.Kubernetes = "v1.35.4"
	p.Misfits = []hook.Misfit{{Step: "sync.pod", Part: probes.PartFunction, Why: "not there"}, {Step: "rt.compute", Part: "result.killPod", Why: "undefined: x"}}
	got := reportOf([]hook.Package{p}, c)
	for _, want := range []string{
		"without sync.pod: function: not there\n", "rt.compute without result.killPod: undefined: x\n",
		"without pleg.relistpod: function: this kubelet has no package k8s.io/kubernetes/pkg/kubelet/pleg\n",
		"1 step in 1 package of Kubernetes v1.35.4; left out: ", ", and 1 value of others\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("it has no %q", want)
		}
	}
	if strings.Contains(got, "without boot.oomwatcher") {
		t.Error("a step that is woven is left out")
	}
}
