package state

import (
	"time"

	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/screen"
)

func init() { mainPanes[screen.MainStory] = storyPane{} }

// storyPane is the pipeline of the selected pod. Views that have no selection of
// their own embed it.
type storyPane struct{}

func (storyPane) body(s *State, rows int, v *view) screen.Body { return s.story(rows, v) }
func (storyPane) move(s *State, rows int, v *view)             { s.moveStory(rows, v) }
func (storyPane) end(s *State)                                 { s.follow = true }
func (storyPane) open(s *State, v *view)                       { s.openRow(v) }
func (storyPane) back(s *State, v *view) bool                  { return s.closeRow(v) }
func (storyPane) sideways(*State, int)                         {}

func (storyPane) nextError(s *State, dir int, v *view) bool { return s.nextFailed(dir, v) }

func (storyPane) toggleFollow(s *State, _ *view) {
	if s.follow {
		s.holdCursor()
		return
	}
	s.follow = true
}

// story returns the pipeline of the selected pod.
func (s *State) story(rows int, v *view) *screen.Story {
	p := s.podAt(s.pod)
	ls := s.layout(p, v.at)
	st := &screen.Story{Total: ls.len(), Cursor: none, Follow: s.follow && !s.frozen()}
	now := v.pod(s.pod)
	st.Pod = s.podRow(s.placeOf(s.pod, v), v)
	st.Title = s.storyTitle(p, now, v)
	var clock probes.Text
	if st.Took, clock = s.storyClock(now, v); st.Took > 0 {
		st.Clock = s.lang.Inf(clock, words.Measured(st.Took))
	}
	at := s.cursorPlace(ls, v)
	margin := usualMargin
	if s.follow {
		margin = rows / 3 // the steps to come matter as much as the past ones
	}
	s.storyTop = window(s.storyTop, at, rows, ls.len(), margin)
	st.Top = s.storyTop
	for i := st.Top; i < min(st.Top+rows, ls.len()); i++ {
		r := s.row(p, ls.line(i), v)
		if i == at {
			st.Cursor, r.Cursor = i-st.Top, true
		}
		st.Rows = append(st.Rows, r)
	}
	if s.link == screen.LinkReplay {
		st.Newer = 0
	} else if s.frozen() {
		st.Newer = p.Events.End() - s.eventsBefore(p, v.at)
	} else if !s.follow {
		st.Newer = p.Events.End() - s.leftAt
	}
	if st.Total == 0 {
		st.Empty = s.lang.In(words.Text("Nothing is known of this pod yet.", "还不知道这个 Pod 的任何事情。"))
	}
	return st
}

// eventsBefore returns how many events of a pod there were before a position.
func (s *State) eventsBefore(p *pod, at int) int {
	return p.Events.First + history.LowerBound(p.Events.All, at)
}

func (s *State) storyTitle(p *pod, now *life.Pod, v *view) string {
	if s.pod == 0 || now.Sync == 0 {
		return ""
	}
	for i := p.Turns.End() - 1; i >= p.Turns.First; i-- {
		t := p.Turns.At(i)
		if sp := s.h.Span(t.Span); sp != nil && sp.Enter < v.at {
			return s.turnLabel(p, t, v)
		}
	}
	return ""
}

// Names of the clock beside a pod's name.
var (
	readyIn        = words.Text("ready in %s", "%s 后就绪")
	notReadyFor    = words.Text("not ready for %s", "已 %s 未就绪")
	terminatingFor = words.Text("terminating for %s", "已终止 %s")
	terminatedIn   = words.Text("terminated in %s", "终止用了 %s")
	endedIn        = words.Text("ended in %s", "%s 后结束")
)

// storyClock returns how long the pod has been on its way: until it was ready, until it was gone, or until now; and what
// that counts.
func (s *State) storyClock(now *life.Pod, v *view) (took time.Duration, name probes.Text) {
	switch {
	case s.pod == 0 || now.First == 0 || now.Former != 0 && now.ReadyAt == 0 && now.GoneAt == 0:
		return 0, name // of what only a former agent knew nobody can say how long it went on
	case now.Deleting && now.GoneAt != 0:
		return history.Since(now.DeletedAt, now.GoneAt), terminatedIn
	case now.Deleting:
		return history.Since(now.DeletedAt, v.now), terminatingFor
	case now.ReadyAt != 0:
		return history.Since(now.First, now.ReadyAt), readyIn
	case now.GoneAt != 0:
		return history.Since(now.First, now.GoneAt), endedIn
	}
	return history.Since(now.First, v.now), notReadyFor
}
