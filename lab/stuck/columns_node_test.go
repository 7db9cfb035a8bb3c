//go:build node

package stuck

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podstep/podstep/agent/explain/columns"
	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/agent/labtest"
	"github.com/podstep/podstep/probes/words"
)

// TestNodeColumns: on a real node all places have the same of a pod that runs well, and one of them is the kubelet's own status.
// While the kubelet stands still, only the runtime knows that a container has ended.
func TestNodeColumns(t *testing.T) {
	e := newEnv(t, labtest.Start(t, "--kubelet", withPodsAPI(t)), "columns")
	e.Busybox("while [ ! -e /data/end ]; do sleep 1; done; exit 9", func(p *corev1.Pod) {
		c := &p.Spec.Containers[0]
		c.Resources = corev1.ResourceRequirements{
			Requests: corev1.ResourceList{"cpu": resource.MustParse("50m"), "memory": resource.MustParse("16Mi")},
			Limits:   corev1.ResourceList{"cpu": resource.MustParse("100m"), "memory": resource.MustParse("32Mi")},
		}
		p.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
		c.VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}
	})
	pod := e.Until("running", Running)
	look := func() *columns.Table {
		return columns.Of(nodeSources(t, e.Lab, Near).Pod(t.Context(), evidence.Name{Namespace: pod.Namespace, Name: pod.Name}))
	}
	var table *columns.Table
	labtest.Eventually(t, "all columns agree", func() bool {
		table = look()
		return len(table.Differing()) == 0 && slices.Contains(compared(table)["phase"], columns.Kubelet)
	})
	name := pod.Spec.Containers[0].Name
	for row, want := range map[string]int{
		"the pod": 4, "spec": 2, "phase": 2, "ready": 2, "sandbox": 4, "address": 3, "volumes": 2,
		name + " state": 3, name + " restarts": 3, name + " image": 3, name + " cpu": 4, name + " memory": 4,
	} {
		if got := compared(table)[row]; len(got) != want {
			t.Errorf("%s: %v are compared, want %d places", row, got, want)
		}
	}

	standsStill(e, e.KubeletPID())
	end := filepath.Join(e.Dir, "kubelet/pods", string(pod.UID), "volumes/kubernetes.io~empty-dir/data/end")
	if err := os.WriteFile(end, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	labtest.Eventually(t, "only the runtime knows the end", func() bool {
		rows := look().Differing()
		return len(rows) == 1 && rows[0].Name(words.English) == name+" state" && !rows[0].Since.IsZero()
	})
	if err := os.Remove(end); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(e.KubeletPID(), syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	labtest.Eventually(t, "all columns agree again", func() bool { return len(look().Differing()) == 0 })
}

// withPodsAPI returns a kubelet that serves its pods API, as those from v1.37 on do by themselves.
func withPodsAPI(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "kubelet")
	script := fmt.Sprintf("#!/bin/sh\nexec '%s/kubelet' \"$@\" --feature-gates=PodsAPI=true\n", os.Getenv("PODSTEP_BIN"))
	if err := os.WriteFile(name, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return name
}

// compared returns the places that are compared, by row.
func compared(t *columns.Table) map[string][]columns.Place {
	out := map[string][]columns.Place{}
	for i := range t.Rows {
		for _, p := range columns.Places {
			if t.Rows[i].Cells[p].Compared() {
				row := t.Rows[i].Name(words.English)
				out[row] = append(out[row], p)
			}
		}
	}
	return out
}
