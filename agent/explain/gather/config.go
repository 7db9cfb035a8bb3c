package gather

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/podstep/podstep/agent/explain/evidence"
)

// keysOnly is a Secret or a ConfigMap without its values: decoding skips them.
type keysOnly struct {
	Type       string             `json:"type"`
	Data       map[string]ignored `json:"data"`
	BinaryData map[string]ignored `json:"binaryData"`
}

// ignored is a value that is not read.
type ignored struct{}

// UnmarshalJSON takes any value and keeps nothing of it.
func (*ignored) UnmarshalJSON([]byte) error { return nil }

// config asks for the Secrets and ConfigMaps that the pod refers to: whether they are
// there, and which keys they have.
func (a *ask) config(p *corev1.Pod) {
	secrets, maps := referred(p)
	var each []func()
	for _, name := range secrets {
		each = append(each, func() {
			if k, ok := a.keys("secrets", name); ok {
				a.put(func(s *evidence.Snapshot) { s.Cluster.Secrets = append(s.Cluster.Secrets, k) })
			}
		})
	}
	for _, name := range maps {
		each = append(each, func() {
			if k, ok := a.keys("configmaps", name); ok {
				a.put(func(s *evidence.Snapshot) { s.Cluster.ConfigMaps = append(s.Cluster.ConfigMaps, k) })
			}
		})
	}
	if name := p.Spec.ServiceAccountName; name != "" {
		each = append(each, func() {
			var sa corev1.ServiceAccount
			if a.get("api/v1/namespaces/"+p.Namespace+"/serviceaccounts/"+name, nil, "serviceaccounts/"+name, &sa) {
				sa.ManagedFields, sa.Annotations = nil, nil
				a.put(func(s *evidence.Snapshot) { s.Cluster.ServiceAccount = &sa })
			}
		})
	}
	together(each...)
}

func (a *ask) keys(resource, name string) (evidence.Keys, bool) {
	var o keysOnly
	if !a.get("api/v1/namespaces/"+a.s.Name.Namespace+"/"+resource+"/"+name, nil, resource+"/"+name, &o) {
		return evidence.Keys{}, false
	}
	keys := append(slices.Collect(maps.Keys(o.Data)), slices.Collect(maps.Keys(o.BinaryData))...)
	slices.Sort(keys)
	return evidence.Keys{Name: name, Known: true, Keys: keys, Type: o.Type}, true
}

// referred returns the names of the Secrets and the ConfigMaps that a pod refers to.
func referred(p *corev1.Pod) (secrets, configMaps []string) {
	for _, s := range p.Spec.ImagePullSecrets {
		secrets = append(secrets, s.Name)
	}
	for _, v := range p.Spec.Volumes {
		switch {
		case v.Secret != nil:
			secrets = append(secrets, v.Secret.SecretName)
		case v.ConfigMap != nil:
			configMaps = append(configMaps, v.ConfigMap.Name)
		case v.Projected != nil:
			for _, s := range v.Projected.Sources {
				if s.Secret != nil {
					secrets = append(secrets, s.Secret.Name)
				}
				if s.ConfigMap != nil {
					configMaps = append(configMaps, s.ConfigMap.Name)
				}
			}
		}
	}
	for _, all := range [][]corev1.Container{p.Spec.InitContainers, p.Spec.Containers} {
		for i := range all {
			s, m := referredByEnv(&all[i])
			secrets, configMaps = append(secrets, s...), append(configMaps, m...)
		}
	}
	return unique(secrets), unique(configMaps)
}

func referredByEnv(c *corev1.Container) (secrets, configMaps []string) {
	for _, e := range c.EnvFrom {
		if e.SecretRef != nil {
			secrets = append(secrets, e.SecretRef.Name)
		}
		if e.ConfigMapRef != nil {
			configMaps = append(configMaps, e.ConfigMapRef.Name)
		}
	}
	for _, e := range c.Env {
		if e.ValueFrom == nil {
			continue
		}
		if r := e.ValueFrom.SecretKeyRef; r != nil {
			secrets = append(secrets, r.Name)
		}
		if r := e.ValueFrom.ConfigMapKeyRef; r != nil {
			configMaps = append(configMaps, r.Name)
		}
	}
	return secrets, configMaps
}

