package state

import "time"

// story is the pipeline of the selected pod.
func (s *State) story(rows int, v *view) *Story {
	p := s.pods[s.pod]
	ls := s.layout(p, v.at)
	st := &Story{Total: ls.len(), Cursor: none, Follow: s.follow && !s.frozen()}
	now := v.pod(s.pod)
	m, from := s.markPod(s.pod, now, v)
	st.Pod = s.podRow(podPlace{s.pod, m, from, s.asideOf(s.pod, now, v)}, v)
	st.Title = s.storyTitle(p, now, v)
	st.Took = s.storyTook(now, v)
	at := s.cursorPlace(ls, v)
	margin := usualMargin
	if s.follow {
		margin = rows / 3 // what comes next matters as much as what was
	}
	s.storyTop = window(s.storyTop, at, rows, ls.len(), margin)
	st.Top = s.storyTop
	for i := st.Top; i < min(st.Top+rows, ls.len()); i++ {
		r := s.row(p, ls.at(i), v)
		if i == at {
			st.Cursor, r.Cursor = i-st.Top, true
		}
		st.Rows = append(st.Rows, r)
	}
	if s.link == LinkReplay {
		st.Newer = 0
	} else if s.frozen() {
		st.Newer = p.events.end() - s.eventsBefore(p, v.at)
	} else if !s.follow {
		st.Newer = p.events.end() - s.leftAt
	}
	if st.Total == 0 {
		st.Empty = s.lang.Say(text("Nothing is known of this pod yet.", "还不知道这个 Pod 的任何事情。"))
	}
	return st
}

// eventsBefore is how many events of a pod there were before a position.
func (s *State) eventsBefore(p *pod, at int) int {
	return p.events.first + lowerBound(p.events.all, at)
}

func lowerBound(sorted []int, v int) int {
	lo, hi := 0, len(sorted)
	for lo < hi {
		if mid := (lo + hi) / 2; sorted[mid] < v {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

func (s *State) storyTitle(p *pod, now *podNow, v *view) string {
	if s.pod == 0 || now.sync == 0 {
		return ""
	}
	for i := p.turns.end() - 1; i >= p.turns.first; i-- {
		t := p.turns.at(i)
		if sp := s.spans.at(t.span); sp != nil && sp.enter < v.at {
			return s.turnLabel(p, t, v)
		}
	}
	return ""
}

// storyTook is how long the pod has been on its way: until it was ready, until
// it was gone, or until now.
func (s *State) storyTook(now *podNow, v *view) time.Duration {
	switch {
	case s.pod == 0 || now.first == 0:
		return 0
	case now.deleting && now.goneAt != 0:
		return since(now.deletedAt, now.goneAt)
	case now.deleting:
		return since(now.deletedAt, v.now)
	case now.readyAt != 0:
		return since(now.first, now.readyAt)
	case now.goneAt != 0:
		return since(now.first, now.goneAt)
	}
	return since(now.first, v.now)
}
