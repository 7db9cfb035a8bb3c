//go:build sim

package stuck

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/podstep/podstep/agent/lab/labtest"
)

func TestImage(t *testing.T) {
	inLab(t, []Case{
		{Cause: "image.notFound", Make: func(e *Env) {
			e.Busybox(labtest.Sleep, func(p *corev1.Pod) { p.Spec.Containers[0].Image = "busybox:no-such-tag" })
		}},
	})
}
