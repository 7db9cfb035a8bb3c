package gather

import (
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/podstep/podstep/agent/explain/evidence"
)

// TestMadeEvidence: a snapshot that is written by hand has nothing that podstep leaves out when it gathers. Otherwise a cause would
// be proven that nobody ever sees.
func TestMadeEvidence(t *testing.T) {
	files, err := filepath.Glob("../causes/testdata/recorded/*/made-*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no snapshots: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var s evidence.Snapshot
		if err := yaml.Unmarshal(text, &s); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		name := filepath.Base(filepath.Dir(file)) + "/" + filepath.Base(file)
		if s.Pod != nil && !equality.Semantic.DeepEqual(trimmed(s.Pod), s.Pod) {
			got, _ := yaml.Marshal(trimmed(s.Pod))
			t.Errorf("%s: its pod has more than is gathered, which is\n%s", name, got)
		}
		if s.KubeletPod != nil && !equality.Semantic.DeepEqual(trimmed(s.KubeletPod), s.KubeletPod) {
			t.Errorf("%s: the kubelet's pod has more than is gathered", name)
		}
		if n := s.Cluster.Node; n != nil && !equality.Semantic.DeepEqual(trimmedNode(n), n) {
			t.Errorf("%s: its node has more than is gathered", name)
		}
		for _, o := range objectsIn(&s) {
			if len(o.GetManagedFields()) > 0 {
				t.Errorf("%s: %s has managed fields, which are not gathered", name, o.GetName())
			}
		}
	}
}

// objectsIn returns the other objects of a snapshot.
func objectsIn(s *evidence.Snapshot) (out []metav1.Object) {
	c := &s.Cluster
	for i := range c.Claims {
		out = append(out, &c.Claims[i])
	}
	for i := range c.Volumes {
		out = append(out, &c.Volumes[i])
	}
	for i := range c.Attachments {
		out = append(out, &c.Attachments[i])
	}
	for i := range c.Classes {
		out = append(out, &c.Classes[i])
	}
	for i := range c.Drivers {
		out = append(out, &c.Drivers[i])
	}
	for i := range c.Budgets {
		out = append(out, &c.Budgets[i])
	}
	return out
}
