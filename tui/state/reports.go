package state

import (
	"strings"

	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// containerNote is the state of a container as it is reported.
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

// eventNote is what the event says. A warning is told as an error.
func eventNote(_ words.Lang, c *history.Call, fields []string) string {
	if c.Err != "" {
		return ""
	}
	return c.Text(fields[0])
}

// wholeNote has the values of some fields, those that are there.
func wholeNote(_ words.Lang, c *history.Call, fields []string) string {
	var out []string
	for _, f := range fields {
		out = append(out, c.Text(f))
	}
	return joinWords(out...)
}

// containerOf is the container that a call seen from outside is about: what the
// reader knows it by, not the runtime's id.
func (s *State) containerOf(c *history.Call) string {
	if s.seesTurns() || c.Step.Stage != "cri" {
		return ""
	}
	p := s.of(c.Span.Pod)
	name, known := p.Names[c.Text("containerID")]
	if !known {
		return ""
	}
	switch c.Step.Means().Role {
	case probes.RoleContainerStatus:
		return joinWords(name, c.Text("state"), c.Text("reason"))
	case probes.RoleExec:
		return joinWords(name, words.Cut(c.Text("command"), 100))
	case probes.RoleCreate:
		return joinWords(name, words.ShortID(c.Text("containerID")))
	}
	return name
}

func joinWords(words ...string) string {
	var out []string
	for _, w := range words {
		if w != "" {
			out = append(out, w)
		}
	}
	return strings.Join(out, "  ")
}
