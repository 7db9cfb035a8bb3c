//go:build sim

package stuck

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podstep/podstep/agent/labtest"
)

// withInit makes a pod with an init container. change changes both.
func withInit(change func(p *corev1.Pod, c *corev1.Container)) func(*Env) {
	return func(e *Env) {
		e.Busybox(labtest.Sleep, func(p *corev1.Pod) {
			setup := *p.Spec.Containers[0].DeepCopy()
			setup.Name = "setup"
			p.Spec.InitContainers = []corev1.Container{setup}
			change(p, &p.Spec.InitContainers[0])
		})
	}
}

func TestInit(t *testing.T) {
	inLab(t, []Case{
		{Cause: "init.crashLoop", Make: withInit(func(p *corev1.Pod, _ *corev1.Container) { faultOf(p, "setup.exit", "1") })},
		{Cause: "init.oomKilled", Make: withInit(func(p *corev1.Pod, c *corev1.Container) {
			faultOf(p, "setup.oom-after", "1s")
			c.Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("32Mi")}
		})},
		{Cause: "init.failed", Make: withInit(func(p *corev1.Pod, _ *corev1.Container) {
			p.Spec.RestartPolicy = corev1.RestartPolicyNever
			faultOf(p, "setup.exit", "4")
		})},
		{Cause: "init.sidecarNotStarted", Make: withInit(func(_ *corev1.Pod, c *corev1.Container) {
			c.RestartPolicy = ptr(corev1.ContainerRestartPolicyAlways)
			c.StartupProbe = closed()
			c.StartupProbe.FailureThreshold = 1000
		})},
		{Cause: "start.crashes", Name: "sidecar", Make: withInit(func(p *corev1.Pod, c *corev1.Container) {
			c.RestartPolicy = ptr(corev1.ContainerRestartPolicyAlways)
			c.StartupProbe = closed()
			c.StartupProbe.FailureThreshold = 1000
			faultOf(p, "setup.exit", "5")
		})},
		{Cause: "start.execNotFound", Name: "init", Make: withInit(func(p *corev1.Pod, _ *corev1.Container) {
			faultOf(p, "setup.start-error", "exec: \"setup\": executable file not found in $PATH")
		})},
	})
}
