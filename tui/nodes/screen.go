package nodes

import (
	"fmt"
	"strings"
	"time"

	"github.com/podstep/podstep/agent/client/fleet"
	"github.com/podstep/podstep/agent/reason"
	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/agent/version"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/screen"
)

// Screen returns what there is to draw, of a list of so many rows in height.
func (l *List) Screen(height int, now time.Time) *screen.Nodes {
	height = max(1, height)
	l.top = max(0, min(l.top, l.cursor, len(l.rows)-1))
	l.top = max(l.top, l.cursor-height+1)
	n := &screen.Nodes{Lang: l.lang, Title: l.title(), Top: l.top, Total: len(l.rows), Cursor: l.cursor - l.top}
	for i := l.top; i < min(len(l.rows), l.top+height); i++ {
		n.Rows = append(n.Rows, l.row(&l.rows[i], now))
	}
	if l.shown == 0 && l.filter != "" {
		n.Empty = l.lang.Inf(words.Text("no pod fits %s", "没有 Pod 符合 %s"), words.Clean(l.filter))
	}
	return n
}

// title counts the nodes and the pods.
func (l *List) title() string {
	counts, pods := fleet.Count(l.all), 0
	for i := range l.all {
		pods += len(l.all[i].Pods)
	}
	text := l.lang.Inf(words.Text("%d nodes, %s", "%d 个节点，%s"), len(l.all), l.podCount(pods))
	if without := len(l.waiting); without > 0 {
		text += l.lang.Inf(words.Text("; without a node: %d", "；没有节点的：%d 个"), without)
	}
	if wait := counts[fleet.Connecting]; wait > 0 {
		text += l.lang.Inf(words.Text("; not reached yet: %d", "；尚未连上的：%d 个"), wait)
	}
	if lost := len(l.all) - counts[fleet.Live] - counts[fleet.Flooding] - counts[fleet.Connecting]; lost > 0 {
		text += l.lang.Inf(words.Text("; without answer: %d", "；没有回答的：%d 个"), lost)
	}
	if l.filter != "" {
		text += l.lang.Inf(words.Text("; filter %s: %s", "；过滤 %s：%s"), words.Clean(l.filter), l.podCount(l.shown))
	}
	return text
}

func (l *List) row(r *row, now time.Time) screen.NodesRow {
	switch {
	case r.why != nil:
		return l.waits(r, now)
	case r.node == None && r.namespace == "":
		return screen.NodesRow{Head: true, Name: l.lang.In(noNode), State: l.podCount(len(l.waiting))}
	case r.node == None:
		return screen.NodesRow{Head: true, Name: words.Clean(r.namespace)}
	case r.pod == nil:
		return l.head(&l.all[r.node], now)
	}
	s, p := &l.all[r.node], r.pod
	out := screen.NodesRow{Mark: r.state, Stale: !s.State.Answers(), Name: words.Clean(p.GetPod().GetNamespace() + "/" + p.GetPod().GetName())}
	out.Where = words.Clean(p.GetStep())
	if p.GetError() != "" {
		out.Where = words.Clean(p.GetError())
	}
	if l.byNamespace {
		out.Where = strings.TrimSpace(words.Clean(s.Name) + "  " + out.Where)
	}
	out.State = l.lang.In(r.state.Text()) + since(p, now)
	if out.Stale {
		out.State = l.lang.Inf(words.Text("seen %s ago", "%s 前"), words.Clock(now.Sub(s.At)))
	}
	return out
}

// noNode stands in the place of the node's name, for pods that have none.
var noNode = words.Text("no node", "无节点")

// waits is the row of a pod that has no node: its first cause says why, or else what it waits for.
func (l *List) waits(r *row, now time.Time) screen.NodesRow {
	out := screen.NodesRow{Mark: r.state, Name: words.Clean(r.pod.GetPod().GetNamespace() + "/" + r.pod.GetPod().GetName())}
	switch {
	case len(r.why.Findings) > 0:
		out.Where = words.OneLine(r.why.Findings[0].Sentence(l.lang))
	case r.why.Whereabouts != nil:
		out.Where = words.OneLine(r.why.Whereabouts.Sentence(l.lang))
	}
	if l.byNamespace {
		out.Where = strings.TrimSpace(l.lang.In(noNode) + "  " + out.Where)
	}
	out.State = l.lang.In(r.state.Text()) + since(r.pod, now)
	return out
}

// head is the row of a node.
func (l *List) head(s *fleet.Status, now time.Time) screen.NodesRow {
	out := screen.NodesRow{Head: true, Name: words.Clean(s.Name), Bad: !s.State.Answers() && s.State != fleet.Connecting}
	switch {
	case s.State == fleet.Connecting:
		out.Where = l.lang.Inf(words.Text("podstep connects for %s: %s", "podstep 正在连接，已 %s：%s"), words.Clock(now.Sub(s.Since)), words.Clean(s.Place))
	case out.Bad:
		out.Where = words.Clean(l.lang.In(reason.Error(s.Why)))
		out.State = l.lang.Inf(words.Text("for %s", "已 %s"), words.Clock(now.Sub(s.Since)))
	default:
		out.Where, out.State = l.about(s), l.counted(s)
	}
	return out
}

// about says what runs on a node, and what is unusual about its agent.
func (l *List) about(s *fleet.Status) string {
	parts := []string{"kubelet " + words.Clean(s.About.GetKubeletVersion())}
	if own := version.Own(); s.About.GetVersion() != own {
		parts = append(parts, l.lang.Inf(words.Text("agent %s, this podstep %s", "代理 %s，本 podstep %s"), words.Clean(s.About.GetVersion()), own))
	}
	if s.Agents > 1 {
		parts = append(parts, l.lang.Inf(words.Text("agent started again ×%d", "代理重启 ×%d"), s.Agents-1))
	}
	if s.State == fleet.Flooding {
		parts = append(parts, l.lang.In(words.Text("sends more events than podstep reads", "发来的事件多于 podstep 能读的")))
	}
	return strings.Join(parts, ", ")
}

// counted says how many pods a node has, and how many of them need a look.
func (l *List) counted(s *fleet.Status) string {
	by := map[life.State]int{}
	for _, p := range s.Pods {
		state, _ := life.StateNamed(p.GetState())
		by[state]++
	}
	text := l.podCount(len(s.Pods))
	for _, state := range []life.State{life.Held, life.Stuck, life.Retrying} {
		if by[state] > 0 {
			text += fmt.Sprintf(", %d %s", by[state], l.lang.In(state.Text()))
		}
	}
	return text
}

// Unreached says why the screen of a node cannot be opened.
func (l *List) Unreached(s *fleet.Status) string {
	if s.Why == nil {
		return l.lang.Inf(words.Text("%s has not answered yet", "%s 还没有回答"), words.Clean(s.Name))
	}
	return words.Clean(s.Name + ": " + l.lang.In(reason.Error(s.Why)))
}

func (l *List) podCount(n int) string {
	if n == 1 {
		return l.lang.In(words.Text("1 pod", "1 个 Pod"))
	}
	return l.lang.Inf(words.Text("%d pods", "%d 个 Pod"), n)
}
