package agent

import "testing"

// TestPodSeenFails: a panic in PodSeen must not cost an event.
func TestPodSeenFails(t *testing.T) {
	r := newRig(t, Options{PodSeen: func() { panic("of a test") }})
	_ = r.sync(newPod("default", "web"), nil)
	if events := r.events("web"); len(events) != 6 {
		t.Errorf("%d events, want 6: %v", len(events), r.names(events))
	}
}
