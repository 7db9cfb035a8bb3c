package state

import (
	"fmt"
	"testing"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/story/life"
)

// TestGonePods: of many pods that are gone the list shows those that went last, none, or all. The palette has all, and the
// selected pod stays in the list.
func TestGonePods(t *testing.T) {
	l := newAgentScript(t, attached(t).info)
	const gone = goneShown + 10
	for i := range gone {
		l.pod = uint32(100 + i)
		l.s.Add(&agentpb.Batch{Pods: []*agentpb.Pod{{Id: l.pod, Namespace: "default", Name: fmt.Sprintf("p-%02d", i), Uid: fmt.Sprint("u", i)}}})
		l.seen("cluster.bound node=n after=1")
		l.seen("cluster.gone")
	}
	s := l.s
	s.SelectPodNamed("default", "p-00")
	listed := func() (n int, first bool) {
		for _, r := range s.Screen(allRows).Pods.Rows {
			if r.Mark == life.Gone {
				n++
				first = first || r.Name == "p-00"
			}
		}
		return n, first
	}
	for range 2 {
		for _, want := range []int{goneShown + 1, 1, gone} { // and the selected one, which went first
			n, first := listed()
			if n != want || !first {
				t.Errorf("%d are listed, want %d; the selected one: %v", n, want, first)
			}
			if hidden := s.Screen(allRows).Pods.Hidden; hidden != gone-want {
				t.Errorf("%d are hidden, want %d", hidden, gone-want)
			}
			if all := len(s.PodsNamed()); all < gone {
				t.Errorf("%d pods can be found", all)
			}
			s.NextGone()
		}
	}
}
