package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/podstep/podstep/agent/agenttest"
)

// ofNodes has each command, and how it is run with the agents of two nodes. With a text it is of one node or of none, and
// the text is in what it then says.
var ofNodes = map[string]struct{ args, refuses string }{
	"podstep":           {"--plain", "plain lines are of one node"},
	"podstep pods":      {"pods", ""},
	"podstep why":       {"why -A --kubeconfig NONE", "NONE"},
	"podstep trace":     {"trace web --until ready", ""},
	"podstep alert":     {"alert kind=enter --once --for 1s", "nothing matched within 1s"},
	"podstep replay":    {"replay --since 1h", "this command is about one; choose it with --node"},
	"podstep export":    {"export --since 1h --to json", "this command is about one; choose it with --node"},
	"podstep compare":   {"compare web web", "is on the nodes"},
	"podstep whatif":    {"whatif web", "no plan of it is known"},
	"podstep top":       {"top", ""},
	"podstep steps":     {"steps --agent", ""},
	"podstep mcp":       {"mcp", "this command is about one"},
	"podstep connect":   {"connect web", "connect finds the node"},
	"podstep attach":    {"attach", "serves an agent at one socket"},
	"podstep hold":      {"hold web", "is on the nodes"},
	"podstep holds":     {"holds", ""},
	"podstep step":      {"step web", "is on the nodes"},
	"podstep continue":  {"continue --all", ""},
	"podstep retry":     {"retry web", "is on the nodes"},
	"podstep break add": {"break add --step cri.RunPodSandbox", "this command is about one"},
	"podstep break ls":  {"break ls", "this command is about one"},
	"podstep break rm":  {"break rm 1", "this command is about one"},
	"podstep stack":     {"stack web", "is on the nodes"},
	"podstep print":     {"print web pod", "is on the nodes"},
	"podstep dap":       {"dap", "this command is about one"},
	"podstep doctor":    {"doctor", ""},
	"podstep version":   {"version", ""},
}

// ofBoth is in what a command prints of two nodes: their names or, of continue, what it has let go on each.
var ofBoth = regexp.MustCompile(`(?s)\b[ab]\b.*\b[ab]\b|goes on.*goes on`)

// ofNoNode are the commands that speak to no agent that a flag could name, with the reason.
var ofNoNode = map[string]string{
	"podstep break":       "it prints its help",
	"podstep lab":         "it starts nodes",
	"podstep restore":     "it puts this machine's runtime back",
	"podstep completion":  "it prints scripts for shells",
	"podstep agent-stdio": "it is the agent's side of a connection",
	"podstep help":        "it prints help",
	"podstep filter":      "it prints help",
}

// TestEveryCommandOfNodes: each command is of several nodes, or says why not.
func TestEveryCommandOfNodes(t *testing.T) {
	dir := shortDir(t)
	var sockets []string
	for _, name := range []string{"a", "b"} {
		path := filepath.Join(dir, name)
		agenttest.Serve(t, newFakeAgent(), path)
		sockets = append(sockets, "--socket", name+"="+path)
	}
	eachCommand((&app{name: "podstep", where: &where{}}).root(), func(c *cobra.Command) {
		name := c.CommandPath()
		of, known := ofNodes[name]
		switch {
		case c.Hidden || ofNoNode[name] != "":
			return
		case !known:
			t.Errorf("%s is new: say what it does with several nodes", name)
			return
		}
		t.Run(name, func(t *testing.T) {
			out, code := printed(t, append(strings.Fields(of.args), sockets...))
			if of.refuses == "" && (code == exitUsage || !ofBoth.MatchString(out)) {
				t.Errorf("exit code %d, and not both nodes have answered:\n%.400s", code, out)
			}
			if of.refuses != "" && (code == exitDone || !strings.Contains(out, of.refuses)) {
				t.Errorf("exit code %d, and the reason %q is missing:\n%.400s", code, of.refuses, out)
			}
		})
	})
}

// shortDir returns a directory for sockets, whose paths must be short.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "p")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}
