package walkthroughs

import (
	"strings"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/tui/tours"
)

const (
	labDir = "/tmp/lab"
	pages  = "docs/walkthroughs/"
)

// manifests returns the files that a walk's actions use, by name.
func manifests(t *tours.Tour) map[string]string {
	out := map[string]string{}
	for i := range t.Stops {
		if a := t.Stops[i].Act; a != nil && a.Manifest != "" {
			out[t.File(i)] = a.Manifest
		}
	}
	return out
}

// commands writes the commands that lead to a stop, without the terminal UI.
func (g *generator) commands(t *tours.Tour, i int) {
	s := &t.Stops[i]
	switch {
	case s.Act != nil:
		g.action(t, i)
	case s.Hold == tours.HoldPod:
		g.hold(t, i)
	case t.Needs.Recorded:
		g.f("%s\n```sh\npodstep trace --node-events --step %s --for 1s\n```\n\n", g.words["seerec"], s.Step)
	default:
		node := ""
		if s.Pod == "" {
			node = " --node-events"
		}
		g.f("%s\n```sh\npodstep trace%s%s --step %s\n```\n\n", g.words["see"], pod(s.Pod), node, s.Step)
	}
}

func (g *generator) action(t *tours.Tour, i int) {
	first := ""
	if next := nextPod(t.Stops, i); next >= 0 {
		first = addCommand(t, &t.Stops[next])
	}
	word := "act"
	if first != "" {
		word = "before"
	}
	a := t.Stops[i].Act
	g.f("%s\n```sh\n%s%s\n```\n\n", g.words[word], first, a.Command(labDir, pages+t.File(i)))
	if a.Manifest != "" && a.Manifest != t.Manifest {
		g.f("```yaml\n%s```\n\n", a.Manifest)
	}
}

// nextPod returns the next stop at which the pod alone is held, before any action.
func nextPod(stops []tours.Stop, i int) int {
	for j := tours.NextHold(stops, i); j >= 0; j = tours.NextHold(stops, j) {
		if stops[j].Hold == tours.HoldPod {
			return j
		}
	}
	return -1
}

// hold writes how to get to a hold stop. The first hold stop after an action was set before the action.
func (g *generator) hold(t *tours.Tour, i int) {
	s := &t.Stops[i]
	from := i - 1
	for from >= 0 && t.Stops[from].Act == nil && t.Stops[from].Hold != tours.HoldPod {
		from--
	}
	before := from >= 0 && t.Stops[from].Act == nil
	if before {
		g.f("%s\n```sh\n%spodstep continue%s\n```\n", g.words["get"], addCommand(t, s), pod(t.Stops[from].Pod))
	}
	if len(s.Where) > 0 {
		g.f(g.words["until"]+"\n", strings.TrimSpace(pod(s.Pod)), where(s))
	}
	if before || len(s.Where) > 0 {
		g.f("\n")
	}
}

// addCommand returns the command that sets a stop's place, for the walk's own pod.
func addCommand(t *tours.Tour, s *tours.Stop) string {
	out := "podstep break add" + pod(s.Pod) + " -l " + tours.Label + "=" + t.Name + " --step " + s.Step
	switch {
	case s.Failed:
		out += " --on error"
	case s.On == probes.Exit:
		out += " --on exit"
	}
	if len(s.Where) == 0 {
		out += " --times 1"
	}
	return out + "\n"
}

// pod writes a pod as an argument in a shell.
func pod(glob string) string {
	if glob == "" {
		return ""
	}
	if strings.ContainsAny(glob, "*?[") {
		return " '" + glob + "'"
	}
	return " " + glob
}

// cleanup returns the commands that undo what the walk did.
func cleanup(t *tours.Tour) string {
	var b strings.Builder
	if !t.Needs.Recorded {
		b.WriteString("podstep continue" + pod(t.Pod) + "\n")
	}
	for _, a := range t.Cleanup() {
		b.WriteString(a.Command(labDir, "") + "\n")
	}
	return b.String()
}
