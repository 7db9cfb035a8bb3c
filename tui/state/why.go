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

// whyOf says why a pod is where it is, by the first finding about it. There is always one.
func (s *State) whyOf(i int, v *view) screen.Why {
	f := explain.Findings(s.explained(), i, v.position())[0]
	state, _ := s.verdictOf(i, v)
	w := screen.Why{Mark: state, Text: f.Text(s.lang)}
	if len(f.Evidence) > 0 {
		w.Evidence = f.Evidence[0].Text(s.lang)
	}
	return w
}

// whyLine says why the selected pod is where it is: by what was gathered, if that says more, else by the pod's
// story.
func (s *State) whyLine(v *view) screen.Why {
	w := s.whyOf(s.pod, v)
	if cause, ok := s.causeOf(&w, v); ok {
		return cause
	}
	return w
}

// trouble returns the second line of a pod in the list; empty if the pod is in no trouble. It is the title of the first
// cause, and where none is known, what goes on.
func (s *State) trouble(i int, mark life.State, v *view) string {
	if mark == life.Stuck || mark == life.Retrying {
		if title := s.causeTitle(i, v); title != "" {
			return title
		}
	}
	if f := explain.Trouble(s.explained(), i, v.position()); f != nil {
		return f.Brief(s.lang)
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
	why := s.whyOf(i, v).Text
	if r := causes.Explain(s.evidenceAt(i, v)); mark != life.Held && len(r.Findings) > 0 && r.Findings[0].Confidence != causes.Possible {
		why = r.Findings[0].Sentence(s.lang)
	}
	return s.lang.Inf(words.Text("%s. %s", "%s。%s"), text, why), true
}
