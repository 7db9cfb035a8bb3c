// Package reach finds out what podstep can reach, for doctor and the like. It checks what an
// agent's probes see and can do, and what this machine has for a podstep that wants to attach,
// or for a lab.
package reach

import (
	"fmt"
	"io"
	"strconv"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// Check is one thing that podstep looks at on this machine.
type Check struct {
	// Node is the node whose agent the check is about, if several were asked.
	Node string `json:"node,omitempty"`
	Name string `json:"name"`
	// Pid is the kubelet's, if the check is about a kubelet.
	Pid int `json:"pid,omitempty"`
	// Status is ok, warn or fail. With a fail podstep cannot do its main job.
	Status string      `json:"status"`
	Text   probes.Text `json:"-"`
	// Todo is what to do, unless all is well.
	Todo probes.Text `json:"-"`
}

// Line is a check in the words of one language.
type Line struct {
	Check
	Text string `json:"text"`
	Todo string `json:"todo,omitempty"`
}

// Lines puts checks into words.
func Lines(l words.Lang, checks []Check) (out []Line) {
	for _, c := range checks {
		out = append(out, Line{c, l.In(c.Text), l.In(c.Todo)})
	}
	return out
}

func ok(name string, text probes.Text, values ...any) Check {
	return Check{Name: name, Status: "ok", Text: words.With(text, values...)}
}

func warn(name string, text, todo probes.Text) Check {
	return Check{Name: name, Status: "warn", Text: text, Todo: todo}
}

func fail(name string, text, todo probes.Text) Check {
	return Check{Name: name, Status: "fail", Text: text, Todo: todo}
}

// Print writes the checks for people.
func Print(w io.Writer, lines []Line) {
	wide := len("kubelet 1234567")
	for _, c := range lines {
		wide = max(wide, len(c.about()))
	}
	for _, c := range lines {
		fmt.Fprintf(w, "%-4s  %-*s  %s\n", c.Status, wide, words.Clean(c.about()), words.Clean(c.Text))
		if c.Todo != "" {
			fmt.Fprintf(w, "%-4s  %-*s  -> %s\n", "", wide, "", words.Clean(c.Todo))
		}
	}
}

// about names what the check is about.
func (c *Check) about() string {
	name := c.Name
	if c.Pid != 0 {
		name += " " + strconv.Itoa(c.Pid)
	}
	if c.Node != "" {
		name = c.Node + " " + name
	}
	return name
}

// Machine is what this machine has.
type Machine struct {
	Checks []Check
	// ForAgent says how to get to an agent, where there is none.
	ForAgent probes.Text
	// Attachable says that podstep can attach to a kubelet here, or is attached already.
	Attachable bool
}
