//go:build sim

package stuck

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podstep/podstep/agent/labtest"
)

// with makes a pod whose container mounts one volume, which is called data.
func with(v corev1.VolumeSource) func(*Env) {
	return func(e *Env) { e.Busybox(labtest.Sleep, mounting(v)) }
}

func mounting(v corev1.VolumeSource) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: v}}
		p.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}
	}
}

func configMap(name string, keys ...string) corev1.VolumeSource {
	v := &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}}
	for _, k := range keys {
		v.Items = append(v.Items, corev1.KeyToPath{Key: k, Path: k})
	}
	return corev1.VolumeSource{ConfigMap: v}
}

func secret(name string, keys ...string) corev1.VolumeSource {
	v := &corev1.SecretVolumeSource{SecretName: name}
	for _, k := range keys {
		v.Items = append(v.Items, corev1.KeyToPath{Key: k, Path: k})
	}
	return corev1.VolumeSource{Secret: v}
}

// makeConfigMap makes a ConfigMap with one key.
func (e *Env) makeConfigMap(name, key string) {
	e.T.Helper()
	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{key: "1"}}
	if _, err := e.Client.CoreV1().ConfigMaps(e.Namespace).Create(e.Context(), m, metav1.CreateOptions{}); err != nil {
		e.T.Fatal(err)
	}
}

func (e *Env) makeSecret(name, key string) {
	e.T.Helper()
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, StringData: map[string]string{key: "1"}}
	if _, err := e.Client.CoreV1().Secrets(e.Namespace).Create(e.Context(), s, metav1.CreateOptions{}); err != nil {
		e.T.Fatal(err)
	}
}

func TestVolumes(t *testing.T) {
	projected := func(s corev1.VolumeProjection) corev1.VolumeSource {
		return corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{s}}}
	}
	directory := corev1.HostPathDirectory
	inLab(t, []Case{
		{Cause: "volumes.configMapMissing", Make: with(configMap("web-config"))},
		{Cause: "volumes.configMapMissing", Name: "projected", Make: with(projected(corev1.VolumeProjection{
			ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "web-config"}},
		}))},
		{Cause: "volumes.secretMissing", Make: with(secret("db"))},
		{Cause: "volumes.configMapKeyMissing", Make: func(e *Env) {
			e.makeConfigMap("web-config", "web.conf")
			with(configMap("web-config", "web.conf", "users.conf"))(e)
		}},
		{Cause: "volumes.secretKeyMissing", Make: func(e *Env) {
			e.makeSecret("db", "user")
			with(secret("db", "password"))(e)
		}},
		{Cause: "volumes.backOff", Meanwhile: []string{"volumes.configMapMissing"}, Make: func(e *Env) {
			with(configMap("web-config"))(e)
			e.untilEvents("FailedMount", 6) // the next try is 16 seconds later
			e.makeConfigMap("web-config", "web.conf")
		}},
		{Cause: "volumes.hostPath", Make: with(corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/no/such/directory", Type: &directory}})},
		{Cause: "volumes.driverMissing", Name: "inline", Culprit: "driver inline.csi.example.com", Make: with(corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{Driver: "inline.csi.example.com"}})},
		{Cause: "volumes.token", Make: func(e *Env) {
			accounts := e.Client.CoreV1().ServiceAccounts(e.Namespace)
			sa := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
			if _, err := accounts.Create(e.Context(), sa, metav1.CreateOptions{}); err != nil {
				e.T.Fatal(err)
			}
			e.gated(func(p *corev1.Pod) { p.Spec.ServiceAccountName, p.Spec.AutomountServiceAccountToken = "shop", nil }, func() {
				if err := accounts.Delete(e.Context(), "shop", metav1.DeleteOptions{}); err != nil {
					e.T.Fatal(err)
				}
			})
		}},
	})
}

// untilEvents waits until an event of the watched pod came so often, and until objects that are made from then on are
// younger, in the API server's whole seconds.
func (e *Env) untilEvents(reason string, times int32) {
	e.T.Helper()
	var last int64
	labtest.Eventually(e.T, reason, func() bool {
		all, err := e.Client.CoreV1().Events(e.Namespace).List(e.Context(), metav1.ListOptions{FieldSelector: "reason=" + reason})
		var n int32
		for i := range all.Items {
			n += max(1, all.Items[i].Count)
			last = max(last, all.Items[i].LastTimestamp.Unix())
		}
		return err == nil && n >= times
	})
	labtest.Eventually(e.T, "a second after the last "+reason, func() bool { return time.Now().Unix() > last })
}
