package explain

import (
	"testing"
	"time"

	"github.com/podstep/podstep/agent/explain/causes"
	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/agent/story/life"
)

// TestGone: the story of a pod that is gone yields no object of it. Nothing is wrong with such
// a pod, however long ago it went.
func TestGone(t *testing.T) {
	for _, file := range []string{woven, attached} {
		s := read(t, file)
		found := 0
		for pod := 1; pod < s.History.Pods(); pod++ {
			at := Position{At: s.History.End(), Now: s.History.Last() + int64(10*time.Minute)}
			e := s.History.Pod(pod).Entity
			to := evidence.Snapshot{Name: evidence.Name{Namespace: e.Namespace, Name: e.Name, UID: e.UID}, Taken: time.Unix(0, s.History.Origin()+at.Now)}
			Add(&to, s, pod, at)
			if to.Story.State != life.Gone.String() {
				continue
			}
			found++
			if to.Best() != nil {
				t.Errorf("%s: %s is gone and has an object", file, e.Name)
			}
			if r := causes.Explain(&to); r.State != life.Gone {
				t.Errorf("%s: %s is gone and %s: %s", file, e.Name, r.Word(), r.Summary("en"))
			}
		}
		if found == 0 {
			t.Errorf("%s: no pod is gone at the end", file)
		}
	}
}
