package wording

import (
	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// containerNote returns the state of a container as it is reported.
func containerNote(l words.Lang, c *history.Call, fields []string) string {
	out := c.Text(fields[0])
	if r := c.Text(fields[1]); r != "" {
		out += "  " + r
	}
	if n, ok := c.Number(fields[2]); ok && c.Text(fields[0]) == "terminated" {
		out += l.Inf(words.Text(", exit code %d", "，退出码 %d"), n)
	}
	if n, ok := c.Number(fields[3]); ok && n > 0 {
		out += l.Inf(words.Text(", restarts: %d", "，重启 %d 次"), n)
	}
	if c.Flag(fields[4]) && c.Text(fields[0]) == "running" {
		out += l.In(words.Text(", ready", "，已就绪"))
	}
	return out
}

// eventNote returns the text of an event. The text of a warning is its error.
func eventNote(_ words.Lang, c *history.Call, fields []string) string {
	if c.Err != "" {
		return ""
	}
	return c.Text(fields[0])
}

// wholeNote returns the values of those fields that have one.
func wholeNote(_ words.Lang, c *history.Call, fields []string) string {
	var out []string
	for _, f := range fields {
		out = append(out, c.Text(f))
	}
	return join(out...)
}

// The labels of reports that are about one of several things.
var (
	labelCondition = words.Text("condition %s", "condition %s")
	labelContainer = words.Text("container %s", "容器 %s")
	labelEvent     = words.Text("event %s", "事件 %s")
)

// reportLabel returns the label of a report by what it is about; empty: its step's title is the label.
func reportLabel(l words.Lang, c *history.Call) string {
	about := func(t probes.Text, field string) string {
		if n := c.Text(field); n != "" {
			return l.Inf(t, n)
		}
		return ""
	}
	switch c.Step.Means().Role {
	case probes.RoleCondition:
		return about(labelCondition, "type")
	case probes.RoleContainerState:
		return about(labelContainer, "container")
	case probes.RoleEvent:
		return about(labelEvent, "reason")
	case probes.RoleKnown:
		if known, ok := c.Args["known"].(bool); ok && !known {
			return l.In(words.Text("The kubelet no longer has the pod", "kubelet 已没有该 Pod"))
		}
	}
	return ""
}

// From returns the source of a report: api, kubelet, or runtime; empty for a call.
func From(c *history.Call) string {
	if c.Step.About == nil || !c.Step.About.Report() {
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
