package tours

import (
	"slices"
	"testing"
)

func TestCommand(t *testing.T) {
	grace := int64(5)
	for _, c := range []struct {
		a    Action
		want string
	}{
		{Action{Do: Create}, "kubectl create -f F"},
		{Action{Do: Delete, Object: "pod/shop/web", Walk: "w"}, "kubectl delete pod -n shop -l podstep.dev/walk=w --field-selector metadata.name=web --wait=false"},
		{Action{Do: Delete, Object: "pod/shop/web", Walk: "w", Grace: &grace}, "kubectl delete pod -n shop -l podstep.dev/walk=w --field-selector metadata.name=web --wait=false --grace-period 5"},
		{Action{Do: Resize, Object: "pod/shop/web"}, "kubectl patch pod web -n shop --subresource resize --type json --patch-file F"},
		{Action{Do: Patch, Object: "pod/shop/web"}, "kubectl patch pod web -n shop --type json --patch-file F"},
		{Action{Do: WriteStatic, Object: "a.yaml"}, "cp -n F D/manifests/a.yaml"},
		{Action{Do: RemoveStatic, Object: "a.yaml", Walk: "w"}, "grep -q 'podstep.dev/walk: w' D/manifests/a.yaml && rm D/manifests/a.yaml"},
		{Action{Do: Pressure, Object: "memory.available=50Mi"}, "echo memory.available=50Mi > D/pressure"},
		{Action{Do: Relieve}, "rm D/pressure"},
	} {
		if got := c.a.Command("D", "F"); got != c.want {
			t.Errorf("%s: %q, want %q", c.a.Do, got, c.want)
		}
	}
}

// TestCleanup: everything that a walk makes is taken back once, the last first.
func TestCleanup(t *testing.T) {
	const two = "{kind: ConfigMap, metadata: {name: a, namespace: x}}\n---\n{kind: Pod, metadata: {name: b, namespace: x}}\n"
	tour := Tour{Stops: []Stop{
		{Act: &Action{Do: Create, Manifest: two}},
		{Step: "sync.pod"},
		{Act: &Action{Do: Pressure, Object: "memory.available=50Mi"}},
		{Act: &Action{Do: Delete, Object: "pod/x/b"}},
		{Act: &Action{Do: WriteStatic, Object: "s.yaml"}},
		{Act: &Action{Do: Create, Manifest: two}},
	}}
	var got []string
	for _, a := range tour.Cleanup() {
		got = append(got, string(a.Do)+" "+a.Object)
	}
	if want := []string{"delete pod/x/b", "delete configmap/x/a", "remove-static s.yaml", "relieve "}; !slices.Equal(got, want) {
		t.Errorf("Cleanup = %q, want %q", got, want)
	}
}
