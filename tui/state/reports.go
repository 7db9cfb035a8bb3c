package state

import "strings"

// conditionNote has the condition's status, and why if it says so.
func conditionNote(_ Lang, c *call) string { return joined(c, "status", "reason", "message") }

func phaseNote(_ Lang, c *call) string { return joined(c, "phase", "reason", "message") }

// containerNote is the state of a container as it is reported.
func containerNote(l Lang, c *call) string {
	out := c.text("state")
	if r := c.text("reason"); r != "" {
		out += "  " + r
	}
	if n, ok := c.number("exitCode"); ok && c.text("state") == "terminated" {
		out += l.sayf(text(", exit code %d", "，退出码 %d"), n)
	}
	if n, ok := c.number("restartCount"); ok && n > 0 {
		out += l.sayf(text(", restarts: %d", "，重启 %d 次"), n)
	}
	if c.is("ready") && c.text("state") == "running" {
		out += l.Say(text(", ready", "，已就绪"))
	}
	return out
}

// eventNote is what the event says. A warning is told as an error.
func eventNote(_ Lang, c *call) string {
	if c.err != "" {
		return ""
	}
	return joined(c, "message")
}

func deletingNote(l Lang, c *call) string { return grace(l, c, "grace") }

// joined has the values of some fields, those that are there.
func joined(c *call, names ...string) string {
	var out []string
	for _, n := range names {
		out = append(out, c.text(n))
	}
	return joinWords(out...)
}

// containerOf is the container that a call seen from outside is about: what the
// reader knows it by, not the runtime's id.
func (s *State) containerOf(c *call) string {
	if !s.epoch.beside || c.step.stage != "cri" {
		return ""
	}
	p := s.pods[c.span.pod]
	name, known := p.names[c.text("containerID")]
	if !known {
		return ""
	}
	switch stepName(c.step.name) {
	case stepStatusOf:
		return joinWords(name, c.text("state"), c.text("reason"))
	case stepExec:
		return joinWords(name, cut(c.text("command"), 100))
	case stepCreate:
		return joinWords(name, shortID(c.text("containerID")))
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
