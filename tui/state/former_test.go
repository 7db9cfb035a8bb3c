package state

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/agent/wire/eventtest"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/screen"
)

// marks returns the pods of a screen with their marks, without the node.
func marks(sc *screen.Screen) map[string]life.State {
	out := map[string]life.State{}
	for _, r := range sc.Pods.Rows {
		if r.Key != 0 {
			out[r.Name] = r.Mark
		}
	}
	return out
}

// anotherAgent returns another agent of the same node: of a kubelet that was started again, of a new lab, or of
// another podstep attach.
func anotherAgent(info *agentpb.InfoResponse) *agentpb.InfoResponse {
	other := proto.CloneOf(info)
	other.Pid++
	other.Started = timestamppb.New(info.GetStarted().AsTime().Add(time.Hour))
	return other
}

// TestFormerPods: pods that only a former agent sent are gone, until the present one sends them, in an event or in
// its list.
func TestFormerPods(t *testing.T) {
	for _, probe := range []string{"woven", "cri"} {
		t.Run(probe, func(t *testing.T) {
			r := record(t)
			info := proto.CloneOf(r.info)
			info.Probes[0].Name = probe
			s := New(info, probes.MustLoad(), words.English)
			s.SetLink(screen.LinkLive, "live")
			for _, b := range r.batches {
				s.Add(b)
			}
			var listed []*agentpb.PodState
			for i := 1; i < s.h.Pods(); i++ {
				p := s.podAt(i)
				listed = append(listed, &agentpb.PodState{Pod: &agentpb.Pod{Namespace: p.Entity.Namespace, Name: p.Entity.Name, Uid: p.Entity.UID}, Ready: true})
			}
			s.SetPods(listed)
			before := s.Screen(allRows)
			if before.Header.Pods == 0 {
				t.Fatal("the recording has no pods")
			}

			other := anotherAgent(info)
			s.SetInfo(info) // the same agent came back
			if sc := s.Screen(allRows); sc.Header.Pods != before.Header.Pods {
				t.Errorf("when the same agent came back there are %d pods, not %d", sc.Header.Pods, before.Header.Pods)
			}
			s.SetInfo(other)
			s.SelectPodNamed("default", "held")
			sc := s.Screen(allRows)
			for name, mark := range marks(sc) {
				if mark != life.Gone {
					t.Errorf("%s is %v, though nobody knows it", name, mark.Text().En)
				}
			}
			if sc.Header.Pods != 0 || sc.Header.Held+sc.Header.Stuck+sc.Header.Retrying != 0 {
				t.Errorf("the header has %+v", sc.Header)
			}
			if sc.Hold != nil || !strings.Contains(sc.Why.Text, "The agent that runs now does not know") {
				t.Errorf("of a former pod it says %q; banner %+v", sc.Why.Text, sc.Hold)
			}

			s.SetPods(listed[:1])
			if sc := s.Screen(allRows); sc.Header.Pods > 1 || sc.Header.Pods == 0 && before.Header.Pods == len(listed) {
				t.Errorf("with one pod in the agent's list there are %d", sc.Header.Pods)
			}
			s.SetPods(nil)
			first := r.batches[0]
			s.Add(&agentpb.Batch{Pods: first.Pods, Events: first.Events})
			now := marks(s.Screen(allRows))
			known := map[int]bool{s.pod: true} // the selected pod stays in the list
			for _, raw := range first.Events {
				i := s.h.Epoch().PodOf(eventtest.Decode(t, raw).Pod)
				if i != 0 && s.lives.Now().Pod(i).Former != 0 {
					t.Errorf("%s is still former after an event about it", s.podAt(i).Entity.Name)
				}
				known[i] = true
			}
			delete(known, 0) // the node
			if len(now) != len(known) {
				t.Errorf("%d pods are listed, not %d", len(now), len(known))
			}
		})
	}
}
