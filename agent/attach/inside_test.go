package attach

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podstep/podstep/agent"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/uprobe"
)

// TestAgrees: a step that reads a pod under another pod's name is refused for good.
func TestAgrees(t *testing.T) {
	c := probes.MustLoad()
	a, err := agent.New(c, agent.Options{Probes: []probes.Abilities{uprobe.NoAbilities(errors.New("a test has none"))}})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	s := &Session{target: &Target{}, agent: a}
	s.target.specs.setSpec("u1", &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}})
	p := &within{host: &Host{Probe: a.Probe(uprobe.Name), Agent: a, session: s}, refused: map[string]bool{}}
	for _, x := range []struct {
		name    string
		step    string
		pod     any
		refused bool
	}{
		{"the pod", "sync.pod", probes.PodRef{UID: "u1", Namespace: "default", Name: "web"}, false},
		{"a pod that no object was sent of", "sync.pod", probes.PodRef{UID: "u2", Namespace: "default", Name: "other"}, false},
		{"a uid alone", "worker.loop", probes.PodRef{UID: "u1"}, false},
		{"no pod", "sync.pod", nil, false},
		{"another name", "sync.pod", probes.PodRef{UID: "u1", Namespace: "default", Name: "node-1"}, true},
		{"another namespace", "sync.volumes", probes.PodRef{UID: "u1", Namespace: "web", Name: "web"}, true},
	} {
		step := c.Step(x.step)
		p.Enter(&uprobe.Call{Step: step, Values: []any{x.pod}})
		if p.refused[x.step] != x.refused {
			t.Errorf("with %s %s is refused: %v", x.name, x.step, p.refused[x.step])
		}
	}
}
