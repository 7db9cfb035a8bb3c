//go:build sim

package lab_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podstep/podstep/agent/labtest"
)

// TestSimVolumes: the kubelet's own volume plugins put real files into place.
func TestSimVolumes(t *testing.T) {
	l := shared.For(t)
	ctx := l.Context()
	core := l.Client.CoreV1()
	if _, err := core.ConfigMaps("default").Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "settings"}, Data: map[string]string{"color": "blue"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := core.Secrets("default").Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "key"}, StringData: map[string]string{"password": "s3cret"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	hostDir := filepath.Join(l.Dir, "node", "tmp")
	p := labtest.BusyboxPod("volumes", labtest.Sleep)
	p.Labels = map[string]string{"app": "volumes"}
	size := resource.MustParse("1Mi")
	labels := []corev1.DownwardAPIVolumeFile{{Path: "labels", FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.labels"}}}
	p.Spec.Volumes = []corev1.Volume{
		{Name: "scratch", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: &size}}},
		{Name: "memory", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory}}},
		{Name: "settings", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}}}},
		{Name: "key", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "key"}}},
		{Name: "about", VolumeSource: corev1.VolumeSource{DownwardAPI: &corev1.DownwardAPIVolumeSource{Items: labels}}},
		{Name: "host", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: hostDir}}},
	}
	group := int64(4711)
	p.Spec.SecurityContext = &corev1.PodSecurityContext{FSGroup: &group}
	for _, v := range p.Spec.Volumes {
		p.Spec.Containers[0].VolumeMounts = append(p.Spec.Containers[0].VolumeMounts, corev1.VolumeMount{Name: v.Name, MountPath: "/" + v.Name})
	}
	p.Spec.Containers[0].VolumeMounts[0].SubPath = "below/here"
	l.Create(p)
	running := l.UntilReady("volumes")

	dir := filepath.Join(l.Dir, "kubelet", "pods", string(running.UID))
	volume := func(plugin, name string, file ...string) string {
		return filepath.Join(append([]string{dir, "volumes", "kubernetes.io~" + plugin, name}, file...)...)
	}
	for file, want := range map[string]string{
		volume("configmap", "settings", "color"):     "blue",
		volume("secret", "key", "password"):          "s3cret",
		volume("downward-api", "about", "labels"):    `app="volumes"`,
		volume("projected", token(running), "token"): "ey",
	} {
		text, err := os.ReadFile(file)
		if err != nil || !strings.HasPrefix(string(text), want) {
			t.Errorf("%s is %q, %v, want %q", file, text, err, want)
		}
	}
	for _, d := range []string{volume("empty-dir", "memory"), volume("empty-dir", "scratch", "below/here")} {
		if info, err := os.Stat(d); err != nil || !info.IsDir() {
			t.Errorf("no directory %s: %v", d, err)
		}
	}
	kubectl(t, l, "delete", "configmap/settings", "secret/key")
	l.Delete("volumes")
	l.UntilGone("volumes")
	l.UntilEvent("volumes", "end of its worker", isStep("worker.loop", "exit"))
	if left, err := filepath.Glob(volume("*", "*")); err != nil || len(left) > 0 {
		t.Errorf("left are %v, %v", left, err)
	}
}

// token returns the name of the volume that has the service account's token.
func token(p *corev1.Pod) string {
	for _, v := range p.Spec.Volumes {
		if v.Projected != nil {
			return v.Name
		}
	}
	return "none"
}
