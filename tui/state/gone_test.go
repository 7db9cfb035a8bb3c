package state

import (
	"strings"
	"testing"
	"time"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/screen"
)

// TestAgentGone: while the agent is gone no age grows, and the screen says that it shows what was known before.
func TestAgentGone(t *testing.T) {
	r := record(t)
	s := New(r.info, probes.MustLoad(), words.English)
	s.SetLink(screen.LinkLive, "live")
	for _, b := range r.batches[:len(r.batches)/2] {
		s.Add(b)
	}
	s.SelectPodNamed("default", "no-image")
	now := time.Unix(0, s.h.Origin()+s.lives.Now().Time)
	s.Tick(now)
	before := s.Screen(allRows)
	s.SetLink(screen.LinkReconnecting, "reconnecting")
	s.Tick(now.Add(time.Hour))
	gone := s.Screen(allRows)
	for i, row := range gone.Pods.Rows {
		if row.For != before.Pods.Rows[i].For {
			t.Errorf("%s: %v, was %v", row.Name, row.For, before.Pods.Rows[i].For)
		}
	}
	if want := "Before the agent went: " + before.Why.Text; gone.Why.Text != want {
		t.Errorf("%q, want %q", gone.Why.Text, want)
	}
	s.SetLink(screen.LinkLive, "live")
	s.Tick(now.Add(time.Hour))
	if why := s.Screen(allRows).Why.Text; strings.HasPrefix(why, "Before") {
		t.Errorf("the agent is back: %q", why)
	}
}
