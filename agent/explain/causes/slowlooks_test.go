package causes

import (
	"testing"
	"time"

	"github.com/podstep/podstep/agent/explain/evidence"
)

// TestSlowLooks: while PLEG goes on from pod to pod, the one at which it has just begun to look is no culprit, and it is not certain
// that the pod's worker waits for long.
func TestSlowLooks(t *testing.T) {
	began := time.Date(2026, 11, 29, 3, 7, 36, 0, time.UTC)
	for name, c := range map[string]struct {
		look    time.Duration // when the look began, after the wait
		now     time.Duration
		want    Confidence
		culprit bool
	}{
		"it hung before":      {-time.Second, 11 * time.Second, Certain, true},
		"it has just begun":   {9 * time.Second, 11 * time.Second, Likely, false},
		"it hangs since then": {2 * time.Second, 15 * time.Second, Certain, true},
	} {
		s := &evidence.Snapshot{
			Name: evidence.Name{Namespace: "shop", Name: "web", UID: "u"}, Taken: began.Add(c.now),
			Story: &evidence.Story{
				Open:     []evidence.Call{{Step: "cache.newer", Began: began}},
				LookedAt: "shop/other", Look: &evidence.Call{Step: "pleg.cache", Began: began.Add(c.look)},
			},
		}
		found := waitsForStatus(newCase(s))
		if len(found) != 1 || found[0].Confidence != c.want || (found[0].culprit() != nil) != c.culprit {
			t.Errorf("%s: found are %+v, want confidence %s, and a culprit: %v", name, found, c.want, c.culprit)
		}
	}
}
