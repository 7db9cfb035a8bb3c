package labtest

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// swept has each command of podstep, by its name: how it is run to look for secrets in what it prints, or why it is not.
// TRACE stands for a trace file, and POD for each pod. TestEveryCommand fails until a new command is here.
var swept = map[string]struct {
	args [][]string
	why  string
}{
	"podstep pods":        {args: [][]string{{"pods"}, {"pods", "-o", "wide"}, {"pods", "-o", "json"}, {"pods", "-o", "yaml"}, {"pods", "--trace", "TRACE", "-o", "wide"}}},
	"podstep trace":       {args: [][]string{{"trace", "default/*", "--for", "1s"}, {"trace", "default/*", "--for", "1s", "-o", "wide"}, {"trace", "--node-events", "--for", "1s", "-o", "json"}}},
	"podstep replay":      {args: [][]string{{"replay", "TRACE", "--plain"}, {"replay", "TRACE", "--plain", "-o", "json"}}},
	"podstep export":      {why: "exports runs it"},
	"podstep compare":     {why: "exports runs it"},
	"podstep whatif":      {args: [][]string{{"whatif", "POD"}, {"whatif", "POD", "--set", "spec.restartPolicy=Never", "-o", "json"}, {"whatif", "POD", "--trace", "TRACE", "-o", "yaml"}}},
	"podstep why":         {args: [][]string{{"why", "POD"}, {"why", "POD", "-o", "yaml"}, {"why", "-A"}, {"why", "POD", "--trace", "TRACE", "-o", "json"}}},
	"podstep doctor":      {args: [][]string{{"doctor"}, {"doctor", "-o", "json"}, {"doctor", "-o", "yaml"}}},
	"podstep steps":       {args: [][]string{{"steps", "--agent"}, {"steps", "-o", "json"}}},
	"podstep top":         {args: [][]string{{"top", "-o", "json"}, {"top", "-o", "wide"}, {"top", "POD", "-o", "yaml"}, {"top", "--trace", "TRACE", "-o", "json"}}},
	"podstep alert":       {args: [][]string{{"alert", "kind=enter", "--file", "TRACE"}, {"alert", "kind=exit", "--file", "TRACE", "-o", "json"}}},
	"podstep break ls":    {args: [][]string{{"break", "ls", "-o", "yaml"}}},
	"podstep hold":        {args: [][]string{{"hold", "POD", "--wait", "1s", "--lease", "1s", "-o", "json"}}},
	"podstep holds":       {args: [][]string{{"holds", "-o", "json"}, {"holds", "POD", "-o", "wide"}}},
	"podstep step":        {args: [][]string{{"step", "POD", "--wait", "1s", "--lease", "1s"}}},
	"podstep retry":       {args: [][]string{{"retry", "POD", "--wait", "1s"}, {"retry", "POD", "--wait", "1s", "-m", "mended", "-o", "json"}}},
	"podstep continue":    {args: [][]string{{"continue", "--all", "-o", "json"}}},
	"podstep stack":       {args: [][]string{{"stack", "POD"}, {"stack", "POD", "-o", "json"}}},
	"podstep print":       {args: [][]string{{"print", "POD", "pod"}}},
	"podstep break add":   {args: [][]string{{"break", "add", "POD", "--step", "sync.pod", "--action", "delay=1ms", "--times", "1", "-o", "yaml"}, {"break", "add", "POD", "--step", "*", "--on", "error", "--action", "snapshot"}}},
	"podstep break rm":    {args: [][]string{{"break", "rm", "1", "-o", "yaml"}}},
	"podstep attach":      {why: "TestCanaries looks at all that it prints"},
	"podstep mcp":         {why: "assistant asks it"},
	"podstep dap":         {why: "TestSimCanaries of agent/dap looks at a whole dialogue with an editor"},
	"podstep restore":     {why: "it speaks of processes and paths alone"},
	"podstep lab":         {why: "it starts podstep-lab, which knows the pods' secrets because it makes them"},
	"podstep completion":  {why: "it prints scripts for shells"},
	"podstep version":     {why: "it prints versions"},
	"podstep":             {why: "the screen: TestSimPicturesOfCanaries looks at pictures of it"},
	"podstep break":       {why: "it prints its help"},
	"podstep connect":     {why: "the screen, as podstep alone, of an agent on another machine"},
	"podstep agent-stdio": {why: "it passes on what the agent sends, and prints nothing of its own"},
}

// commands checks what each command prints of the pods: with a trace those that read one, without it all others. The commands run
// in the order of their names. "step" holds a pod that comes to a step while it waits, so at the end all pods are let go.
func (c *Canaries) commands(tb testing.TB, l *Lab, trace string) {
	tb.Helper()
	for _, name := range slices.Sorted(maps.Keys(swept)) {
		for _, args := range swept[name].args {
			for i, p := range c.Pods {
				line := strings.Join(args, " ")
				if strings.Contains(line, "TRACE") != (trace != "") || i > 0 && !strings.Contains(line, "POD") {
					break
				}
				line = strings.ReplaceAll(strings.ReplaceAll(line, "POD", p.Name), "TRACE", trace)
				out, errors, _ := l.Podstep(strings.Fields(line)...)
				c.report(tb, "podstep "+line, c.FindString(out+errors))
				if out+errors == "" {
					tb.Errorf("podstep %s says nothing at all", line)
				}
			}
		}
	}
	l.Podstep("continue", "--all")
}
