package gather

import (
	"cmp"
	"net/url"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/podstep/podstep/agent/explain/evidence"
)

// webhooks asks which admission webhooks can refuse the kubelet's last deletion of a pod that
// has ended, and how many endpoints they have that can answer.
func (a *ask) webhooks(p *corev1.Pod) {
	if p.DeletionTimestamp == nil || p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed {
		return
	}
	var ns corev1.Namespace
	if !a.get("api/v1/namespaces/"+p.Namespace, nil, "namespaces/"+p.Namespace, &ns) {
		return
	}
	for _, kind := range []string{"validatingwebhookconfigurations", "mutatingwebhookconfigurations"} {
		configs, _ := all[webhookConfiguration](a, "apis/admissionregistration.k8s.io/v1/"+kind, nil, kind)
		for i := range configs {
			a.webhooksOf(&configs[i], p, &ns)
		}
	}
}

// webhookConfiguration is the part of validating and mutating configurations that podstep
// reads: its names are the same in both. The types of k8s.io/api would add 0.8 MB to podstep.
type webhookConfiguration struct {
	metav1.ObjectMeta `json:"metadata"`
	Webhooks          []struct {
		Name              string                `json:"name"`
		Rules             []webhookRule         `json:"rules"`
		NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector"`
		ObjectSelector    *metav1.LabelSelector `json:"objectSelector"`
		FailurePolicy     string                `json:"failurePolicy"`
		ClientConfig      struct {
			Service *struct{ Namespace, Name string } `json:"service"`
		} `json:"clientConfig"`
	} `json:"webhooks"`
}

// webhookRule says which requests a webhook is asked about; "*" stands for all.
type webhookRule struct {
	Operations []string `json:"operations"`
	APIGroups  []string `json:"apiGroups"`
	Resources  []string `json:"resources"`
}

func (a *ask) webhooksOf(config *webhookConfiguration, p *corev1.Pod, ns *corev1.Namespace) {
	for i := range config.Webhooks {
		w := &config.Webhooks[i]
		if !askedToDelete(w.Rules) || !selects(w.NamespaceSelector, ns.Labels) || !selects(w.ObjectSelector, p.Labels) {
			continue
		}
		hook := evidence.Webhook{Configuration: config.Name, Name: w.Name, Fails: cmp.Or(w.FailurePolicy, "Fail") == "Fail", Ready: -1}
		if s := w.ClientConfig.Service; s != nil {
			hook.Service = s.Namespace + "/" + s.Name
			hook.Ready = a.endpoints(s.Namespace, s.Name)
		}
		a.put(func(s *evidence.Snapshot) { s.Cluster.Webhooks = append(s.Cluster.Webhooks, hook) })
	}
}

// askedToDelete reports whether a webhook with these rules is asked about deletions of pods.
func askedToDelete(rules []webhookRule) bool {
	return slices.ContainsFunc(rules, func(r webhookRule) bool {
		return (slices.Contains(r.Operations, "DELETE") || slices.Contains(r.Operations, "*")) &&
			(slices.Contains(r.APIGroups, "") || slices.Contains(r.APIGroups, "*")) &&
			slices.ContainsFunc(r.Resources, func(name string) bool { return name == "pods" || name == "*" || name == "*/*" })
	})
}

// selects reports whether a selector chooses an object with these labels. A nil selector chooses all.
func selects(s *metav1.LabelSelector, of map[string]string) bool {
	if s == nil {
		return true
	}
	selector, err := metav1.LabelSelectorAsSelector(s)
	return err == nil && selector.Matches(labels.Set(of))
}

// endpoints returns how many endpoints of a service are ready; -1: not known.
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
