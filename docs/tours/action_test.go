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
		{Action{Do: Apply}, "kubectl apply -f F"},
		{Action{Do: Delete, Object: "pod/shop/web"}, "kubectl delete pod web -n shop --wait=false"},
		{Action{Do: Delete, Object: "pod/shop/web", Grace: &grace}, "kubectl delete pod web -n shop --wait=false --grace-period 5"},
		{Action{Do: Resize, Object: "pod/shop/web"}, "kubectl patch pod web -n shop --subresource resize --patch-file F"},
		{Action{Do: WriteStatic, Object: "a.yaml"}, "cp F D/manifests/a.yaml"},
		{Action{Do: RemoveStatic, Object: "a.yaml"}, "rm D/manifests/a.yaml"},
		{Action{Do: Pressure, Object: "memory.available=50Mi"}, "echo memory.available=50Mi > D/pressure"},
		{Action{Do: Relieve}, "rm D/pressure"},
	} {
		if got := c.a.Command("D", "F"); got != c.want {
			t.Errorf("%s: %q, want %q", c.a.Do, got, c.want)
		}
	}
}

// TestCleanup: all that a walk makes is taken back, the last first, once.
func TestCleanup(t *testing.T) {
	const two = "{kind: ConfigMap, metadata: {name: a, namespace: x}}\n---\n{kind: Pod, metadata: {name: b, namespace: x}}\n"
	tour := Tour{Stops: []Stop{
		{Act: &Action{Do: Apply, Manifest: two}},
		{Step: "sync.pod"},
		{Act: &Action{Do: Pressure, Object: "memory.available=50Mi"}},
		{Act: &Action{Do: Delete, Object: "pod/x/b"}},
		{Act: &Action{Do: WriteStatic, Object: "s.yaml"}},
		{Act: &Action{Do: Apply, Manifest: two}},
	}}
	var got []string
	for _, a := range tour.Cleanup() {
		got = append(got, string(a.Do)+" "+a.Object)
	}
	if want := []string{"delete pod/x/b", "delete configmap/x/a", "remove-static s.yaml", "relieve "}; !slices.Equal(got, want) {
		t.Errorf("Cleanup = %q, want %q", got, want)
	}
}

func TestLeft(t *testing.T) {
	pod := &Action{Do: Apply, Manifest: "{kind: Pod, metadata: {name: b, namespace: x}}"}
	two := &Action{Do: Apply, Manifest: "{kind: ConfigMap, metadata: {name: a, namespace: x}}\n---\n" + pod.Manifest}
	deleted := &Action{Do: Delete, Object: "pod/x/b"}
	static, removed := &Action{Do: WriteStatic, Object: "s.yaml"}, &Action{Do: RemoveStatic, Object: "s.yaml"}
	for _, c := range []struct {
		name       string
		done, want []*Action
	}{
		{"nothing was done", nil, nil},
		{"it is there", []*Action{pod}, []*Action{pod}},
		{"it was deleted", []*Action{pod, deleted}, nil},
		{"one of two was deleted", []*Action{two, deleted}, []*Action{two}},
		{"it was made again", []*Action{pod, deleted, pod}, []*Action{pod}},
		{"the file was removed", []*Action{static, removed}, nil},
		{"the node is still under pressure", []*Action{{Do: Pressure, Object: "memory.available=50Mi"}}, []*Action{{Do: Pressure, Object: "memory.available=50Mi"}}},
	} {
		same := func(a, b *Action) bool { return *a == *b }
		if got := Left(c.done); !slices.EqualFunc(got, c.want, same) {
			t.Errorf("%s: %v is left, want %v", c.name, got, c.want)
		}
	}
}
