package state

import (
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/screen"
)

// lastKnown marks what is said about a pod as old while the agent is gone: the
// pod may be elsewhere by now.
func (s *State) lastKnown(w screen.Why) screen.Why {
	if s.link == screen.LinkReconnecting && w.Text != "" {
		w.Text = s.lang.In(words.Text("Before the agent went: ", "代理断开之前：")) + w.Text
	}
	return w
}
