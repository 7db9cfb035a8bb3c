package causes

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podstep/podstep/agent/explain/filters"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// asks is a part of a pod that asks for a resource.
type asks struct {
	text   probes.Text
	amount resource.Quantity
}

// originOf says where the pod's request of a resource comes from: which container asks for it, the pod as a whole, or the
// overhead of its RuntimeClass. It is empty if the pod has one container, which asks for all.
func (c *Case) originOf(name corev1.ResourceName) probes.Text {
	parts := c.partsOf(name)
	if len(parts) == 0 || len(parts) == 1 && len(c.Spec.Spec.Containers)+len(c.Spec.Spec.InitContainers) == 1 {
		return probes.Text{}
	}
	total := filters.Asked(c.Spec)[name]
	head := words.With(words.Text("%s of %s are ", "%[2]s 共 %[1]s，来自 "), total.String(), string(name))
	if len(parts) == 1 {
		return words.Joined(words.Same(""), head, parts[0].text)
	}
	var texts []probes.Text
	for _, p := range parts[:min(len(parts), maxNames)] {
		texts = append(texts, words.Joined(words.Same(" "), words.Same(p.amount.String()), p.text))
	}
	return words.Joined(words.Same(""), head, words.Joined(comma, texts...))
}

// partsOf returns the parts of the pod that make up its request of a resource, the largest first. Init containers run one
// after the other, before all others: what the largest of them asks for counts if it is more than the others ask for together.
func (c *Case) partsOf(name corev1.ResourceName) (out []asks) {
	p := c.Spec
	if r := p.Spec.Resources; r != nil && !at(r.Requests, name).IsZero() {
		out = append(out, asks{words.Text("for the pod as a whole (spec.resources)", "整个 Pod 的申请（spec.resources）"), *at(r.Requests, name)})
	} else {
		out = c.containersAsking(name)
	}
	slices.SortStableFunc(out, func(a, b asks) int { return b.amount.Cmp(a.amount) })
	if q := at(p.Spec.Overhead, name); !q.IsZero() {
		class := "-"
		if p.Spec.RuntimeClassName != nil {
			class = *p.Spec.RuntimeClassName
		}
		over := asks{words.With(words.Text("overhead of RuntimeClass %s", "RuntimeClass %s 的开销"), class), *q}
		at := slices.IndexFunc(out, func(a asks) bool { return a.amount.Cmp(*q) < 0 })
		if at < 0 {
			at = len(out)
		}
		out = slices.Insert(out, at, over)
	}
	return out
}

func at(list corev1.ResourceList, name corev1.ResourceName) *resource.Quantity {
	q := list[name]
	return &q
}

// containersAsking returns the containers whose requests count.
func (c *Case) containersAsking(name corev1.ResourceName) (out []asks) {
	var sum resource.Quantity
	largest := (*corev1.Container)(nil)
	add := func(k *corev1.Container, what probes.Text) {
		if q := at(k.Resources.Requests, name); !q.IsZero() {
			out = append(out, asks{what, *q})
			sum.Add(*q)
		}
	}
	for i := range c.Spec.Spec.InitContainers {
		k := &c.Spec.Spec.InitContainers[i]
		switch {
		case k.RestartPolicy != nil && *k.RestartPolicy == corev1.ContainerRestartPolicyAlways:
			add(k, words.Joined(words.Same(""), words.With(words.Text("for the sidecar %s", "边车容器 %s 的申请"), k.Name), c.injected(k.Name)))
		case largest == nil || at(k.Resources.Requests, name).Cmp(*at(largest.Resources.Requests, name)) > 0:
			largest = k
		}
	}
	for i := range c.Spec.Spec.Containers {
		k := &c.Spec.Spec.Containers[i]
		add(k, words.Joined(words.Same(""), words.With(words.Text("for container %s", "容器 %s 的申请"), k.Name), c.injected(k.Name)))
	}
	if largest != nil && at(largest.Resources.Requests, name).Cmp(sum) > 0 {
		return []asks{{words.Joined(words.Same(""), words.With(words.Text("for the init container %s", "init 容器 %s 的申请"), largest.Name), c.injected(largest.Name)), *at(largest.Resources.Requests, name)}}
	}
	return out
}

// injected says that the template of the pod's owner does not have a container; empty: it has it, or is not known.
func (c *Case) injected(container string) probes.Text {
	if len(c.Cluster.Owners) == 0 || len(c.Cluster.Owners[0].Containers) == 0 || slices.Contains(c.Cluster.Owners[0].Containers, container) {
		return probes.Text{}
	}
	o := c.Cluster.Owners[0]
	return words.With(words.Text(" (not in the template of %s %s: a webhook has added it)", "（不在 %s %s 的模板里：由 webhook 加入）"), cmp.Or(o.Kind, "-"), o.Name)
}
