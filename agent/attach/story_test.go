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

// hostedSession is a session whose sources and calls the test plays.
func hostedSession(t *testing.T) *Session {
	t.Helper()
	s := &Session{o: Options{Socket: filepath.Join(t.TempDir(), "agent.sock")}, began: time.Now(), teller: newTeller()}
	if err := s.host(probes.MustLoad(), nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.agent.Close()
		s.server.Stop()
	})
	return s
}

// Whichever source has a pod last, nothing is kept of a pod that is over.
func TestSpecsAreForgotten(t *testing.T) {
	web := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "u1"},
		Spec:       v1.PodSpec{Containers: []v1.Container{{Name: "a", Image: "busybox"}}},
	}
	mirror := web.DeepCopy()
	mirror.UID, mirror.Annotations = "u2", map[string]string{"kubernetes.io/config.mirror": "u1"}
	bound := func(p *v1.Pod) cluster.Said { return cluster.Said{Step: "cluster.bound", Pod: p, Values: []any{nil}} }
	gone := func(p *v1.Pod) cluster.Said {
		return cluster.Said{Step: "cluster.gone", Pod: p, Values: []any{nil, nil}}
	}
	known := func(p *v1.Pod, is bool) cluster.Said {
		return cluster.Said{Step: "cluster.kubelet", Pod: p, Values: []any{is, nil, nil, nil}}
	}
	for name, all := range map[string][]cluster.Said{
		"the API server alone":    {bound(web), gone(web)},
		"the kubelet alone":       {known(web, true), known(web, false)},
		"the kubelet has it last": {bound(web), known(web, true), gone(web), known(web, false)},
		"the kubelet lacks first": {bound(web), known(web, true), known(web, false), gone(web)},
		"a static pod":            {known(web, true), bound(mirror), gone(mirror), known(web, false)},
		"known by its mirror":     {known(web, true), bound(mirror), known(mirror, false)},
	} {
		t.Run(name, func(t *testing.T) {
			s := hostedSession(t)
			for i, said := range all {
				said.At = time.Now()
				s.told(said)
				if i == 0 && len(s.pods.wanted("u1")) != 1 {
					t.Error("what the pod wants is not known")
				}
			}
			if len(s.pods.specs) != 0 {
				t.Errorf("kept: %v", s.pods.specs)
			}
		})
	}
}
