//go:build node

package stuck

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	admission "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podstep/podstep/agent/explain/columns"
	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/agent/labtest"
	"github.com/podstep/podstep/probes/words"
)

// TestNodeColumns: on a real node all places have the same of a pod that runs well, and one of them is the kubelet's own status.
// While the kubelet stands still, only the runtime knows that a container has ended. While the API server does, the other places answer.
func TestNodeColumns(t *testing.T) {
	e := newEnv(t, labtest.Start(t, "--kubelet", withPodsAPI(t)), "columns")
	e.untilFile(func(_ *corev1.Pod, c *corev1.Container) {
		c.Resources = corev1.ResourceRequirements{
			Requests: corev1.ResourceList{"cpu": resource.MustParse("50m"), "memory": resource.MustParse("16Mi")},
			Limits:   corev1.ResourceList{"cpu": resource.MustParse("100m"), "memory": resource.MustParse("32Mi")},
		}
	})
	pod := e.Until("running", Running)
	look := func() *columns.Table {
		return columns.Of(nodeSources(t, e.Lab, Near).Pod(t.Context(), evidence.Name{Namespace: pod.Namespace, Name: pod.Name}))
	}
	var table *columns.Table
	labtest.Eventually(t, "all columns agree", func() bool {
		table = look()
		return len(table.Differing()) == 0 && slices.Contains(comparedPlaces(table)["phase"], columns.Kubelet)
	})
	name := pod.Spec.Containers[0].Name
	for row, want := range map[string]int{
		"the pod": 4, "spec": 2, "phase": 2, "ready": 2, "sandbox": 4, "address": 3, "volumes": 2,
		name + " state": 3, name + " restarts": 3, name + " image": 3, name + " cpu": 4, name + " memory": 4,
	} {
		if got := comparedPlaces(table)[row]; len(got) != want {
			t.Errorf("%s: %v are compared, want %d places", row, got, want)
		}
	}

	standsStill(e, e.KubeletPID())
	end := e.writeFile(pod)
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

	standsStill(e, e.State.Pids["kube-apiserver"])
	labtest.Eventually(t, "the node has it without the API server", func() bool {
		places := comparedPlaces(look())
		return slices.Equal(places["sandbox"], []columns.Place{columns.Kubelet, columns.Runtime, columns.Disk}) && slices.Contains(places[name+" cpu"], columns.Disk)
	})
}

// untilFile makes a pod whose container ends with 9 when writeFile writes its file.
func (e *Env) untilFile(change func(*corev1.Pod, *corev1.Container)) {
	e.Busybox("while [ ! -e /data/end ]; do sleep 1; done; exit 9", func(p *corev1.Pod) {
		c := &p.Spec.Containers[0]
		p.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
		c.VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}
		if change != nil {
			change(p, c)
		}
	})
}

// writeFile lets the container of a pod of untilFile end, without the kubelet.
func (e *Env) writeFile(pod *corev1.Pod) (name string) {
	e.T.Helper()
	name = filepath.Join(e.Dir, "kubelet/pods", string(pod.UID), "volumes/kubernetes.io~empty-dir/data/end")
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		e.T.Fatal(err)
	}
	return name
}

// TestNodeEndUnseen: a container ends while the kubelet stands still.
func TestNodeEndUnseen(t *testing.T) {
	Run(t, func(tb testing.TB) *labtest.Lab { return labtest.Start(tb, unmodified()...) }, []Case{{
		Cause: "ready.endUnseen",
		Make: func(e *Env) {
			e.untilFile(nil)
			pod := e.Until("running", Running)
			standsStill(e, e.KubeletPID())
			e.writeFile(pod)
		},
	}}, nodeSources, "node", Near)
}

// TestNodeStatusBehind: a webhook refuses the pod's status. The kubelet shows the one that it has.
func TestNodeStatusBehind(t *testing.T) {
	Run(t, func(tb testing.TB) *labtest.Lab { return labtest.Start(tb, "--kubelet", withPodsAPI(t)) }, []Case{{
		Cause: "ready.statusLate", Name: "pods-api",
		Make: func(e *Env) {
			e.untilFile(nil)
			pod := e.Until("running", Running)
			e.refuseStatus()
			e.writeFile(pod)
		},
	}}, nodeSources, "node", Near)
}

// refuseStatus has the API server refuse each status of the case's pods.
func (e *Env) refuseStatus() {
	e.T.Helper()
	url, fail, none := "https://127.0.0.1:1/", admission.Fail, admission.SideEffectClassNone
	_, err := e.Client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(e.Context(), &admission.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: e.Namespace},
		Webhooks: []admission.ValidatingWebhook{{
			Name: "status.example.com", ClientConfig: admission.WebhookClientConfig{URL: &url}, FailurePolicy: &fail, SideEffects: &none,
			AdmissionReviewVersions: []string{"v1"},
			NamespaceSelector:       &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: e.Namespace}},
			Rules: []admission.RuleWithOperations{{Operations: []admission.OperationType{admission.Update}, Rule: admission.Rule{
				APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods/status"}}}},
		}},
	}, metav1.CreateOptions{})
	if err != nil {
		e.T.Fatal(err)
	}
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

// comparedPlaces returns the places that are compared, by row.
func comparedPlaces(t *columns.Table) map[string][]columns.Place {
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
