package causes

import (
	"testing"
	"time"

	"github.com/podstep/podstep/agent/explain/evidence"
)

// TestMissingSourceByStory: where nothing is known of a pod but its story, such as out of a log, the kubelet's error
// names what a volume is filled from.
func TestMissingSourceByStory(t *testing.T) {
	now := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]string{
		`secret \"absent\" not found`:                                         "volumes.secretMissing",
		`configmap \"absent\" not found`:                                      "volumes.configMapMissing",
		`[configmap \"absent\" not found, object \"a\"/\"b\" not registered]`: "volumes.configMapMissing",
		`mount failed: exit status 32`:                                        "volumes.setUp",
	} {
		s := &evidence.Snapshot{Taken: now, Name: evidence.Name{Namespace: "default", Name: "web", UID: "u1"}}
		s.Story = &evidence.Story{Phase: "creating", State: "retry"}
		s.Story.Failed = []evidence.Call{{
			Step: "vol.domount", Began: now.Add(-time.Minute), Ended: now.Add(-time.Minute),
			Error: `MountVolume.SetUp failed for volume "cfg" (UniqueName: "kubernetes.io/secret/u1-cfg") pod "web" (UID: "u1") : ` + text,
		}}
		r := Explain(s)
		if len(r.Findings) == 0 || r.Findings[0].Cause.ID != want {
			t.Errorf("%s: %+v, %s", text, r.Findings, r.Word())
		}
	}
}
