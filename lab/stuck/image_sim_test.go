//go:build sim

package stuck

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podstep/podstep/agent/labtest"
)

// faultOf sets an annotation that makes the simulated runtime fail in some way.
func faultOf(p *corev1.Pod, name, value string) {
	if p.Annotations == nil {
		p.Annotations = map[string]string{}
	}
	p.Annotations["sim.podstep.dev/"+name] = value
}

// refused makes a pod whose image the registry refuses in some way.
func refused(how string, change func(*corev1.Pod)) func(*Env) {
	return func(e *Env) {
		e.Busybox(labtest.Sleep, func(p *corev1.Pod) {
			faultOf(p, "pull", how)
			p.Spec.Containers[0].Image = "registry.example/" + how + ":1"
			if change != nil {
				change(p)
			}
		})
	}
}

func TestImage(t *testing.T) {
	inLab(t, []Case{
		{Cause: "image.notFound", Make: func(e *Env) {
			e.Busybox(labtest.Sleep, func(p *corev1.Pod) { p.Spec.Containers[0].Image = "busybox:no-such-tag" })
		}},
		{Cause: "image.notFound", Name: "volume", Make: func(e *Env) {
			e.Busybox(labtest.Sleep, func(p *corev1.Pod) {
				p.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{Image: &corev1.ImageVolumeSource{Reference: "data:no-such-tag"}}}}
				p.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}
			})
		}},
		{Cause: "image.notFound", Name: "init", Make: func(e *Env) {
			e.Busybox(labtest.Sleep, func(p *corev1.Pod) {
				p.Spec.InitContainers = []corev1.Container{{Name: "setup", Image: "setup:no-such-tag"}}
			})
		}},
		{Cause: "image.unauthorized", Make: refused("unauthorized", nil)},
		{Cause: "image.pullSecretMissing", Meanwhile: []string{"image.unauthorized"}, Make: refused("unauthorized", func(p *corev1.Pod) {
			p.Spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "registry"}}
		})},
		{Cause: "image.pullSecretUseless", Make: func(e *Env) {
			s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "registry"}, StringData: map[string]string{"user": "me"}}
			if _, err := e.Client.CoreV1().Secrets(e.Namespace).Create(e.Context(), s, metav1.CreateOptions{}); err != nil {
				e.T.Fatal(err)
			}
			refused("unauthorized", func(p *corev1.Pod) { p.Spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "registry"}} })(e)
		}},
		{Cause: "image.rateLimited", Make: refused("rate-limited", nil)},
		{Cause: "image.dns", Make: refused("no-network", nil)},
		{Cause: "image.registryUnavailable", Make: refused("unavailable", nil)},
		{Cause: "image.signature", Make: refused("signature", nil)},
		{Cause: "image.invalidName", Make: func(e *Env) {
			e.Busybox(labtest.Sleep, func(p *corev1.Pod) { p.Spec.Containers[0].Image = "Busybox:1" })
		}},
		{Cause: "image.neverPull", Make: func(e *Env) {
			e.Busybox(labtest.Sleep, func(p *corev1.Pod) {
				p.Spec.Containers[0].Image, p.Spec.Containers[0].ImagePullPolicy = "nowhere:1", corev1.PullNever
			})
		}},
	})
}

// TestPullHangs: the API server shows the same for a pull that runs and for a pull that is queued. It does not show
// which it is.
func TestPullHangs(t *testing.T) {
	apart := map[Way]string{API: "image.pullOpen"}
	hang := func(e *Env, name string) *corev1.Pod {
		p := labtest.BusyboxPod(name, labtest.Sleep)
		p.Spec.Containers[0].Image = "registry.example/" + name + ":1"
		return p
	}
	alone(t, []Case{
		{Cause: "image.pullRuns", Only: apart, Make: func(e *Env) {
			p := hang(e, "slow")
			faultOf(p, "pull", "hang")
			e.Pod(p)
		}},
		{Cause: "image.pullQueued", Culprit: "pod NS/first", Only: apart, Make: func(e *Env) {
			first := hang(e, "first")
			faultOf(first, "pull", "hang")
			e.Pod(first)
			labtest.Eventually(e.T, "the first pull", func() bool {
				all, err := e.Client.CoreV1().Events(e.Namespace).List(e.Context(), metav1.ListOptions{FieldSelector: "reason=Pulling"})
				return err == nil && len(all.Items) > 0
			})
			e.Pod(hang(e, "second"))
		}},
	})
}
