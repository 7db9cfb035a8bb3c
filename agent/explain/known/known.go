// Package known has names that others have given to things of a pod, and who they are.
package known

import "strings"

// known are who sets a readiness gate, or removes a finalizer, by how its name begins.
var known = []struct{ prefix, who string }{
	{"batch.kubernetes.io/job-tracking", "kube-controller-manager (Job)"},
	{"foregroundDeletion", "kube-controller-manager (garbage collector)"},
	{"orphan", "kube-controller-manager (garbage collector)"},
	{"kubernetes.io/pvc-protection", "kube-controller-manager (PVC protection)"},
	{"kueue.x-k8s.io/", "Kueue"},
	{"workflows.argoproj.io/", "Argo Workflows"},
	{"prow.x-k8s.io/", "Prow (crier)"},
	{"target-health.elbv2.k8s.aws/", "AWS Load Balancer Controller"},
	{"target-health.alb.ingress.k8s.aws/", "AWS Load Balancer Controller"},
	{"elbv2.k8s.aws/", "AWS Load Balancer Controller"},
	{"vpcresources.k8s.aws/", "AWS VPC Resource Controller"},
	{"cloud.google.com/load-balancer-neg-ready", "GKE (NEG controller)"},
	{"networking.gke.io/", "GKE"},
	{"apps.kruise.io/", "OpenKruise"},
	{"InPlaceUpdateReady", "OpenKruise"},
	{"KruisePodReady", "OpenKruise"},
}

// Who names who sets a readiness gate or removes a finalizer: one that is known, or
// the domain in its name, or the name itself.
func Who(name string) string {
	for _, k := range known {
		if strings.HasPrefix(name, k.prefix) {
			return k.who
		}
	}
	domain, _, _ := strings.Cut(name, "/")
	return domain
}
