package causes

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/podstep/podstep/probes/words"
)

// differing are the recordings in which places differ about the pod, each with what differs there. A resize that waits differs at
// the API server alone, which has what is wanted and what the container has.
var differing = map[string][]string{
	"ready.behindVolumes/lab-woven-hang.json":    {"app cpu"},
	"ready.behindVolumes/lab-woven.json":         {"app cpu"},
	"ready.resizeDeferred/lab-api+woven.json":    {"app memory"},
	"ready.endUnseen/node-near.json":             {"app state"},
	"ready.resizeWithoutEffect/made-api.yaml":    {"app cpu"},
	"ready.statusLate/made-woven-resize.yaml":    {"app cpu"},
	"source.notDelivered/made-near.yaml":         {"the pod"},
	"ready.statusLate/lab-woven-slow.json":       {"app cpu"},
	"start.postStartHangs/node-near+attach.json": {"app state"},
	"start.postStartHangs/node-woven.json":       {"app state"},
}

// TestDiffering: in the recordings, nothing else than that differs. One may see less of it.
func TestDiffering(t *testing.T) {
	found := map[string]bool{}
	for file, s := range recorded(t) {
		name := strings.TrimPrefix(filepath.ToSlash(file), "testdata/recorded/")
		name, way, _ := strings.Cut(name, " in way ")
		for _, r := range Explain(s).Columns.Differing() {
			if !slices.Contains(differing[name], r.Name(words.English)) {
				t.Errorf("%s in way %s: %s differs: %+v", name, way, r.Name(words.English), r.Cells)
			}
			found[name] = true
		}
	}
	for name := range maps.Keys(differing) {
		if !found[name] {
			t.Errorf("%s: nothing differs", name)
		}
	}
}
