package gather

import (
	"net/url"
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/podstep/podstep/agent/explain/evidence"
)

// webhooks asks which admission webhooks can refuse the kubelet's last deletion of a pod
// that has ended, and whether anybody is there to answer.
func (a *ask) webhooks(p *corev1.Pod) {
	if p.DeletionTimestamp == nil || p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed {
		return
	}
	var ns corev1.Namespace
	if !a.get("api/v1/namespaces/"+p.Namespace, nil, "namespaces/"+p.Namespace, &ns) {
		return
	}
	// What is read of the two kinds of configurations has the same names in both.
	for _, kind := range []string{"validatingwebhookconfigurations", "mutatingwebhookconfigurations"} {
		configs, _ := all[admissionv1.ValidatingWebhookConfiguration](a, "apis/admissionregistration.k8s.io/v1/"+kind, nil, kind)
		for i := range configs {
			a.webhooksOf(&configs[i], p, &ns)
		}
	}
}

func (a *ask) webhooksOf(config *admissionv1.ValidatingWebhookConfiguration, p *corev1.Pod, ns *corev1.Namespace) {
	for i := range config.Webhooks {
		w := &config.Webhooks[i]
		if !askedToDelete(w.Rules) || !selects(w.NamespaceSelector, ns.Labels) || !selects(w.ObjectSelector, p.Labels) {
			continue
		}
		hook := evidence.Webhook{Configuration: config.Name, Name: w.Name, Fails: w.FailurePolicy == nil || *w.FailurePolicy == admissionv1.Fail, Ready: -1}
		if s := w.ClientConfig.Service; s != nil {
			hook.Service = s.Namespace + "/" + s.Name
			hook.Ready = a.endpoints(s.Namespace, s.Name)
		}
		a.put(func(s *evidence.Snapshot) { s.Cluster.Webhooks = append(s.Cluster.Webhooks, hook) })
	}
}

// askedToDelete reports whether a webhook of some rules is asked about deletions of pods.
func askedToDelete(rules []admissionv1.RuleWithOperations) bool {
	return slices.ContainsFunc(rules, func(r admissionv1.RuleWithOperations) bool {
		return (slices.Contains(r.Operations, admissionv1.Delete) || slices.Contains(r.Operations, admissionv1.OperationAll)) &&
			(slices.Contains(r.APIGroups, "") || slices.Contains(r.APIGroups, "*")) &&
			slices.ContainsFunc(r.Resources, func(name string) bool { return name == "pods" || name == "*" || name == "*/*" })
	})
}

// selects reports whether a selector chooses an object of some labels; none chooses all.
func selects(s *metav1.LabelSelector, of map[string]string) bool {
	if s == nil {
		return true
	}
	selector, err := metav1.LabelSelectorAsSelector(s)
	return err == nil && selector.Matches(labels.Set(of))
}

// endpoints is how many endpoints of a service are ready; -1: not known.
func (a *ask) endpoints(namespace, service string) (ready int) {
	slices, ok := all[discoveryv1.EndpointSlice](a, "apis/discovery.k8s.io/v1/namespaces/"+namespace+"/endpointslices",
		url.Values{"labelSelector": {discoveryv1.LabelServiceName + "=" + service}}, "endpointslices of "+namespace+"/"+service)
	if !ok {
		return -1
	}
	for i := range slices {
		for _, e := range slices[i].Endpoints {
			// No word on it counts as ready, says the API.
			if e.Conditions.Ready == nil || *e.Conditions.Ready {
				ready++
			}
		}
	}
	return ready
}
