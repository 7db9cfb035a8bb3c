package gather

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podstep/podstep/agent/explain/evidence"
)

// deviceClaim is what deviceHolders reads of a ResourceClaim.
type deviceClaim struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Devices struct {
			Requests []struct {
				Exactly        *classRequest  `json:"exactly"`
				FirstAvailable []classRequest `json:"firstAvailable"`
			} `json:"requests"`
		} `json:"devices"`
	} `json:"spec"`
	Status struct {
		Allocation  *struct{} `json:"allocation"`
		ReservedFor []struct {
			Resource string `json:"resource"`
			Name     string `json:"name"`
			UID      string `json:"uid"`
		} `json:"reservedFor"`
	} `json:"status"`
}

type classRequest struct {
	DeviceClassName string `json:"deviceClassName"`
}

// classes returns the device classes that a claim asks for.
func (c *deviceClaim) classes() (out []string) {
	for _, r := range c.Spec.Devices.Requests {
		if r.Exactly != nil {
			out = append(out, r.Exactly.DeviceClassName)
		}
		for _, one := range r.FirstAvailable {
			out = append(out, one.DeviceClassName)
		}
	}
	return out
}

// deviceHolders asks which pods have devices of the classes that the claims of a pod without a node ask for.
func (a *ask) deviceHolders(p *corev1.Pod) {
	if p.Spec.NodeName != "" {
		return
	}
	claims, _ := all[deviceClaim](a, "apis/resource.k8s.io/v1/resourceclaims", nil, "resourceclaims of all namespaces")
	names := resourceClaims(p)
	isOwn := func(c *deviceClaim) bool { return c.Namespace == p.Namespace && slices.Contains(names, c.Name) }
	var wanted []string
	for i := range claims {
		if isOwn(&claims[i]) {
			wanted = append(wanted, claims[i].classes()...)
		}
	}
	for i := range claims {
		c := &claims[i]
		class := slices.IndexFunc(c.classes(), func(class string) bool { return slices.Contains(wanted, class) })
		if isOwn(c) || c.Status.Allocation == nil || class < 0 {
			continue
		}
		for _, by := range c.Status.ReservedFor {
			if by.Resource != "pods" {
				continue
			}
			h := evidence.DeviceHolder{Name: evidence.Name{Namespace: c.Namespace, Name: by.Name, UID: by.UID}, Class: c.classes()[class]}
			a.put(func(s *evidence.Snapshot) { s.Cluster.DeviceHolders = append(s.Cluster.DeviceHolders, h) })
		}
	}
}
