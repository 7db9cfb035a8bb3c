package state

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/screen"
)

// TestNewAgent: the kubelet starts again, with other numbers for everything.
func TestNewAgent(t *testing.T) {
	r := record(t)
	s := New(r.info, probes.MustLoad(), words.English)
	for _, b := range r.batches {
		s.Add(b)
	}
	n, pods := s.Events(), s.h.Pods()
	s.SetInfo(r.info) // the same agent sends all of it again
	for _, b := range r.batches {
		s.Add(b)
	}
	if s.Events() != n {
		t.Errorf("%d events, %d of them twice", s.Events(), s.Events()-n)
	}
	info := proto.CloneOf(r.info)
	info.Pid++
	last := &info.Steps[len(info.Steps)-1]
	info.Steps[0], *last = *last, info.Steps[0]
	s.SetInfo(info)
	for _, b := range r.batches {
		s.Add(b)
	}
	if s.Events() != 2*n || s.h.Pods() != pods {
		t.Errorf("%d events of %d pods; want %d of %d", s.Events(), s.h.Pods(), 2*n, pods)
	}
	s.SelectPodNamed("default", "web")
	check(t, s.Screen(allRows), allRows)
	if got := s.lives.Now().Pod(s.pod).Sync; got != 8 {
		t.Errorf("sync %d", got)
	}
}

// TestForgets: a session that keeps few events still shows what goes on, and says what is gone.
func TestForgets(t *testing.T) {
	info, batches := many(t, 40_000, 1)
	s := New(info, probes.MustLoad(), words.English)
	s.SetLimit(1 << 20)
	for i, b := range batches {
		s.Add(b)
		if i%50 == 0 {
			s.SelectPodNamed("default", "web0")
			check(t, s.Screen(smallRows), smallRows)
		}
	}
	if s.h.First() == 0 || s.h.Bytes() > 1<<20 {
		t.Fatalf("%d bytes are kept, from event %d", s.h.Bytes(), s.h.First())
	}
	if n := len(s.podAt(1).Spans.All); n > 20_000 {
		t.Errorf("%d spans are kept", n)
	}
	s.SetMain(screen.MainEvents)
	s.ToggleManyEvents()
	s.Home()
	sc := s.Screen(screen.Sizes{Pods: 5, Main: 20})
	if sc.Events().Rows[0].Pos != s.h.First() {
		t.Errorf("the first event is %d, not %d", sc.Events().Rows[0].Pos, s.h.First())
	}
	s.SeekEvent(0)
	check(t, s.Screen(allRows), allRows)
	s.SetMain(screen.MainStory)
	s.SelectPodNamed("default", "no-image0")
	check(t, s.Screen(allRows), allRows)
}
