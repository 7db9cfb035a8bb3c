package attach

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/clock"
	"github.com/podstep/podstep/probes/cri/relayproc"
	"github.com/podstep/podstep/probes/kubelets"
)

// standard are the kinds of probes of this package.
var standard = []Kind{AllCalls, API, KubeletList}

// TestAbilities: every step has the probes that see it, or a reason why none does; no probe holds a report.
func TestAbilities(t *testing.T) {
	c := probes.MustLoad()
	var can []probes.Abilities
	for _, k := range standard {
		if a := k.Abilities(c, nil); a.Probe != k.Name {
			t.Errorf("%s has the abilities of %s", k.Name, a.Probe)
		} else {
			can = append(can, a)
		}
	}
	for i := range c.Steps {
		s := &c.Steps[i]
		seen, why := "", false
		for _, a := range can {
			x := a.At(s.Name)
			if x.Sees() {
				seen += " " + a.Probe
			}
			why = why || !x.Unseen.IsZero()
			if x.HoldEnter && (a.Probe != "cri" || !x.NoHold.IsZero()) {
				t.Errorf("%s holds at %s", a.Probe, s.Name)
			}
		}
		if (seen == "") != why {
			t.Errorf("%s is seen by%s, and not for a reason: %v", s.Name, seen, why)
		}
		if s.Report() && !strings.Contains(seen, string(s.Seen)) {
			t.Errorf("%s is seen by%s", s.Name, seen)
		}
	}
	for step, want := range map[string]string{"reported.phase": " api kubelet", "reported.event": " api", "cluster.kubelet": " kubelet", "cluster.sandbox": " cri", "cri.other": " cri"} {
		got := ""
		for _, a := range can {
			if x := a.At(step); x.Sees() {
				got += " " + a.Probe
			}
		}
		if got != want {
			t.Errorf("%s is seen by%s, want%s", step, got, want)
		}
	}
}

func TestEndpoints(t *testing.T) {
	for _, test := range []struct {
		runtime, image string
		want           string
	}{
		{"/run/a.sock", "/run/a.sock", "/run/a.sock"},
		{"/run/a.sock", "", "/run/a.sock"},
		{"/run/a.sock", "/run/b.sock", "/run/a.sock /run/b.sock"},
		{"", "/run/b.sock", "/run/b.sock"},
		{"", "", ""},
	} {
		k := kubelets.Kubelet{RuntimeEndpoint: test.runtime, ImageEndpoint: test.image}
		if got := strings.Join(endpoints(&k), " "); got != test.want {
			t.Errorf("%q and %q: got %q, want %q", test.runtime, test.image, got, test.want)
		}
	}
}

// TestEndpointsByLink: a socket with two names is taken over once.
func TestEndpointsByLink(t *testing.T) {
	root := t.TempDir()
	for _, err := range []error{
		os.MkdirAll(root+"/run", 0o755), os.WriteFile(root+"/run/a.sock", nil, 0o600), os.WriteFile(root+"/run/b.sock", nil, 0o600),
		os.Symlink("/run", root+"/var"),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for image, want := range map[string]string{"/var/a.sock": "/run/a.sock", "/var/b.sock": "/run/a.sock /var/b.sock"} {
		k := kubelets.Kubelet{Root: root, RuntimeEndpoint: "/run/a.sock", ImageEndpoint: image}
		if got := strings.Join(endpoints(&k), " "); got != want {
			t.Errorf("with %s: got %q, want %q", image, got, want)
		}
	}
}

func TestList(t *testing.T) {
	now := clock.Now()
	call := func(method string, age time.Duration) relayproc.Call {
		return relayproc.Call{Method: method, Began: now.Add(-age)}
	}
	got := list([]relayproc.Call{
		call("/runtime.v1.ImageService/PullImage", 3*time.Minute-400*time.Millisecond),
		call("/runtime.v1.RuntimeService/StopContainer", 1600*time.Millisecond),
	})
	if want := "PullImage for 3m0s, StopContainer for 2s"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	many := make([]relayproc.Call, 5)
	if got := list(many); !strings.HasSuffix(got, ", and 2 more") {
		t.Errorf("five calls are listed as %q", got)
	}
}
