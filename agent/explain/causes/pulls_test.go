package causes

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/podstep/podstep/agent/explain/evidence"
)

// TestPulledAlready: a deletion waits for a pull while that is in the queue or goes on. Once the runtime has pulled the image,
// the kubelet makes another call from within the function that pulls: then it is not the pull that the deletion waits for.
func TestPulledAlready(t *testing.T) {
	const file = "testdata/recorded/terminating.behindPull/lab-api+woven.json in way woven"
	s := recorded(t)[file]
	if s == nil {
		t.Fatalf("there is no %s", file)
	}
	n := slices.IndexFunc(s.Story.Open, func(k evidence.Call) bool { return k.Step == "image.pull" })
	for inside, want := range map[string]bool{"": true, "image.dopull": true, "image.dopull cri.PullImage": true, "image.dopull cri.ImageStatus": false} {
		c, story := *s, *s.Story
		c.Story = &story
		story.Open = slices.Clone(s.Story.Open[:n+1])
		for step := range strings.FieldsSeq(inside) {
			story.Open = append(story.Open, evidence.Call{Step: step})
		}
		for i := range story.Open[n:] {
			story.Open[n+i].Began = s.Taken.Add(-10 * time.Second)
		}
		certain := slices.ContainsFunc(Explain(&c).Findings, func(f Finding) bool {
			return f.Cause.ID == "terminating.behindPull" && f.Confidence == Certain
		})
		if certain != want {
			t.Errorf("with %q in image.pull, the pull is certain: %v", inside, certain)
		}
	}
}
