package kubeapi

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Patience returns how long the health probes of a pod's containers let it take at most until it is ready; 0: it has none.
func Patience(p *corev1.Pod) (longest time.Duration) {
	for _, all := range [][]corev1.Container{p.Spec.InitContainers, p.Spec.Containers} {
		for i := range all {
			var d time.Duration
			if p := all[i].StartupProbe; p != nil {
				d += ProbeBudget(p)
			}
			if p := all[i].ReadinessProbe; p != nil {
				d += time.Duration(p.InitialDelaySeconds+max(p.PeriodSeconds, 1)*max(p.SuccessThreshold, 1)) * time.Second
			}
			longest = max(longest, d)
		}
	}
	return longest
}

// ProbeBudget returns how long a health probe may fail until the kubelet acts on it.
func ProbeBudget(p *corev1.Probe) time.Duration {
	return time.Duration(p.InitialDelaySeconds+max(p.PeriodSeconds, 1)*max(p.FailureThreshold, 1)) * time.Second
}
