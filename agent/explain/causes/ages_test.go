package causes

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podstep/podstep/agent/explain/evidence"
)

// aged returns a snapshot as it would be later, if all that goes on went on: leases are renewed, tries fail again as they
// did, and their events and lines come again. Nothing else has happened.
func aged(s *evidence.Snapshot, d time.Duration) *evidence.Snapshot {
	out := *s
	out.Taken = s.Taken.Add(d)
	out.Cluster.Events = nil
	for _, e := range s.Cluster.Events {
		if e.Type == "Warning" {
			e.Last = e.Last.Add(d)
		}
		out.Cluster.Events = append(out.Cluster.Events, e)
	}
	if l := s.Cluster.Lease; l != nil && l.Spec.RenewTime != nil {
		l = l.DeepCopy()
		l.Spec.RenewTime = &metav1.MicroTime{Time: l.Spec.RenewTime.Add(d)}
		out.Cluster.Lease = l
	}
	if n := s.Cluster.Node; n != nil {
		n = n.DeepCopy()
		for i := range n.Status.Conditions {
			c := &n.Status.Conditions[i]
			c.LastHeartbeatTime = metav1.NewTime(c.LastHeartbeatTime.Add(d))
		}
		out.Cluster.Node = n
	}
	if old := s.Story; old != nil { // a call that has just begun has ended by then
		story := *old
		story.Open = slices.DeleteFunc(slices.Clone(old.Open), func(k evidence.Call) bool { return s.Taken.Sub(k.Began) < 2*time.Second })
		out.Story = &story
	}
	return &out
}

// bySpec are the causes that a certain cause becomes when its events are gone, or later: what the API server has of a claim
// says less than an event does, and a pod that has ended waits for its status.
var bySpec = map[string]bool{"scheduling.claim.unbound": true, "source.waitsForStatus": true}

// TestAges: asked again later, or when the events are gone, no recorded case gets another cause that is certain: what was
// the cause is said again, or said with less certainty.
func TestAges(t *testing.T) {
	same := map[string]int{}
	for file, s := range recorded(t) {
		before := Explain(s)
		if len(before.Findings) == 0 || before.Findings[0].Confidence == Possible {
			continue
		}
		old := before.Findings[0].Cause.ID
		if strings.HasPrefix(old, "general.") {
			continue // it gives what failed in its own words, until a cause of it is found
		}
		gone := aged(s, 0)
		gone.Cluster.Events = nil
		for name, later := range map[string]*evidence.Snapshot{
			"after a minute": aged(s, time.Minute), "after 6 minutes": aged(s, 6*time.Minute), "after an hour": aged(s, time.Hour), "without events": gone,
		} {
			r := Explain(later)
			if len(r.Findings) == 0 {
				continue
			}
			f := &r.Findings[0]
			if f.Cause.ID == old {
				same[name]++
			} else if f.Confidence == Certain && !bySpec[f.Cause.ID] {
				t.Errorf("%s: %s was %s, and %s is certain %s", file, old, before.Findings[0].Confidence, f.Cause.ID, name)
			}
		}
	}
	if same["after an hour"] < 150 || same["without events"] < 100 {
		t.Errorf("the first cause is still the same in so few cases: %v", same)
	}
}
