package state

import (
	"slices"
	"testing"
	"time"

	"github.com/podstep/podstep/agent/explain/causes"
	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/screen"
)

// TestWithoutNodeAmongOthers: a pod that is stuck without a node counts as stuck, and stands before pods that run.
func TestWithoutNodeAmongOthers(t *testing.T) {
	s := attached(t).play(words.English)
	before := s.Screen(allRows).Header
	s.SetUnscheduled([]*causes.Report{causes.Explain(gatedPod(time.Unix(0, s.h.Origin()+s.view().now)))})
	sc := s.Screen(allRows)
	if sc.Header.Stuck != before.Stuck+1 || sc.Header.Pods != before.Pods+1 {
		t.Errorf("stuck are %d of %d, and were %d of %d", sc.Header.Stuck, sc.Header.Pods, before.Stuck, before.Pods)
	}
	row := func(is func(*screen.PodRow) bool) int {
		return slices.IndexFunc(sc.Pods.Rows, func(r screen.PodRow) bool { return is(&r) })
	}
	own, running := row(func(r *screen.PodRow) bool { return r.Name == "queued" }), row(func(r *screen.PodRow) bool { return r.Mark == life.Idle })
	if own < 0 || running < 0 || own > running {
		t.Errorf("it is in row %d, and the first pod that runs in row %d", own, running)
	}
}

// TestEndedBadly: a pod that failed is not shown as one that has done its work.
func TestEndedBadly(t *testing.T) {
	for phase, word := range map[string]string{"Failed": "failed", "Succeeded": "done"} {
		l := newAgentScript(t, attached(t).info)
		l.seen(`cluster.bound containers=["a"]`)
		l.seen("reported.phase phase=" + phase)
		rows := l.s.Screen(allRows).Pods.Rows
		if r := rows[0]; r.Mark != life.Done || r.Word != word || r.Bad != (phase == "Failed") {
			t.Errorf("%s: the row is %+v", phase, r)
		}
	}
}