func unique(all []string) []string {
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(s string) bool { return s == "" })
}

// classes asks for the classes that the pod names.
func (a *ask) classes(p *corev1.Pod) {
	together(func() {
		if p.Spec.RuntimeClassName == nil {
			return
		}
		name := *p.Spec.RuntimeClassName
		var c nodev1.RuntimeClass
		if a.get("apis/node.k8s.io/v1/runtimeclasses/"+name, nil, "runtimeclasses/"+name, &c) {
			c.ManagedFields, c.Annotations = nil, nil
			a.put(func(s *evidence.Snapshot) { s.Cluster.RuntimeClass = &c })
		}
	}, func() {
		name := p.Spec.PriorityClassName
		if name == "" || p.Spec.NodeName != "" {
			return
		}
		var c schedulingv1.PriorityClass
		if a.get("apis/scheduling.k8s.io/v1/priorityclasses/"+name, nil, "priorityclasses/"+name, &c) {
			c.ManagedFields, c.Annotations = nil, nil
			a.put(func(s *evidence.Snapshot) { s.Cluster.PriorityClass = &c })
		}
	})
}

// resources asks for the pod's claims on devices.
func (a *ask) resources(p *corev1.Pod) {
	if len(p.Spec.ResourceClaims) == 0 {
		return
	}
	each := []func(){func() { a.deviceHolders(p) }}
	for _, name := range resourceClaims(p) {
		each = append(each, func() {
			var c evidence.ResourceClaim
			if a.get("apis/resource.k8s.io/v1/namespaces/"+p.Namespace+"/resourceclaims/"+name, nil, "resourceclaims/"+name, &c) {
				c.ManagedFields, c.Annotations = nil, nil
				a.put(func(s *evidence.Snapshot) { s.Cluster.ResourceClaims = append(s.Cluster.ResourceClaims, c) })
			}
		})
	}
	each = append(each, func() {
		items, ok := all[metav1.PartialObjectMetadata](a, "apis/resource.k8s.io/v1/deviceclasses", nil, "deviceclasses")
		if !ok {
			return
		}
		names := []string{}
		for _, c := range items {
			names = append(names, c.Name)
		}
		a.put(func(s *evidence.Snapshot) { s.Cluster.DeviceClasses = names })
	})
	together(each...)
}

// resourceClaims returns the names of the claims that a pod names, or that were made for it.
func resourceClaims(p *corev1.Pod) (out []string) {
	for _, c := range p.Spec.ResourceClaims {
		if c.ResourceClaimName != nil {
			out = append(out, *c.ResourceClaimName)
		}
	}
	for _, c := range p.Status.ResourceClaimStatuses {
		if c.ResourceClaimName != nil {
			out = append(out, *c.ResourceClaimName)
		}
	}
	return unique(out)
}

// policies asks for the disruption budgets that select the pod.
func (a *ask) policies(p *corev1.Pod) {
	items, _ := all[policyv1.PodDisruptionBudget](a, "apis/policy/v1/namespaces/"+p.Namespace+"/poddisruptionbudgets", nil, "poddisruptionbudgets")
	for i := range items {
		selector, err := metav1.LabelSelectorAsSelector(items[i].Spec.Selector)
		if err != nil || !selector.Matches(labels.Set(p.Labels)) {
			continue
		}
		items[i].ManagedFields, items[i].Annotations = nil, nil
		a.put(func(s *evidence.Snapshot) { s.Cluster.Budgets = append(s.Cluster.Budgets, items[i]) })
	}
}

// quotas asks for the quotas of the namespace.
func (a *ask) quotas() {
	items, _ := all[corev1.ResourceQuota](a, "api/v1/namespaces/"+a.s.Name.Namespace+"/resourcequotas", nil, "resourcequotas")
	for i := range items {
		items[i].ManagedFields, items[i].Annotations = nil, nil
	}
	a.put(func(s *evidence.Snapshot) { s.Cluster.Quotas = items })
}
