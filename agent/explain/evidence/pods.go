package evidence

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// ConditionIn returns a condition of a pod's status; nil: there is none.
func ConditionIn(st *corev1.PodStatus, kind corev1.PodConditionType) *corev1.PodCondition {
	if st == nil {
		return nil
	}
	if i := slices.IndexFunc(st.Conditions, func(c corev1.PodCondition) bool { return c.Type == kind }); i >= 0 {
		return &st.Conditions[i]
	}
	return nil
}

// ResizedAt returns when somebody last resized a pod, as its managed fields have it; zero: nobody has, or they do not say.
func ResizedAt(p *corev1.Pod) (last time.Time) {
	for i := range p.ManagedFields {
		if f := &p.ManagedFields[i]; f.Subresource == "resize" && f.Time != nil && f.Time.After(last) {
			last = f.Time.Time
		}
	}
	return last
}

// Newest returns the runtime's newest container of a name; nil: it has none, or nobody asked it.
func (r *Runtime) Newest(name string) *Container {
	if r == nil {
		return nil
	}
	if i := slices.IndexFunc(r.Containers, func(c Container) bool { return c.Name == name }); i >= 0 {
		return &r.Containers[i]
	}
	return nil
}
