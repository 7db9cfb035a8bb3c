package tui

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/podstep/podstep/agent/explain/causes"
)

// askNodeless is how often the API server is asked for pods that have no node.
const askNodeless = 10 * time.Second

// nodeless asks the API server again and again for the pods that have no node.
type nodeless struct {
	asked time.Time
	goes  bool // a question is on its way
}

// nodelessMsg brings the pods that have no node, and why.
type nodelessMsg struct {
	pods []*causes.Report
	err  error
}

// askForPods asks for the pods that have no node, if it is time. There may be hundreds, so they are explained in the
// background before the message comes.
func (n *nodeless) askForPods(ctx context.Context, g Gatherer, now time.Time) tea.Cmd {
	if g == nil || n.goes || now.Sub(n.asked) < askNodeless {
		return nil
	}
	n.asked, n.goes = now, true
	return func() tea.Msg {
		pods, err := g.Unscheduled(ctx)
		msg := nodelessMsg{err: err}
		for _, s := range pods {
			msg.pods = append(msg.pods, causes.Explain(s))
		}
		return msg
	}
}

// takePods passes the pods of an answer to set. After an error those from before stay.
func (n *nodeless) takePods(msg nodelessMsg, set func([]*causes.Report)) {
	n.goes = false
	if msg.err == nil {
		set(msg.pods)
	}
}
