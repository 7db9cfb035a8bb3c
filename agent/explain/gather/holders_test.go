package gather

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podstep/podstep/agent/kubeapi/apitest"
)

// claimFor returns a ResourceClaim of namespace shop that asks for a class. Pods have what it is allocated.
func claimFor(name, class string, pods ...string) map[string]any {
	status := map[string]any{}
	if len(pods) > 0 {
		var by []map[string]any
		for _, p := range pods {
			by = append(by, map[string]any{"resource": "pods", "name": p, "uid": "uid-" + p})
		}
		status = map[string]any{"reservedFor": by, "allocation": map[string]any{"devices": map[string]any{"results": []any{map[string]any{"device": "device-0"}}}}}
	}
	return map[string]any{
		"metadata": map[string]any{"namespace": "shop", "name": name},
		"spec":     map[string]any{"devices": map[string]any{"requests": []any{map[string]any{"exactly": map[string]any{"deviceClassName": class}}}}},
		"status":   status,
	}
}

// TestDeviceHolders: of a pod that no node takes, those pods are found that have devices of the classes which it asks for.
func TestDeviceHolders(t *testing.T) {
	own := claimFor("own", "gpu")
	p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "u-1"}, Spec: corev1.PodSpec{
		ResourceClaims: []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimName: new("own")}},
	}}
	for node, want := range map[string][]string{"": {"first", "second"}, "node-1": nil} {
		p.Spec.NodeName = node
		api := apitest.Start(t, apitest.Objects{
			"api/v1/namespaces/shop/pods/web":                            p,
			"apis/resource.k8s.io/v1/namespaces/shop/resourceclaims/own": own,
			"apis/resource.k8s.io/v1/resourceclaims": listOf(own, claimFor("a", "gpu", "first"), claimFor("b", "gpu", "second"),
				claimFor("c", "nic", "third"), claimFor("d", "gpu")),
		})
		s := From{API: api.Client(t)}.Pod(t.Context(), web)
		var got []string
		for _, h := range s.Cluster.DeviceHolders {
			if h.Namespace != "shop" || h.Class != "gpu" || h.UID != "uid-"+h.Name.Name {
				t.Errorf("%+v", h)
			}
			got = append(got, h.Name.Name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("on node %q: %v, not %v", node, got, want)
		}
	}
}

// TestPortHolders: of a pod that the kubelet has refused for its host ports, the pods are found that have them.
func TestPortHolders(t *testing.T) {
	pod := func(name string, port int32, protocol corev1.Protocol) corev1.Pod {
		return corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID("u-" + name)},
			Spec: corev1.PodSpec{NodeName: "node-1", Containers: []corev1.Container{{Name: "app", Ports: []corev1.ContainerPort{{HostPort: port, Protocol: protocol}}}}}}
	}
	refused := pod("web", 8080, corev1.ProtocolTCP)
	for reason, want := range map[string]int{"NodePorts": 1, "Evicted": 0} {
		refused.Status.Reason = reason
		api := apitest.Start(t, apitest.Objects{
			"api/v1/namespaces/shop/pods/web": refused,
			"api/v1/pods":                     listOf(refused, pod("same", 8080, ""), pod("datagrams", 8080, corev1.ProtocolUDP), pod("other", 8081, "")),
		})
		s := From{API: api.Client(t)}.Pod(t.Context(), web)
		n := s.Cluster.Neighbours
		if len(n) != want || want > 0 && (n[0].Name.Name != "same" || !slices.Equal(n[0].Ports, []int32{8080})) {
			t.Errorf("%s: %+v", reason, n)
		}
	}
}
