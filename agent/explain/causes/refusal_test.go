package causes

import (
	"reflect"
	"testing"
)

// TestReadRefusal: a scheduler's message is taken apart into its reasons, with how many
// nodes each is about; what it says of preemption is left out.
func TestReadRefusal(t *testing.T) {
	for text, want := range map[string][]reason{
		"0/5 nodes are available: 1 node(s) were unschedulable, 3 Insufficient nvidia.com/gpu, 4 Insufficient cpu. preemption: 0/5 nodes are available: 5 Preemption is not helpful for scheduling.": {
			{1, "node(s) were unschedulable"}, {3, "Insufficient nvidia.com/gpu"}, {4, "Insufficient cpu"},
		},
		"0/1 nodes are available: 1 Too many pods. no new claims to deallocate, preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.": {
			{1, "Too many pods"},
		},
		"0/2 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found": {
			{2, "pod has unbound immediate PersistentVolumeClaims. not found"},
		},
		"no nodes available to schedule pods":         {{0, "no nodes available to schedule pods"}},
		`persistentvolumeclaim "data" not found`:      {{0, `persistentvolumeclaim "data" not found`}},
		"running PreFilter plugin \"X\": 3 are wrong": {{0, "running PreFilter plugin \"X\": 3 are wrong"}},
	} {
		if got := readRefusal(text).reasons; !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, not %+v", text, got, want)
		}
	}
}
