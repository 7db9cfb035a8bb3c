package state

import (
	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// titles of what the cluster says, as far as it is worth telling apart.
var (
	wordCondition = words.Text("condition %s", "condition %s")
	wordContainer = words.Text("container %s", "容器 %s")
	wordEvent     = words.Text("event %s", "事件 %s")
)

// reportLabel names a report by what it is about; empty if it is by its title.
func (s *State) reportLabel(c *history.Call) string {
	about := func(t probes.Text, field string) string {
		if n := c.Text(field); n != "" {
			return s.lang.Inf(t, n)
		}
		return ""
	}
	switch c.Step.Means().Role {
	case probes.RoleCondition:
		return about(wordCondition, "type")
	case probes.RoleContainerState:
		return about(wordContainer, "container")
	case probes.RoleEvent:
		return about(wordEvent, "reason")
	case probes.RoleKnown:
		if known, ok := c.Args["known"].(bool); ok && !known {
			return s.lang.In(words.Text("The kubelet has the pod no more", "kubelet 已没有该 Pod"))
		}
	}
	return ""
}

// from says who told a report: the API server, or the kubelet's list of its pods.
func (s *State) from(c *history.Call) string {
	if c.Step.About == nil || !c.Step.About.Outside() {
		return ""
	}
	switch {
	case c.Text("from") == string(probes.ByKubelet):
		return string(probes.ByKubelet)
	case c.Step.About.Seen == probes.ByRuntime:
		return "runtime"
	}
	return string(c.Step.About.Seen)
}
