package attach

import (
	"path/filepath"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podstep/podstep/agent/attach/cluster"
	"github.com/podstep/podstep/probes"
)

// hosted is a session for which the test plays the kubelet, the runtime and the cluster. It has its probes, but the
// test reports what they would see.
type hosted struct {
	*Session
	cri       *relayed
	reporters map[probes.Witness]*reporter
}

func hostedSession(t testing.TB) *hosted {
	t.Helper()
	return hostedAt(t, filepath.Join(t.TempDir(), "agent.sock"))
}

// hostedAt is hostedSession with its agent at a socket.
func hostedAt(t testing.TB, socket string) *hosted {
	t.Helper()
	o := Options{Socket: socket, Probes: standard}
	s := &hosted{Session: &Session{o: o, target: &Target{}}, reporters: map[probes.Witness]*reporter{}}
	if err := s.host(probes.MustLoad()); err != nil {
		t.Fatal(err)
	}
	for _, k := range standard {
		h := s.newHost(t.Context(), k.Name)
		s.hosts = append(s.hosts, h)
		if k.Name == CRI.Name {
			s.cri = &relayed{target: s.target, publisher: newPublisher()}
			s.cri.prepare(h)
			continue
		}
		by := probes.Witness(k.Name)
		s.reporters[by] = s.target.reporter(by, nil)
		s.reporters[by].host = h
	}
	t.Cleanup(func() {
		s.agent.Close()
		s.server.Stop()
	})
	return s
}

// watcher returns what watches calls for the session.
func (s *hosted) watcher() *watcher {
	return &watcher{agent: s.agent, probe: s.cri.host.Probe, publisher: s.cri.publisher, pods: s.cri.pods}
}

// report plays a report of a source.
func (s *hosted) report(r cluster.Report) { s.reporters[r.By].report(r) }

// TestSpecsAreForgotten: nothing is kept of a pod that is gone, whichever source has it last.
func TestSpecsAreForgotten(t *testing.T) {
	web := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "u1"},
		Spec:       v1.PodSpec{Containers: []v1.Container{{Name: "a", Image: "busybox"}}},
	}
	mirror := web.DeepCopy()
	mirror.UID, mirror.Annotations = "u2", map[string]string{"kubernetes.io/config.mirror": "u1"}
	bound := func(p *v1.Pod) cluster.Report {
		return cluster.Report{By: probes.ByAPI, Step: "cluster.bound", Pod: p, Values: []any{nil}}
	}
	gone := func(p *v1.Pod) cluster.Report {
		return cluster.Report{By: probes.ByAPI, Step: "cluster.gone", Pod: p, Values: []any{nil, nil}}
	}
	known := func(p *v1.Pod, is bool) cluster.Report {
		return cluster.Report{By: probes.ByKubelet, Step: "cluster.kubelet", Pod: p, Values: []any{is, nil, nil, nil}}
	}
	for name, all := range map[string][]cluster.Report{
		"the API server alone":    {bound(web), gone(web)},
		"the kubelet alone":       {known(web, true), known(web, false)},
		"the kubelet has it last": {bound(web), known(web, true), gone(web), known(web, false)},
		"the kubelet lacks first": {bound(web), known(web, true), known(web, false), gone(web)},
		"a static pod":            {known(web, true), bound(mirror), gone(mirror), known(web, false)},
		"known by its mirror":     {known(web, true), bound(mirror), known(mirror, false)},
	} {
		t.Run(name, func(t *testing.T) {
			s := hostedSession(t)
			for i, report := range all {
				report.At = time.Now()
				s.report(report)
				if i == 0 && len(s.target.specs.wanted("u1")) != 1 {
					t.Error("what the pod wants is not known")
				}
			}
			if len(s.target.specs.byUID) != 0 {
				t.Errorf("kept: %v", s.target.specs.byUID)
			}
		})
	}
}
