package probes

import (
	"strings"
	"testing"
)

// TestIn: the catalogue for an older kubelet has the names of that time, finds its steps by name and role, and leaves the
// catalogue itself as it was.
func TestIn(t *testing.T) {
	c := MustLoad()
	for version, want := range map[string]map[string]string{
		"v1.25.16":       {"sync.pod": ").syncPod", "worker.loop": ").managePodLoop", "cri.RunPodSandbox": "cri/remote.(*remoteRuntimeService).RunPodSandbox"},
		"v1.26.15-gke.7": {"sync.pod": ").syncPod", "pm.remove": ").DeletePod"},
		"v1.27.0":        {"sync.pod": ").SyncPod", "pm.remove": ").DeletePod", "worker.loop": ").podWorkerLoop"},
		"v1.30.2+k3s1":   {"cri.PullImage": "cri/remote.(*remoteImageService).PullImage", "source.listen": "kubelet/config.(*mux).listen"},
		"v1.31.0":        {"cri.PullImage": "cri-client/pkg.(*remoteImageService).PullImage", "admit.add": ").canAdmitPod"},
		"v1.34.0":        {"admit.add": "allocation.(*manager).AddPod"},
		"v1.36.3":        {"admit.add": "allocation.(*manager).AddPod"},
		"v1.99.0":        {"sync.pod": ").SyncPod"},
		"":               {"sync.pod": ").SyncPod"},
		"nonsense":       {"sync.pod": ").SyncPod"},
	} {
		in := c.In(version)
		for name, symbol := range want {
			s := in.Step(name)
			if !strings.HasSuffix(s.Symbol, symbol) {
				t.Errorf("%s: %s is %s, want %s", version, name, s.Symbol, symbol)
			}
			if s != &in.Steps[s.ID] || s.Title != c.Step(name).Title {
				t.Errorf("%s: %s is not the step of this catalogue", version, name)
			}
		}
		for _, s := range in.OfRole(RoleWork) {
			if s != &in.Steps[s.ID] {
				t.Errorf("%s: %s has a role in another catalogue", version, s.Name)
			}
		}
	}
	if s := c.Step("sync.pod"); !strings.HasSuffix(s.Symbol, ").SyncPod") || s != &c.Steps[s.ID] {
		t.Errorf("the catalogue itself now has %s", s.Symbol)
	}
	if f := c.In("v1.30.0").Step("cri.RunPodSandbox").File; f != "pkg/kubelet/cri/remote/remote_runtime.go" {
		t.Errorf("the file is %s", f)
	}
}

// TestFormerlyWrong: former names that make no sense are refused.
func TestFormerlyWrong(t *testing.T) {
	good := Former{Until: "v1.30", Symbol: "k8s.io/a.(*B).C"}
	for want, s := range map[string]Step{
		"":                 {Symbol: "k8s.io/a.D", Formerly: []Former{{Until: "v1.9", Symbol: "k8s.io/a.E"}, good}},
		"cannot be read":   {Formerly: []Former{{Until: "v1.30", Symbol: "x"}}},
		"no minor version": {Formerly: []Former{{Until: "v1.30.1", Symbol: good.Symbol}}},
		"from the oldest":  {Formerly: []Former{good, {Until: "v1.9", Symbol: "k8s.io/a.E"}}},
		"is today's":       {Symbol: good.Symbol, File: "a.go", Formerly: []Former{{Until: "v1.30", Symbol: good.Symbol, File: "a.go"}}},
	} {
		if got := s.formerlyWrong(); !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%+v: %q, want %q", s.Formerly, got, want)
		}
	}
}

// TestLater: a function literal has another name in a newer kubelet.
func TestLater(t *testing.T) {
	c := MustLoad()
	for version, want := range map[string]string{"v1.35.4": "start", KubernetesVersion: "start", "v1.37.1": "startWithInitState", "v1.38.0": "startWithInitState"} {
		if got := c.In(version).Step("rt.start").Closure; got != want {
			t.Errorf("in %s it is %s, want %s", version, got, want)
		}
	}
	for _, wrong := range []Step{
		{Closure: "a", Later: &Later{From: "v1.37.1", Closure: "b"}}, {Closure: "a", Later: &Later{From: "v1.37", Closure: "a"}},
		{Later: &Later{From: "v1.37", Closure: "b"}},
	} {
		if wrong.formerlyWrong() == "" {
			t.Errorf("%+v of %q is not wrong", wrong.Later, wrong.Closure)
		}
	}
}
