package state

import (
	"bytes"
	"strings"
	"testing"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/screen"
)

// TestWhySeen: somewhere in the stories of the recording's pods stands each of
// the reasons that are put together from what else is known.
func TestWhySeen(t *testing.T) {
	r := record(t)
	s := r.play(words.English)
	for _, c := range []struct{ pod, want string }{
		{"no-image", "waits for its turn in the kubelet's queue"},
		{"no-image", "its image is being pulled"},
		{"crashloop", "Its last exit code was 1 (Error)."},
	} {
		s.SelectPodNamed("default", c.pod)
		_, e, _ := s.Selected()
		found := false
		i, _ := s.h.PodOf(e.UID)
		p := s.of(i)
		for _, pos := range p.Events.All {
			s.SeekEvent(pos)
			if found = strings.Contains(s.Screen(smallRows).Why.Text, c.want); found {
				break
			}
		}
		if !found {
			t.Errorf("%s: nowhere %q", c.pod, c.want)
		}
	}
}

// TestWhyUnready: with the health probes' results turned round, web's fails.
func TestWhyUnready(t *testing.T) {
	r := record(t)
	s := New(r.info, probes.MustLoad(), words.English)
	for _, b := range r.batches {
		turned := &agentpb.Batch{Pods: b.Pods}
		for _, raw := range b.Events {
			turned.Events = append(turned.Events, bytes.ReplaceAll(raw, []byte("Success"), []byte("Failure")))
		}
		s.Add(turned)
	}
	s.SelectPodNamed("default", "web")
	line, e := s.whyUnready(s.pod, "web", s.view())
	if e == nil || !strings.Contains(line, "not ready: the readiness probe of container") {
		t.Errorf("%q, %v", line, e)
	}
	whole := r.play(words.English)
	whole.SelectPodNamed("default", "web")
	if line, e := whole.whyUnready(whole.pod, "web", whole.view()); e != nil {
		t.Errorf("its probe succeeds, but %q", line)
	}
}

// TestSelectHeldCall: while a pod is held, its step is the call that is held,
// and not one that others make meanwhile.
func TestSelectHeldCall(t *testing.T) {
	s := record(t).upTo(1766) // pod held is held at its sandbox
	s.SelectPodNamed("default", "held")
	key, _, _ := s.Selected()
	if !s.SelectStep(s.CurrentStep(key)) {
		t.Fatal("the step is not found")
	}
	st := s.Screen(allRows).Story
	if row := st.Rows[st.Cursor]; row.Mark != screen.RowHeld {
		t.Errorf("selected %+v", row)
	}
}
