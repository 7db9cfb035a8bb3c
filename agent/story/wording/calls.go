package wording

import (
	"fmt"
	"strings"

	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// Label returns what a call or report is called: its step, and what it is about if that tells calls of the step
// apart.
func Label(l words.Lang, c *history.Call) string {
	if label := reportLabel(l, c); label != "" {
		return label
	}
	if c.Step.Means().Role != probes.RoleContainer {
		return l.In(c.Step.Title())
	}
	name := c.Text("container")
	switch c.Text("typeName") {
	case "init container":
		return l.Inf(words.Text("Init container %s", "init 容器 %s"), name)
	case "ephemeral container":
		return l.Inf(words.Text("Ephemeral container %s", "临时容器 %s"), name)
	}
	return l.Inf(words.Text("Container %s", "容器 %s"), name)
}

// maxNote bounds a note, in columns.
const maxNote = 160

// Note returns the result of a call, or what the call is about, in a few words; empty if there is nothing to say.
// containers has the names of the pod's containers by id, for calls to the runtime around which no call of the
// kubelet is seen.
func Note(l words.Lang, c *history.Call, containers map[string]string) string {
	if note := containerOf(c, containers); note != "" {
		return note
	}
	if n := &c.Step.Means().Note; n.Given() {
		return words.Cut(note(l, c, n), maxNote)
	}
	return words.Cut(plainNote(c), maxNote)
}

// note returns the note that the catalogue has for a call's row.
func note(l words.Lang, c *history.Call, n *probes.StoryNote) string {
	switch {
	case n.None:
		return ""
	case len(n.Show) == 0 && n.Flag == "":
		return l.In(n.Text)
	case n.Flag == "" || c.Flag(n.Flag) && len(n.Show) > 0:
		return formats[n.As](l, c, n.Show)
	case c.Flag(n.Flag):
		return l.In(n.Yes)
	case c.Ended:
		return l.In(n.No)
	}
	return ""
}

// plainNote is for steps without a note in the catalogue: their results, or else their arguments, in the catalogue's
// order.
func plainNote(c *history.Call) string {
	if c.Step.About == nil {
		return ""
	}
	if n := someValues(c.Step.About.Results, c.Results); n != "" {
		return n
	}
	return someValues(c.Step.About.Fields, c.Args)
}

// maxNoteValues bounds how many values a note has. A value that is longer than maxNoteValue, in bytes, is left out.
const maxNoteValues, maxNoteValue = 3, 120

func someValues(names []probes.Field, of map[string]any) string {
	var out []string
	for _, f := range names {
		v, ok := of[f.Name]
		if !ok || len(out) == maxNoteValues {
			continue
		}
		switch v := v.(type) {
		case bool:
			if v {
				out = append(out, f.Name)
			}
		case int64, float64:
			out = append(out, fmt.Sprintf("%s %v", f.Name, v))
		default:
			if t := words.ShortID(words.Short(v)); t != "" && len(t) <= maxNoteValue && !strings.HasPrefix(t, "{") {
				out = append(out, t)
			}
		}
	}
	return strings.Join(out, "  ")
}

// containerOf returns the container that a call to the runtime is about, by a name that the reader knows, and not by
// the runtime's id.
func containerOf(c *history.Call, containers map[string]string) string {
	if c.Step.Stage != "cri" {
		return ""
	}
	name, known := containers[c.Text("containerID")]
	if !known {
		return ""
	}
	switch c.Step.Means().Role {
	case probes.RoleContainerStatus:
		return join(name, c.Text("state"), c.Text("reason"))
	case probes.RoleExec:
		return join(name, words.Cut(c.Text("command"), 100))
	case probes.RoleCreate:
		return join(name, words.ShortID(c.Text("containerID")))
	}
	return name
}

// join puts the parts that are not empty into a line.
func join(parts ...string) string {
	var out []string
	for _, p := range parts {
		if p != "" {
			out = append(out, p)
		}
	}
	return strings.Join(out, "  ")
}
