package state

import (
	"github.com/podstep/podstep/agent/explain"
	"github.com/podstep/podstep/agent/explain/causes"
	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/screen"
)

// explained returns what package explain looks at.
func (s *State) explained() explain.Story {
	return explain.Story{History: s.h, Lives: s.lives}
}

// position returns the position that a view shows.
func (v *view) position() explain.Position { return explain.Position{At: v.at, Now: v.now} }

// whyLine says why the selected pod is where it is, and where that is seen.
func (s *State) whyLine(v *view) screen.Why {
	state, _ := s.verdictOf(s.pod, v)
	if s.pod == 0 {
		return screen.Why{Mark: state, Text: s.lang.In(words.Text(
			"This is the node itself: what the kubelet does that is about no single pod.", "这是节点本身：kubelet 做的、不属于某个 Pod 的事情。"))}
	}
	r := s.report(v)
	w := screen.Why{Mark: state, Text: r.Summary(s.lang)}
	if shown := r.Main().Evidence; len(shown) > 0 {
		w.Evidence = s.seenIn(&shown[0])
	}
	return w
}

// seenIn says where evidence is seen.
func (s *State) seenIn(e *causes.Evidence) string {
	where := words.OneLine(s.lang.In(e.Where))
	if e.Seq == 0 {
		return where
	}
	return s.lang.Inf(words.Text("%s, event %d", "%s，事件 %d"), where, e.Seq)
}

// trouble returns the second line of a pod in the list: the title of the first cause. It is empty if the pod is in no trouble.
func (s *State) trouble(i int, mark life.State, v *view) string {
	p := v.pod(i)
	if i != 0 && (mark <= life.Retrying || p.Refused || mark == life.Waiting && s.lives.Lingers(p)) {
		return s.causeTitle(i, v)
	}
	return ""
}

// lastKnown marks the line as old while the agent is gone: the pod may be elsewhere by now.
func (s *State) lastKnown(w screen.Why) screen.Why {
	if s.link == screen.LinkReconnecting && w.Text != "" {
		w.Text = s.lang.In(words.Text("Before the agent went: ", "代理断开之前：")) + w.Text
	}
	return w
}

// Sentence returns what is to be said of a pod where there is no screen: its state as the list has it, and why. ok is false
// if the pod is not known.
func (s *State) Sentence(uid string) (text string, ok bool) {
	i, ok := s.h.PodOf(words.Clean(uid))
	if !ok {
		return "", false
	}
	v := s.view()
	row := s.podRow(s.placeOf(i, v), v)
	mark := row.Mark
	text = row.Word
	if mark <= life.Waiting && mark != life.Held {
		text = s.lang.Inf(words.Text("%s for %s", "%s，已 %s"), row.Word, words.Took(row.For))
	}
	why := s.reportOf(i, v).Summary(s.lang)
	return s.lang.Inf(words.Text("%s. %s", "%s。%s"), text, why), true
}
